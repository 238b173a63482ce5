"""Batches by a budget of tokens, honest counts, and public sets in the hub's layout."""

import io
import os
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import torch
from conftest import LENGTHS, ROOT
from rich.console import Console
from tiny import Numbers, Tiny

from core.data import Looks, TokenBatches, pack
from core.demo import Prediction
from core.public import DataError, load_public
from core.text import Tokenizer
from core.training import Training, fit
from tasks.translation.data import Pair, TranslationData
from tasks.translation.sets import PublicTranslation, ToyTranslation

REAL = ROOT.parent / "shared" / "data" / "multi30k"
SENTENCES = {
    "train": [
        ("A dog sleeps.", "Ein Hund schläft."),
        ("  A cat\tsleeps. ", "Eine Katze schläft."),
        ("", "Nichts."),
        (None, "Nichts."),
        ("Two dogs run through the high green grass.", "Zwei Hunde laufen durch das hohe grüne Gras."),
    ],
    "validation": [("A dog runs.", "Ein Hund läuft.")],
    "test": [("The cat runs.", "Die Katze läuft.")],
}


class TestPack:
    @pytest.mark.parametrize(
        ("sizes", "tokens", "batches"),
        [
            ([], 6, []),
            ([3], 6, [[0]]),
            ([1, 2, 3, 3, 7], 6, [[0, 1], [2, 3], [4]]),  # 3 x 3 > 6, and 7 > 6
            ([2, 2, 2], 6, [[0, 1, 2]]),
            ([5, 1, 1, 1], 5, [[0], [1, 2, 3]]),
            ([9, 9], 6, [[0], [1]]),
        ],
    )
    def test_by_hand(self, sizes, tokens, batches):
        assert list(pack(range(len(sizes)), sizes, tokens)) == batches

    def test_the_order_decides_not_the_number(self):
        assert list(pack([2, 0], [4, 100, 4], 8)) == [[2, 0]]


class TestTokenBatches:
    @pytest.mark.parametrize("seed", [0, 1])
    @pytest.mark.parametrize("epoch", [0, 4])
    def test_every_example_once_and_within_the_budget(self, seed, epoch):
        batches = TokenBatches([*LENGTHS, 0, 500], tokens=97, seed=seed)
        batches.set_epoch(epoch)
        found = list(batches)
        assert len(found) == len(batches) and all(found)
        assert sorted(chain(*found)) == [*range(300), 301]  # 300 has nothing in it
        assert [301] in found  # longer than any budget: alone
        sizes = [*LENGTHS, 0, 97]
        assert all(max(sizes[number] for number in batch) * len(batch) <= 97 for batch in found)

    def test_seed_and_epoch_decide_and_nothing_else(self):
        def order(seed, epoch):
            batches = TokenBatches(LENGTHS, tokens=97, seed=seed)
            batches.set_epoch(epoch)
            return list(batches)

        assert list(TokenBatches(LENGTHS, tokens=97, seed=1)) == order(1, 0) == order(1, 0)
        assert len({str(order(*each)) for each in ((1, 0), (1, 1), (1, 2), (2, 0), (2, 1))}) == 5

    def test_every_epoch_has_as_many_batches(self):
        batches = TokenBatches(LENGTHS, tokens=97, seed=1)
        counts = {len(batches)}
        for epoch in range(20):
            batches.set_epoch(epoch)
            counts.add(len(batches))
        assert len(counts) == 1

    def test_another_process_has_the_same_order(self, elsewhere):
        batches = TokenBatches(LENGTHS, tokens=97, seed=5)
        batches.set_epoch(3)
        assert elsewhere["batches"] == list(batches)

    def test_batches_are_of_like_length_but_not_in_order_of_length(self):
        longest = [max(LENGTHS[number] for number in batch) for batch in TokenBatches(LENGTHS, tokens=97, seed=1)]
        assert longest != sorted(longest) and longest != sorted(longest, reverse=True)


def test_lightning_gives_each_epoch_its_own_order_and_validates_after_each(tmp_path):
    data, model = Numbers(sizes=LENGTHS, tokens_per_batch=97, seed=1), Tiny()
    fit(model, data, Training(max_epochs=3, precision="32-true"), tmp_path, Console(file=io.StringIO()))
    batches, expected = TokenBatches(LENGTHS, tokens=97, seed=1), []
    for epoch in range(3):
        batches.set_epoch(epoch)
        expected.append(list(batches))
    assert model.seen == [*chain(*expected)] and data.validated == 3
    assert expected[0] != expected[1] != expected[2]


