"""Text to examples and back: characters, pieces, windows, files of one's own, an address, the toy language."""

import gzip
import math
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest
import torch
from generation import LINES, small_model, small_text, small_toy

from core.evaluate import generate, predict
from core.public import DataError, reachable
from tasks.generation import own, toy
from tasks.generation.characters import Characters, LinePieces, following, plain
from tasks.generation.examples import RandomWindows, Windows, windows
from tasks.generation.sets import Shakespeare

TEXT = "".join(LINES)
HARD = {
    "crlf and a mark": (b"\xef\xbb\xbfhello world\r\nzwei\r\n", "hello world\nzwei\n"),
    "no end": (b"a\n\n\nb", "a\n\n\nb\n"),
    "separators inside lines": ("a\u2028b\nc\x0cd\n".encode(), "a\u2028b\nc\x0cd\n"),
    "other scripts": ("你好。\nשלום\n😀\n".encode(), "你好。\nשלום\n😀\n"),
    "nothing": (b"", "\n"),
}


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("case", HARD)
def test_files_as_they_are(tmp_path, case, packed):
    data, text = HARD[case]
    file = tmp_path / "text.bin"
    file.write_bytes(gzip.compress(data) if packed else data)
    assert own.read_text(str(file)) == (text, 1)


def test_a_folder_of_texts_in_the_order_of_their_names(tmp_path):
    (tmp_path / "b.txt").write_text("two\n")
    (tmp_path / "a.txt.gz").write_bytes(gzip.compress(b"one"))
    (tmp_path / "notes.md").write_text("not this")
    assert own.read_text(str(tmp_path)) == ("one\n\ntwo\n", 2)


@pytest.mark.parametrize(
    "content, message",
    [(None, "No such file"), (b"\xff\xfe", "not UTF-8 at byte 0"), (gzip.compress(b"x" * 999)[:-9], "damaged gzip")],
)
def test_files_that_cannot_be_read(tmp_path, content, message):
    if content:
        (tmp_path / "x").write_bytes(content)
    with pytest.raises(DataError, match=message):
        own.read_text(str(tmp_path / "x"))
    with pytest.raises(DataError, match="no file in it that ends in .txt"):
        own.read_text(str(tmp_path))


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_) -> None:
        pass


@pytest.fixture
def address(tmp_path):
    """Where a text is served, as the project's own address serves it."""
    (tmp_path / "served").mkdir()
    (tmp_path / "served" / "input.txt").write_text(TEXT, encoding="utf-8")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(tmp_path / "served")))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/input.txt"
    server.shutdown()
    server.server_close()


def test_a_text_at_an_address(address, tmp_path, monkeypatch):
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr("datasets.config.DOWNLOADED_DATASETS_PATH", tmp_path / "downloads")
    assert reachable(address) and reachable(address.replace("input", "other"))
    data = Shakespeare(path=address, context=16, tokens_per_batch=64, steps=2, validation=0.1, test=0.1)
    data.load()
    assert sum(data.counts[f"{split}.characters"] for split in data.splits) == len(plain(TEXT))
    with pytest.raises(DataError, match="cannot be read.*data.path=FILE"):
        own.read_text(address.replace("input", "other"))


def test_an_address_that_nobody_answers():
    assert not reachable("http://127.0.0.1:9/input.txt")


@pytest.mark.parametrize("text", ["", "a", "To be,\n\nor not\tto be!", "你好\n😀 e\u0301 \ud800"])
def test_characters_there_and_back(text, tmp_path):
    text = plain(text)
    vocabulary = Characters.learn(text + "xyz")
    ids = vocabulary.encode(text)
    assert vocabulary.decode(ids) == text and len(ids) == len(vocabulary.labels(text)) == len(text)
    vocabulary.save(tmp_path)
    assert Characters.load(tmp_path).digest == vocabulary.digest
    assert "é" in plain("e\u0301") and plain("\ud800") == "\ufffd" and plain("a\r\nb\rc") == "a\nb\nc"


@pytest.mark.parametrize("content", ["", "{}", '["ab"]', "[1]"])
def test_a_damaged_vocabulary(content, tmp_path):
    (tmp_path / Characters.FILE).write_text(content)
    with pytest.raises(ValueError, match="missing or damaged"):
        Characters.load(tmp_path)


