"""Where recordings come from: the hub's layout, copies with speakers, own files, the toy set and the real one."""

import random
from collections import Counter

import numpy as np
import pytest
from conftest import ROOT
from datasets import Audio, Features, Value
from speech import NUMBERS, digits, encoded, parquet, save, small_toy, tone

from core.maps import AttentionMap
from core.public import DataError
from tasks.speech import hearing, own, toy
from tasks.speech.digits import Word, joined, set_apart, strings
from tasks.speech.examples import Example
from tasks.speech.scores import error_scores, side_by_side
from tasks.speech.sets import DigitStrings, OwnRecordings, TranscribedSet

REAL = ROOT.parent / "shared" / "data"
DIGITS = {**NUMBERS, "strings": 12, "test_strings": 5}


@pytest.mark.parametrize("speakers", [False, True], ids=["hub", "with speakers"])
def test_digits_in_the_hubs_layout(tmp_path, speakers):
    data = DigitStrings(path=str(digits(tmp_path / "set", speakers=speakers)), **DIGITS)
    data.load()
    assert [len(data.splits[split]) for split in data.splits] == [12, 5, 5]
    recording = data.splits["test"][0].recording
    words = recording.text.split()
    assert 1 <= len(words) <= 6 and len(recording.said) == len(words)
    for word, (first, last, start, end) in zip(words, recording.said, strict=True):
        assert recording.text[first:last] == word and 0.19 < end - start < 0.25
    assert recording.speaker in ({"ann", "bob"} if speakers else {None})


def test_a_speaker_held_out(tmp_path):
    path = str(digits(tmp_path / "set", speakers=True))
    data = DigitStrings(path=path, holdout="ann", **DIGITS)
    data.load()
    heard = {split: {each.recording.speaker for each in some} for split, some in data.splits.items()}
    assert heard == {"train": {"bob"}, "validation": {"bob"}, "test": {"ann", "bob"}}
    examples = data.splits["test"]
    said = [data.prediction(each, None)._replace(output=each.recording.text) for each in examples]
    wrong = [
        each._replace(output="x") if e.recording.speaker == "ann" else each
        for e, each in zip(examples, said, strict=True)
    ]
    scores = data.scores(examples, wrong)
    assert scores["WER"].value == 0 and scores["WER, unseen ann"].value > 90
    assert data.scores([e for e in examples if e.recording.speaker == "ann"], said[:5])["WER"].value > 0
    with pytest.raises(DataError, match="holdout=eve: the speakers in train are ann, bob"):
        DigitStrings(path=path, holdout="eve", **DIGITS).load()


def test_nobody_can_be_held_out_where_speakers_are_unknown(tmp_path):
    with pytest.raises(DataError, match="no column `speaker`"):
        DigitStrings(path=str(digits(tmp_path / "set", speakers=False)), holdout="ann", **DIGITS).load()


def test_words_joined_and_set_apart():
    words = [Word(np.full(800, 0.5, np.float32), 8000, text, who) for who in "ab" for text in ("one", "two") * 10]
    most, tenth = set_apart(words, random.Random(1))
    assert len(most) == 36 and sorted((w.speaker, w.text) for w in tenth) == [
        ("a", "one"),
        ("a", "two"),
        ("b", "one"),
        ("b", "two"),
    ]
    assert [len(some) for some in set_apart(words[:3], random.Random(1))] == [2, 1]
    found = joined(words[:2], "x", random.Random(1))
    samples = found.waves.samples
    assert found.text == "one two" and len(samples) == found.samples
    for first, last, start, end in found.said:
        assert (samples[round(start * 8000) : round(end * 8000)] == 0.5).all() and last - first == 3
        assert abs(samples[round(start * 8000) - 1]) < 0.01
    assert all(len({each.speaker}) == 1 for each in strings(words, 5, "x", random.Random(2)))
    again = [each.text for each in strings(words, 5, "x", random.Random(2))]
    assert again == [each.text for each in strings(words, 5, "x", random.Random(2))]


def test_own_recordings(tmp_path):
    for number in range(12):
        save(tmp_path / f"{number} a.wav", tone(0.3, 16000 if number else 8000), 16000 if number else 8000)
    (tmp_path / "t.csv").write_text(
        "audio,text,speaker\r\n" + "".join(f'{n} a.wav,"Yes, No {n}!",x\r\n' for n in range(12)), encoding="utf-8"
    )
    data = OwnRecordings(path=str(tmp_path), transcripts=str(tmp_path / "t.csv"), repeat=3, **NUMBERS)
    data.load()
    assert [len(data.splits[split]) for split in data.splits] == [30, 1, 1] and data.rate == 16000
    assert sum(data.counts[f"{split}.resampled"] for split in data.splits) == 1
    assert all(each.recording.text.startswith("yes no ") for each in data.splits["train"])
    assert data.splits["train"][0].varied and not data.splits["test"][0].varied


BROKEN = [
    ("t.tsv", "audio\ttext\na.wav\n", "line 2 has 1 columns"),
    ("t.csv", "a.wav,one, two\n", "name them in the first line"),
    ("t.jsonl", '{"audio": "a.wav"}\n', "line 1: wanted text under audio and text"),
    ("t.jsonl", "[1\n", "line 1 is no JSON"),
    ("t.tsv", "audio\ttext\tsplit\na.wav\tone\tpractice\n", "practice"),
    ("t.tsv", "a.wav\tone\na.wav\ttwo\n", "more than once"),
    ("t.tsv", "missing.wav\tone\n", "missing.wav"),
    ("t.tsv", "a.wav\tone\n", "too few"),
    ("t.txt", "a.wav one\n", "none of .tsv"),
]