def test_a_budget_must_hold_something():
    with pytest.raises(ValueError, match="tokens_per_batch must be at least 1; got 0"):
        Numbers(sizes=[1], tokens_per_batch=0)


class Given(TranslationData):
    """Translation of the pairs that a test gives."""

    def __init__(self, given: dict[str, list[tuple[str, str]]], *, max_length: int = 30) -> None:
        super().__init__(source="de", target="en", pieces=60, tokens_per_batch=50, max_length=max_length, seed=1)
        self.given = given

    def pairs(self) -> dict[str, list[Pair]]:
        return {split: [Pair(*pair) for pair in pairs] for split, pairs in self.given.items()}


def given(**splits: list[tuple[str, str]]) -> dict[str, list[tuple[str, str]]]:
    usual = [("ein Hund", "a dog"), ("eine Katze", "a cat")]
    return {"train": usual, "validation": usual, "test": usual} | splits


class TestTranslation:
    def test_what_is_dropped_and_cut_is_counted(self):
        pairs = [
            ("ein Hund", "a dog"),
            ("", "a cat"),
            ("eine Katze", " \t"),
            ("Hund " * 40, "a dog"),
            ("a", "dog " * 40),
        ]
        data = Given(given(train=pairs), max_length=8)
        data.load()
        assert data.counts["train.pairs"] == 3 and data.counts["train.dropped_empty"] == 2
        assert data.counts["validation.pairs"] == 2 and data.counts["validation.dropped_empty"] == 0
        assert data.counts["cut_to_max_length"] == 2
        _, source, target = data.splits["train"]
        assert len(source.source_ids) == 8 and source.source_ids[-1] == Tokenizer.END and source.pieces >= 40
        assert len(target.target_ids) == 7

    @pytest.mark.parametrize("split", ["train", "validation", "test"])
    def test_a_split_with_nothing_in_it(self, split):
        with pytest.raises(
            ValueError, match=f"the {split} split has no pair" if split != "train" else "nothing to learn"
        ):
            Given(given(**{split: [("", "a dog")]})).load()

    def test_a_batch_by_hand(self):
        data = Given(given())
        data.load()
        one, two = data.example("ein Hund", "a dog"), data.example("Katze", "a cat a dog")
        batch = data.collate([one, two])
        longest = max(len(one.source_ids), len(two.source_ids))
        for row, example in enumerate((one, two)):
            length, ends = len(example.source_ids), len(example.target_ids) + 1
            assert batch.source[row].tolist() == example.source_ids + [Tokenizer.PAD] * (longest - length)
            assert batch.source_mask[row, 0].tolist() == [True] * length + [False] * (longest - length)
            target = batch.target[row].tolist()
            assert target[: ends + 1] == [Tokenizer.START, *example.target_ids, Tokenizer.END]
            assert not any(target[ends + 1 :])

    def test_a_reader_and_the_training_read_alike(self):
        data = Given(given())
        data.load()
        (read,) = data.read(["  ein\tHund "])
        assert read.source_ids == data.splits["train"][0].source_ids

    def test_batches_to_score_are_sorted_and_leave_out_what_is_empty(self):
        data = Given(given())
        data.load()
        examples = data.read(["ein Hund ein Hund ein Hund", "", "Hund", "  "])
        assert list(chain(*data.batches(examples))) == [2, 0]

    def test_impossible_numbers(self):
        with pytest.raises(ValueError, match=r"max_length must leave room .* got 1"):
            Given(given(), max_length=1)

    def test_the_toy_set_comes_with_its_links(self, small_toy):
        data = ToyTranslation(pieces=2000, tokens_per_batch=100, max_length=32, seed=1)
        data.load()
        assert {split: len(examples) for split, examples in data.splits.items()} == {
            split: len(pairs) for split, pairs in small_toy.items()
        }
        truth = data.truth(3, 7)
        assert [each.row.sure for each in truth.scoring] == [list(pair.links) for pair in small_toy["test"][:7]]
        assert [(each.source, each.target) for each in truth.choosing] == [
            (each.source, each.target) for each in data.splits["validation"][:3]
        ]

    def test_links_of_what_was_cut_are_not_looked_for(self, small_toy):
        data = ToyTranslation(pieces=2000, tokens_per_batch=100, max_length=6, seed=1)
        data.load()
        assert data.counts["cut_to_max_length"] > 50

        def last_word(examples):
            for example in examples:
                weights = np.zeros((1, len(example.target_ids) + 1, len(example.source_ids)), dtype=np.float32)
                weights[..., -2] = 1
                yield data.maps(example, {"gaze": weights})

        scores = data.map_scores(Looks(last_word, last_word), data.splits["validation"], data.splits["test"]).scores
        assert 0 < scores["link accuracy"].value < 1 and 0 < scores["link accuracy, uniform"].value < 1

    def test_scores_are_of_the_references(self):
        data = Given(given(test=[("ein Hund", "a dog runs far away"), ("eine Katze", "a cat sleeps all day")]))
        data.load()
        examples = data.splits["test"]
        right = [Prediction(example.source, example.target, None) for example in examples]
        assert data.scores(examples, right)["bleu"].value == 100
        assert data.scores(examples, right[::-1])["bleu"].value < 50