def test_pieces_of_lines(tmp_path):
    vocabulary = LinePieces.learn(TEXT, pieces=60)
    text = "the cat sat\n\non  mat 3"
    ids = vocabulary.encode(text)
    assert vocabulary.decode(ids) == "the cat sat\n\non mat 3" and ids.count(LinePieces.NEWLINE) == 2
    labels = vocabulary.labels(text)
    assert len(labels) == len(ids) and [label for label in labels if label == "\n"] == ["\n"] * 2
    space = next(n for n in range(1, len(ids)) if vocabulary.decode(ids[:n]) == "the")
    assert following(vocabulary, ids[:space], ids[space:]) == " cat sat\n\non mat 3"
    vocabulary.save(tmp_path)
    assert LinePieces.load(tmp_path).digest == vocabulary.digest


@pytest.mark.parametrize("count", [0, 1, 2, 17, 63, 64, 65, 1000, 3001])
@pytest.mark.parametrize("context, stride", [(64, 64), (100, 100), (100, 30), (16, 1), (2, 2)])
def test_windows_score_every_token_but_the_first_once(count, context, stride):
    ids, scored = [*range(count)], []
    found = list(windows(ids, context, stride))
    for number, window in enumerate(found):
        assert window.ids == tuple(ids[window.ids[0] : window.ids[-1] + 1]) and len(window.ids) <= context + 1
        scored += window.ids[window.scored :]
        if 25 < number < len(found) - 1:
            assert len(window.ids) == context + 1 and len(window.ids) - window.scored == stride
    assert scored == ids[1:]


def test_random_windows_differ_by_epoch_and_are_the_same_by_seed():
    def drawn(seed: int, epoch: int) -> list[list[int]]:
        sampler = RandomWindows(50, context=8, rows=3, steps=4, seed=seed)
        sampler.set_epoch(epoch)
        return [starts.tolist() for starts in sampler]

    assert drawn(1, 0) == drawn(1, 0) and drawn(1, 0) != drawn(1, 1) and drawn(1, 0) != drawn(2, 0)
    many = RandomWindows(12, context=8, rows=100, steps=4, seed=0)
    assert {int(start) for starts in many for start in starts} == {0, 1, 2, 3}
    batch = Windows(torch.arange(50), 8)[torch.tensor([0, 41])]
    assert batch.tokens[1].tolist() == [*range(41, 49)] and batch.following[1].tolist() == [*range(42, 50)]


def test_a_text_in_three_parts(tmp_path):
    data = small_text(tmp_path)
    data.load()
    parts = data.parts(plain(TEXT))
    assert "".join(parts.values()) == plain(TEXT) and len(parts["test"]) == round(0.1 * len(TEXT))
    for split, part in parts.items():
        scored = sum(len(example.ids) - example.scored for example in data.splits[split])
        assert scored == len(part) - 1 == data.counts[f"{split}.tokens"] - 1
    assert len(list(data.train_dataloader())) == 3 and next(iter(data.train_dataloader())).tokens.shape == (4, 16)
    assert any("epoch is 3 steps, 192 tokens" in line for line in data.report())


@pytest.mark.parametrize(
    "wrong, message",
    [
        ({"context": 1}, "context"),
        ({"stride": 17}, "stride"),
        ({"validation": 0.5, "test": 0.5}, "shares"),
        ({"tokens_per_batch": 8}, "a batch holds a window"),
        ({"text": "short"}, "6 characters; a model needs 1,000"),
        ({"context": 5000, "tokens_per_batch": 5000}, "model.context="),
    ],
)
def test_numbers_and_texts_that_do_not_fit(tmp_path, wrong, message):
    with pytest.raises(ValueError, match=message):
        small_text(tmp_path, **wrong).load()