@pytest.mark.parametrize("name, content, message", BROKEN)
def test_broken_tables(tmp_path, name, content, message):
    save(tmp_path / "a.wav", tone())
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        OwnRecordings(path=str(tmp_path), transcripts=str(tmp_path / name), **NUMBERS).load()


def test_broken_sounds_are_all_named_or_skipped_and_counted(tmp_path):
    lines = [own.Line(tmp_path / f"{n}.wav", "one", None) for n in range(3)]
    save(lines[0].path, tone())
    counts = Counter()
    with pytest.raises(DataError, match=r"2 sounds cannot be used(.|\n)*1.wav(.|\n)*2.wav(.|\n)*skip_broken"):
        own.recordings(lines, skip_broken=False, counts=Counter())
    assert len(own.recordings(lines, skip_broken=True, counts=counts)[None]) == 1 and counts["train.broken"] == 2


def test_a_set_with_transcripts(tmp_path):
    features = Features({"audio": Audio(), "text": Value("string")})
    rows = {"audio": [{"bytes": encoded(tone()), "path": "x"}] * 12, "text": ["YES NO"] * 11 + [None]}
    for split in ("train", "test"):
        parquet(tmp_path / f"{split}.parquet", rows, features, as_audio=True)
    data = TranscribedSet(path=str(tmp_path), held_out=2, **NUMBERS)
    data.load()
    assert sum(map(len, data.splits.values())) == 22 and data.counts["test.without_words"] == 1
    assert data.splits["test"][0].recording.text == "yes no"


def test_the_toy_set_knows_when_each_letter_sounds(monkeypatch):
    monkeypatch.setattr(toy, "SIZES", {"train": 5, "validation": 2, "test": 2})
    found = toy.recordings(seed=3)
    again = toy.recordings(seed=3)
    for one, other in zip(found["train"], again["train"], strict=True):
        assert one.text == other.text and np.array_equal(one.waves.samples, other.waves.samples)
    recording = found["train"][0]
    assert [recording.text[said.first] for said in recording.said] == list(recording.text.replace(" ", ""))
    samples = np.abs(recording.waves.samples)
    inside = np.concatenate([samples[round(s.start * 8000) : round(s.end * 8000)] for s in recording.said])
    assert inside.mean() > 5 * samples[: round(recording.said[0].start * 8000)].mean()


def test_maps_and_their_scores(monkeypatch):
    data = small_toy(monkeypatch)
    example = data.splits["test"][0]
    keys = data.size(example)
    frames = hearing.frames_of(example, keys)
    assert len(frames) == len(example.recording.said) and all(0 <= a < b <= keys for a, b in frames.values())
    weights = np.zeros((1, len(example.ids) + 1, keys), np.float32)
    weights[:, :, -1] = 1.0
    for query, (start, _) in frames.items():
        weights[0, query] = np.eye(keys)[start]
    (map,) = data.maps(example, {"gaze": weights})
    assert isinstance(map, AttentionMap) and map.shown.keys == keys and map.queries[-1] == "⟨end⟩"
    heard = hearing.Heard([example], [[map]])
    found = hearing.scores(heard, heard, "x")
    assert found.scores["mass within"].value == 1.0 and found.readings[0]["offset"] == 0
    assert 0 < found.scores["mass within, uniform"].value < 0.3
    uniform = hearing.Heard([example], [data.maps(example, {"gaze": np.full_like(weights, 1 / keys)})])
    assert hearing.not_listening(heard) is None and "alike" in hearing.not_listening(uniform)
    nothing = hearing.Heard([], [])
    assert hearing.scores(nothing, nothing, "x").scores == {} and hearing.not_listening(nothing) is None


def test_error_rates_by_hand():
    found = error_scores(["one three three", ""], ["one two three", "four"])
    assert found["WER"].value == pytest.approx(50.0) and found["CER"].value == pytest.approx(100 * 8 / 17)
    for said, wanted in (([], []), (["a"], [""]), (["a"], ["a", "b"])):
        with pytest.raises(ValueError, match="a reference with a word"):
            error_scores(said, wanted)
    text = side_by_side(["x", "y"], ["one three", "four"], ["one two", "four"])
    assert text.startswith("1 of 2 transcripts with errors") and "REF: one   two" in text and "y: four" in text


@pytest.mark.skipif(not (REAL / "yesno").is_dir(), reason=f"the real set is not at {REAL / 'yesno'}")
def test_the_real_yesno():
    data = TranscribedSet(path=str(REAL / "yesno"), held_out=5, **{**NUMBERS, "max_length": 60})
    data.load()
    assert [len(data.splits[split]) for split in data.splits] == [41, 4, 15] and data.rate == 8000


@pytest.mark.skipif(not (REAL / "free-spoken-digit").is_dir(), reason=f"the real set is not at {REAL}")
def test_the_real_digits():
    data = DigitStrings(path=str(REAL / "free-spoken-digit"), holdout="jackson", **DIGITS)
    data.load()
    assert {Example} == {type(each) for each in data.splits["train"]} and data.vocabulary == 4 + 16