@pytest.fixture
def offline(tmp_path, monkeypatch):
    """A cache of its own, and an error for whoever opens a connection."""
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr("socket.socket.connect", lambda *_: pytest.fail("a connection was opened"))


@pytest.fixture
def hub(tmp_path, offline) -> Path:
    """A folder in the schema and the layout of the hub's copy: the columns en and de, a parquet file a split."""
    folder = tmp_path / "pairs" / "data"
    folder.mkdir(parents=True)
    for split, pairs in SENTENCES.items():
        table = pyarrow.table({"en": [en for en, _ in pairs], "de": [de for _, de in pairs]})
        pyarrow.parquet.write_table(table, folder / f"{split}-00000-of-00001.parquet")
    return folder.parent


def public(path: Path | str, *, source: str = "de", target: str = "en") -> PublicTranslation:
    return PublicTranslation(
        path=str(path), source=source, target=target, pieces=80, tokens_per_batch=100, max_length=40, seed=1
    )


class TestPublic:
    def test_a_folder_in_the_schema_of_the_hub(self, hub):
        data = public(hub)
        data.load()
        assert [example.source for example in data.splits["train"]] == [
            "Ein Hund schläft.",
            "Eine Katze schläft.",
            "Zwei Hunde laufen durch das hohe grüne Gras.",
        ]
        assert data.splits["train"][1].target == "A cat sleeps."
        assert data.counts["train.pairs"] == 3 and data.counts["train.dropped_empty"] == 2
        assert data.splits["test"][0].target == "The cat runs." and torch.is_tensor(
            data.collate(data.splits["train"])[0]
        )

    def test_the_other_direction(self, hub):
        pairs = public(hub, source="en", target="de").pairs()
        assert pairs["test"] == [Pair("The cat runs.", "Die Katze läuft.")]

    def test_missing_columns_are_named_with_those_that_there_are(self, hub):
        with pytest.raises(DataError, match=r"found the columns \['en', 'de'\], wanted \['fr', 'en'\]"):
            public(hub, source="fr").load()

    def test_a_column_without_text(self, hub):
        for split in SENTENCES:
            table = pyarrow.table({"en": ["a dog"], "de": [7]})
            pyarrow.parquet.write_table(table, hub / "data" / f"{split}-00000-of-00001.parquet")
        with pytest.raises(DataError, match="the column de holds .*int64.*, wanted text"):
            public(hub).load()

    def test_a_missing_split(self, hub):
        next(hub.glob("data/validation-*")).unlink()
        with pytest.raises(DataError, match=r"lacks the splits \['validation'\]; it has \['train', 'test'\]"):
            public(hub).load()

    @pytest.mark.parametrize("path", ["./nowhere", "nowhere", "~/nowhere/at/all", os.sep + "nowhere"])
    def test_a_missing_folder(self, path, offline):
        with pytest.raises(DataError, match="there is no such folder") as caught:
            public(path).load()
        assert path in str(caught.value)
        for way in ("HF_ENDPOINT", "data.path=DIR", "data=toy"):
            assert way in str(caught.value)

    def test_a_folder_with_nothing_in_it_and_a_damaged_file(self, tmp_path, hub):
        (tmp_path / "empty").mkdir()
        next(hub.glob("data/train-*")).write_bytes(b"PAR1 and nothing more")
        for path in (tmp_path / "empty", hub):
            with pytest.raises(DataError, match="cannot be loaded: ") as caught:
                load_public(str(path), columns=["en"], splits=["train"])
            assert "data=toy" in str(caught.value) and len(str(caught.value).splitlines()) == 1

    @pytest.mark.skipif(not REAL.is_dir(), reason=f"the real set is not at {REAL}")
    def test_the_real_set(self, offline):
        pairs = public(REAL).pairs()
        assert {split: len(found) for split, found in pairs.items()} == {
            "train": 29000,
            "validation": 1014,
            "test": 1000,
        }
        assert all(isinstance(text, str) for pair in pairs["test"] for text in pair[:2])
        assert any("ß" in pair.source for pair in pairs["test"]) and not any(
            "ß" in pair.target for pair in pairs["test"]
        )