@pytest.mark.parametrize("pieces", [0, 60])
def test_scores_are_those_of_all_tokens(tmp_path, pieces):
    data = small_text(tmp_path, pieces=pieces)
    data.load()
    model, examples = small_model(data.vocabulary), data.splits["test"]
    found = data.scores(examples, predict(model, data, examples))
    total = sum(-sum(each.log_probabilities) for each in generate(model, data, examples))
    tokens, characters = data.counts["test.tokens"] - 1, data.counts["test.characters"] - 1
    assert found["loss"].value == pytest.approx(total / tokens) == -found["log-probability"].value
    if not pieces:
        assert found["bits a character"].value == pytest.approx(total / characters / math.log(2))
        assert 0 <= found["next character"].value <= 1


PROMPTS = ["the cat", "", "x", "\n", "never 你 seen 😀", "long " * 200, "ends\r\n"]


@pytest.mark.parametrize("pieces", [0, 60])
def test_prompts(tmp_path, pieces):
    data = small_text(tmp_path, pieces=pieces)
    data.load()
    model = small_model(data.vocabulary)
    found = predict(model, data, data.read(PROMPTS))
    assert [each.input for each in found] == [plain(text) for text in PROMPTS]
    assert found[1].output == "" and "empty" in found[1].notices[0] and found[1].mean_log_probability is None
    assert "你" in found[4].notices[0] and "😀" in found[4].notices[0]
    assert "its last 16 were kept" in found[5].notices[-1] and (pieces or "1000 characters" in found[5].notices[-1])
    if not pieces:
        assert all(len(each.output) == 5 for number, each in enumerate(found) if number != 1)
    forced = data.forced(data.read(PROMPTS), generate(model, data, data.read(PROMPTS)))
    for example, before in zip(forced, data.read(PROMPTS), strict=True):
        assert len(example.ids) == len(example.labels) <= 17
        assert not before.ids or (len(example.ids) > 1 and example.ids[example.tokens :])


def test_toy_sequences_and_their_links():
    found = toy.links_of("a3f7.f7a3f7", 5, toy.RECALL)
    assert [(link.query, link.keys) for link in found] == [(5, (3,)), (7, (1,)), (9, (3, 6))]
    copied = toy.links_of("xyz.xyzxy", 4, toy.COPYING)
    assert [(link.query, link.keys) for link in copied] == [(4, (1,)), (5, (2,)), (7, (1, 5))]


def test_toy_splits(monkeypatch):
    monkeypatch.setattr(toy, "SIZES", {"train": 60, "validation": 20, "test": 20})
    found = toy.sequences(seed=3)
    assert found == toy.sequences(seed=3) != toy.sequences(seed=4)
    texts = [each.text for split in found.values() for each in split]
    assert len(set(texts)) == 100 and {len(text) for text in texts} == {toy.LENGTH}
    for each in (each for split in found.values() for each in split):
        assert each.links and each.links[-1].query == toy.LENGTH - 2
        for link in each.links:
            assert all(each.text[key - 1 : key + 1] == each.text[link.query : link.query + 2] for key in link.keys)
            assert max(link.keys) <= link.query


def test_a_word_of_the_prompt_and_what_stands_for_nothing(monkeypatch):
    data = small_toy(monkeypatch)
    (example,) = data.read(["a3f7a3"])
    assert data.keys_of(example, "a3") == [0, 1, 4, 5] and data.keys_of(example, "f") == [2]
    assert data.without(example, [0, 5]).ids[0::5] == (Characters.UNKNOWN,) * 2
    with pytest.raises(ValueError, match="does not stand in"):
        data.keys_of(example, "z")
    with pytest.raises(ValueError, match="--length 2"):
        data.keys_of(data.read(["a" * 62])[0], "a")


def test_right_guesses_of_the_toy_count(monkeypatch):
    from core.demo import Prediction

    data = small_toy(monkeypatch)
    examples = data.splits["test"]
    texts = [data.text_of(each) for each in examples]
    right = [Prediction(text, text[1:], -1.0) for text in texts]
    found = data.scores(examples, right)
    assert found["recall accuracy"].value == found["copying accuracy"].value == found["next character"].value == 1.0
    assert found["loss"].value == pytest.approx(1.0)
    wrong = [Prediction(text, "." * 64, -1.0) for text in texts]
    assert data.scores(examples, wrong)["recall accuracy"].value == 0.0
