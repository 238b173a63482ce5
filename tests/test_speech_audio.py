"""Sounds as people have them: channels, rates, formats, none at all, too little, and too much said in them."""

import math

import numpy as np
import pytest
import torch
from speech import NUMBERS, encoded, save, small_model, small_toy, tone

from core.evaluate import attention_maps, predict
from core.public import DataError
from tasks.speech import features
from tasks.speech.audio import Waves, at_rate, decoded, faster, read_file
from tasks.speech.characters import Characters, spoken
from tasks.speech.ctc import can_carry, ctc_loss, needed_frames
from tasks.speech.examples import Example, Recording

STEREO = np.stack([np.full(800, 0.5), np.full(800, 0.25)], axis=1).astype(np.float32)


@pytest.mark.parametrize("samples", [800, 2, 1])
def test_u01_stereo_is_mixed_whatever_its_length(tmp_path, samples):
    found = read_file(save(tmp_path / "stereo.wav", STEREO[:samples], 16000, subtype="FLOAT"))
    assert found.rate == 16000 and found.samples.shape == (samples,) and np.allclose(found.samples, 0.375)


@pytest.mark.parametrize("rate", [8000, 44100])
def test_u02_other_rates_are_resampled_with_a_notice(monkeypatch, tmp_path, rate):
    data = small_toy(monkeypatch, rate=16000)
    assert data.counts["train.resampled"] == 24 and data.splits["train"][0].recording.rate == 16000
    (example,) = data.read([save(tmp_path / "a.wav", tone(1.0, rate), rate)])
    assert example.recording.samples == 16000
    assert data.features(example).shape == (101, 20)
    assert f"resampled from {rate} to 16000 Hz" in example.recording.notices[0]


def test_u02_the_rate_is_kept_in_the_run(monkeypatch, tmp_path):
    data = small_toy(monkeypatch)
    data.save(tmp_path)
    again = type(data)(**NUMBERS)
    again.restore(tmp_path)
    assert again.rate == 8000 and again.fingerprint() == data.fingerprint()
    (tmp_path / "sound.json").write_text("{}")
    with pytest.raises(ValueError, match="sound.json"):
        again.restore(tmp_path)


def test_resampling_keeps_the_pitch():
    found = at_rate(Waves(tone(1.0, 44100, 500.0), 44100), 8000)
    assert len(found.samples) == 8000 and np.abs(np.fft.rfft(found.samples)).argmax() == 500
    assert len(faster(tone(1.0), 1.1)) == math.ceil(8000 / 1.1)


LITTLE = {"nothing": 0, "one": 1, "hundred": 100, "399": 399}


@pytest.mark.parametrize("samples", LITTLE.values(), ids=LITTLE)
def test_u03_too_little_sound(monkeypatch, tmp_path, samples):
    data = small_toy(monkeypatch)
    model = small_model(data.vocabulary)
    path = save(tmp_path / "a.wav", tone(1.0)[:samples])
    (found,) = predict(model, data, data.read([path]))
    assert isinstance(found.output, str) and found.input == path
    if not samples:
        assert not found.output and "no samples" in found.notices[0]
        assert next(attention_maps(model, data, data.read([path]))) == []


@pytest.mark.parametrize("value", [0.0, 0.3])
def test_u03_silence_and_a_constant_change_no_other_loss(monkeypatch, value):
    data = small_toy(monkeypatch)
    flat = Recording("flat", (np.full(8000, value, np.float32),), 8000, "ma")
    example = Example(flat, tuple(data.tokenizer.encode("ma")))
    assert data.features(example).isfinite().all()
    model = small_model(data.vocabulary).eval()
    others = data.splits["validation"][:3]
    with torch.no_grad():
        alone, together = model.log_probabilities(data.collate(others)), data.collate([*others, example])
        torch.testing.assert_close(model.log_probabilities(together)[:3, : alone.shape[1]], alone, atol=1e-5, rtol=1e-4)
    model.train()
    loss = model.loss(together)
    loss.backward()
    assert loss.isfinite() and all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


def test_u03_recordings_without_sound_or_words_are_left_out_and_counted(monkeypatch):
    data = small_toy(monkeypatch)
    bad = [
        Recording("empty", (np.zeros(0, np.float32),), 8000, "ma"),
        Recording("wordless", (tone(),), 8000, "  ?! "),
        Recording("long", (tone(11.0),), 8000, "ma"),
        Recording("wordy", (tone(),), 8000, "ma " * 40),
    ]
    monkeypatch.setattr(data, "recordings", lambda: {split: [*bad, *good] for split, good in before.items()})
    before = {split: [each.recording for each in examples] for split, examples in data.splits.items()}
    data.counts.clear()
    data.load()
    found = [data.counts[f"train.{kind}"] for kind in ("recordings", "without_sound", "without_words", "too_long")]
    assert found == [24, 1, 1, 2]
    assert "1 without a sound left out" in data.report()[0] and "2 longer than" in data.report()[0]


SUBTYPES = [
    ("WAV", "PCM_16"),
    ("WAV", "PCM_24"),
    ("WAV", "FLOAT"),
    ("WAV", "PCM_U8"),
    ("FLAC", "PCM_16"),
    ("OGG", None),
]


@pytest.mark.parametrize("format, subtype", SUBTYPES, ids=[f"{a} {b}" for a, b in SUBTYPES])
def test_u04_formats(format, subtype):
    sound = decoded(encoded(tone(), format=format, subtype=subtype), "x")
    assert sound.samples.dtype == np.float32 and len(sound.samples) == 3200
    assert np.abs(sound.samples - tone()).max() < (0.1 if format == "OGG" else 0.01)


@pytest.mark.parametrize("data", [b"", b"text", encoded(tone())[:30]], ids=["empty", "text", "cut"])
def test_what_is_no_sound_is_an_error_with_its_name(tmp_path, data):
    (tmp_path / "x.wav").write_bytes(data)
    for path in (tmp_path / "x.wav", tmp_path / "missing.wav", tmp_path):
        with pytest.raises(DataError, match=path.name):
            read_file(path)


def test_samples_that_are_no_numbers():
    with pytest.raises(DataError, match="NaN"):
        decoded(encoded(np.array([0.0, np.nan], np.float32), format="WAV", subtype="FLOAT"), "x")


TARGETS = [([1, 1], 3, 1.6479), ([1, 2, 1], 3, 1.0986), ([1, 1, 1], 5, None), ([1, 2, 1, 2], 4, None), ([], 0, 3.2958)]


@pytest.mark.parametrize("ids, frames, loss", TARGETS)
def test_u05_transcripts_longer_than_the_sound(ids, frames, loss):
    assert needed_frames(ids) == frames
    target, lengths = torch.tensor([ids + [9] * (5 - len(ids))]), torch.tensor([len(ids)])
    assert can_carry(torch.tensor([3]), target, lengths).item() == (loss is not None)
    logits = torch.zeros(1, 3, 3, requires_grad=True)
    found = ctc_loss(logits, torch.tensor([3]), target[:, : max(1, len(ids))], lengths, blank=0)
    found.backward()
    assert found.item() == pytest.approx(loss or 0.0, abs=1e-4) and logits.grad.isfinite().all()


def test_u05_they_are_told_by_name_before_the_training(monkeypatch):
    data = small_toy(monkeypatch)
    crowded = Recording("a crowd", (tone(0.1),), 8000, "mamamamama")
    before = {split: [each.recording for each in examples] for split, examples in data.splits.items()}
    monkeypatch.setattr(data, "recordings", lambda: before | {"train": [crowded, *before["train"]]})
    data.load()
    assert data.counts["train.too_short_for_ctc"] == 1 and "a crowd" in data.report()[-1]
    model = small_model(data.vocabulary).train()
    assert model.loss(data.collate(data.splits["train"][:3])).isfinite()
    assert model.loss(data.collate(data.splits["train"][:1])).isfinite()


def test_frames_and_their_times():
    assert [features.frames_of(samples, 8000) for samples in (0, 1, 79, 80, 8000)] == [0, 1, 1, 2, 101]
    assert features.log_mel(Waves(tone(1.0), 8000), 40).shape == (101, 40)
    assert features.edges(3, 8000).tolist() == pytest.approx([0.0, 0.02, 0.06, 0.10])
    loud, soft = (features.log_mel(Waves(tone() * gain, 8000), 20) for gain in (1.0, 0.01))
    torch.testing.assert_close(loud, soft, atol=1e-3, rtol=1e-3)
    with pytest.raises(ValueError, match="too many"):
        features.mel(8000, 200)


TEXTS = [
    ("Don’t STOP, 3 times!", "don't stop 3 times"),
    ("'quoted' text\r\n", "quoted text"),
    ("Für Élise", "für élise"),
    ("你好，世界", "你好 世界"),
    ("नमस्ते", "नमस्ते"),
    ("😀 ", ""),
    ("", ""),
]


@pytest.mark.parametrize("text, wanted", TEXTS)
def test_transcripts_as_they_are_spoken(text, wanted):
    assert spoken(text) == wanted == spoken(wanted)


def test_a_vocabulary_of_characters(tmp_path):
    known = Characters.learn(["ab a", "é"])
    assert known.size == 8 and known.decode(known.encode("B é a")) == "b é a"
    assert known.encode("x") == [Characters.UNKNOWN] and known.labels(known.encode("a b")) == ["a", "␣", "b"]
    known.save(tmp_path / "c.json")
    assert Characters.load(tmp_path / "c.json").digest == known.digest != Characters.learn(["a"]).digest
    for content in ("", "{}", '["ab"]'):
        (tmp_path / "c.json").write_text(content)
        with pytest.raises(ValueError, match="c.json"):
            Characters.load(tmp_path / "c.json")
