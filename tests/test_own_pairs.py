"""Sentence pairs from a person's own files: what is read, what is refused, and what is said of it. Cases T01 to T06,
each with neighbours."""

import json
from collections import Counter

import pytest
from datasets import Dataset

from core.familiarity import Familiarity
from core.public import DataError
from core.text import Tokenizer
from tasks.translation.own import read_pairs, with_held_out
from tasks.translation.sets import HubTranslation, ParallelTranslation

LINES = [(f"Der Hund Nummer {n} schläft.", f"Dog number {n} sleeps.") for n in range(40)]
SIZES = {"pieces": 120, "tokens_per_batch": 100, "max_length": 40, "seed": 1}


@pytest.fixture
def write(tmp_path):
    def make(name: str, content: str | bytes) -> str:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return str(path)

    return make


def two_files(write, sources: str | bytes, targets: str | bytes) -> tuple[str, str]:
    return write("corpus.de", sources), write("corpus.en", targets)


def parallel(path: str, target_path: str | None = None, **more) -> ParallelTranslation:
    return ParallelTranslation(path=path, target_path=target_path, **{"source": "de", "target": "en", **SIZES, **more})


class TestFormats:
    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("a.tsv", "eins\tone\nzwei\ttwo\n"),
            ("a.tsv", "en\tid\tde\none\t7\teins\ntwo\t8\tzwei\n"),
            ("a.csv", 'de,en\neins,one\n"zwei",two\n'),
            ("a.csv", "eins,one\r\nzwei,two\r\n"),
            ("A.CSV", "\ufeffde,en\neins,one\nzwei,two\n"),
            ("a.jsonl", '{"de": "eins", "en": "one"}\n{"en": "two", "de": "zwei", "id": 3}\n'),
            ("a.jsonl", '{"translation": {"de": "eins", "en": "one"}}\n{"translation": {"de": "zwei", "en": "two"}}\n'),
        ],
    )
    def test_tables(self, write, name, content):
        assert read_pairs(write(name, content), None, "de", "en") == [("eins", "one"), ("zwei", "two")]

    def test_two_files(self, write):
        assert read_pairs(*two_files(write, "eins\nzwei\n", "one\ntwo"), "de", "en") == [
            ("eins", "one"),
            ("zwei", "two"),
        ]

    def test_quotes_commas_and_tabs_stay_text(self, write):
        assert read_pairs(write("a.csv", '"a, ""b""\nc",d\n'), None, "de", "en") == [('a, "b"\nc', "d")]
        assert read_pairs(write("a.tsv", 'say "a\tsay b"\n'), None, "de", "en") == [('say "a', 'say b"')]

    @pytest.mark.parametrize(
        ("name", "content", "said"),
        [
            ("a.txt", "eins\n", r"none of .tsv, .csv, .jsonl: .* data.target_path=FILE"),
            ("a.tsv", "eins\tone\nzwei\n", "line 2 has 1 columns, wanted 2: de, en"),
            ("a.tsv", "eins\tone\tx\n", "line 1 has 3 columns, wanted 2: de, en; with more columns, name them"),
            ("a.csv", "de,en\neins,one,x\n", "line 2 has 3 columns, wanted 2: de, en"),
            ("a.csv", 'de,en\n"eins,one\n', "line 2: unexpected end of data"),
            ("a.jsonl", '{"de": "eins", "en": "one"}\n{"de": "zwei"\n', "line 2 is no JSON"),
            ("a.jsonl", '{"fr": "un", "en": "one"}\n', r"line 1: wanted text under de and en; found \['en', 'fr'\]"),
            ("a.jsonl", '{"de": 1, "en": "one"}\n', "line 1: wanted text under de and en"),
            ("a.jsonl", "[1, 2]\n", "found list"),
            ("a.tsv", b"\xff\xfe", "not UTF-8 at byte 0"),
        ],
    )
    def test_what_cannot_be_read_is_named_with_its_line(self, write, name, content, said):
        path = write(name, content)
        with pytest.raises(DataError, match=said) as caught:
            read_pairs(path, None, "de", "en")
        assert path in str(caught.value)

    def test_a_missing_file(self, write, tmp_path):
        with pytest.raises(DataError, match="cannot read .*nowhere.en"):
            read_pairs(write("a.de", "eins"), str(tmp_path / "nowhere.en"), "de", "en")


@pytest.mark.parametrize(
    ("sources", "targets", "counts"),
    [(5, 4, "5.*4"), (4, 5, "4.*5"), (0, 1, "0.*1"), (3, 0, "3.*0")],
)
@pytest.mark.parametrize("split", ["train", "validation", "test"])
def test_t01_files_of_different_length_are_refused_in_every_split(write, sources, targets, counts, split):
    good = two_files(write, "\n".join(de for de, _ in LINES), "\n".join(en for _, en in LINES))
    bad = write("bad.de", "a\n" * sources), write("bad.en", "b\n" * targets)
    if split == "train":
        data = parallel(*bad)
    else:
        data = parallel(*good, **{f"{split}_path": bad[0], f"{split}_target_path": bad[1]})
    with pytest.raises(DataError, match=counts) as caught:
        data.load()
    assert bad[0] in str(caught.value) and bad[1] in str(caught.value)


@pytest.mark.parametrize(
    ("sources", "first"),
    [
        (b"a\xe2\x80\xa8b\nc\xc2\x85d\ne\x0cf\r\ng\n", "a b"),
        (b"\xef\xbb\xbfhello world\r\nzwei\r\ndrei\r\nvier\r\n", "hello world"),
        (b"a\x0bb\n\x1cc\n\xe2\x80\xa9d\ne", "a b"),
        ("\ufeffa\u00a0b\nc\nd\ne".encode(), "a b"),
    ],
)
def test_t02_only_newlines_end_a_line(write, sources, first):
    data = parallel(*two_files(write, sources, "1\n2\n3\n4\n"))
    pairs = data.usable("train", data_pairs(data))
    assert len(pairs) == 4 and pairs[0] == (first, "1")


def data_pairs(data: ParallelTranslation):
    path, target_path = data.files["train"]
    return read_pairs(str(path), target_path, "de", "en")


@pytest.mark.parametrize("blank", ["", "   ", "\t", "\u200b\u00a0"])
def test_t03_empty_sides_are_dropped_counted_and_reported(write, blank):
    sources, targets = [de for de, _ in LINES], [en for _, en in LINES]
    sources[3], targets[7] = blank, blank
    data = parallel(*two_files(write, "\n".join(sources), "\n".join(targets)), held_out=4)
    data.load()
    dropped = sum(data.counts[f"{split}.dropped_empty"] for split in data.splits)
    assert dropped == 2 and "without text on one side" in "\n".join(data.report())


@pytest.mark.parametrize("word", ["w", "😀", "字", "wort-mit-strichen"])
def test_t04_long_sentences_are_cut_and_counted(write, word):
    lines = [*LINES, (f"{word} " * 5000, "long")]
    data = parallel(*two_files(write, "\n".join(de for de, _ in lines), "\n".join(en for _, en in lines)), held_out=4)
    data.load()
    assert data.counts["cut_to_max_length"] == 1 and "1 pairs cut to 40 pieces" in "\n".join(data.report())
    assert max(len(each.source_ids) for split in data.splits.values() for each in split) == 40
    (example,) = data.read([f"{word} " * 5000])
    assert f"the input has {example.pieces} pieces; the first 39 were kept" in " ".join(data.notices(example))


@pytest.mark.parametrize("size", [8000, 500, 120])
def test_t05_a_small_corpus_takes_the_vocabulary_that_it_has(write, size):
    data = parallel(write("a.tsv", "".join(f"{de}\t{en}\n" for de, en in LINES)), held_out=4, pieces=size)
    data.load()
    assert data.vocabulary <= size and f"vocabulary {data.vocabulary:,} pieces" in data.report()[-1]


def test_t05_too_small_a_vocabulary_says_the_least(write):
    with pytest.raises(ValueError, match="needs at least"):
        parallel(write("a.tsv", "".join(f"{de}\t{en}\n" for de, en in LINES)), pieces=10).load()


@pytest.mark.parametrize("odd", ["🐱", "猫", "🏳️‍🌈", "Ω"])
def test_t06_what_was_never_seen_is_named_as_it_was_typed(write, odd):
    data = parallel(write("a.tsv", "".join(f"{de}\t{en}\n" for de, en in LINES)), held_out=4)
    data.load()
    (example,) = data.read([f"Der {odd} schläft."])
    assert any(f"never seen in training: {odd[0]}" in notice for notice in data.notices(example))


class TestReport:
    def test_in_plain_words(self, write):
        lines = [*LINES, LINES[0], ("", "x")]
        data = parallel(
            write("a.tsv", "".join(f"{de}\t{en}\n" for de, en in lines)),
            validation_path=write("v.tsv", "Der Hund Nummer 1 schläft.\tDog number 1 sleeps.\nДа\tq\n"),
            held_out=2,
        )
        data.load()
        text = "\n".join(data.report())
        assert "train: 39 of 40 pairs, de → en; 1 without text on one side" in text
        assert "validation: 2 of 2 pairs, de → en; 1 also in train" in text
        assert data.counts["validation.unknown_pieces"] > 0 and "of validation unknown to it" in text
        assert data.counts["test.set_apart_from_train"] >= 2


class TestHeldOut:
    def test_pairs_are_set_apart_once_and_counted(self):
        counts: Counter[str] = Counter()
        pairs = [*LINES, *LINES]  # every pair twice
        found = with_held_out({"train": pairs}, 3, seed=1, counts=counts)
        kinds = {split: set(each) for split, each in found.items()}
        assert len(kinds["validation"]) == len(kinds["test"]) == 3
        assert not kinds["train"] & kinds["validation"] and not kinds["test"] & (kinds["train"] | kinds["validation"])
        assert sum(map(len, found.values())) == 80 and counts["test.set_apart_from_train"] == 6
        assert found == with_held_out({"train": pairs}, 3, seed=1, counts=Counter())
        assert found != with_held_out({"train": pairs}, 3, seed=2, counts=Counter())

    def test_what_is_there_stays(self):
        given = {"train": LINES, "validation": LINES[:1], "test": LINES[1:2]}
        assert with_held_out(given, 3, seed=1, counts=Counter()) == given

    def test_never_more_than_a_tenth(self):
        found = with_held_out({"train": LINES}, 1000, seed=1, counts=Counter())
        assert [len(found[split]) for split in ("train", "validation", "test")] == [32, 4, 4]

    def test_too_few(self):
        with pytest.raises(DataError, match="there are 9 pairs, too few to set some apart for validation and test"):
            with_held_out({"train": LINES[:9]}, 1000, seed=1, counts=Counter())


def test_one_side_alone(write):
    with pytest.raises(ValueError, match="test_path is missing"):
        parallel(write("a.tsv", "a\tb\n"), test_target_path="x")


class TestHub:
    @pytest.fixture
    def folder(self, tmp_path):
        """The schema of opus_books and its like: an id, and one text a language."""
        rows = [{"id": str(n), "translation": {"de": de, "en": en}} for n, (de, en) in enumerate(LINES)]
        (tmp_path / "set").mkdir()
        Dataset.from_list(rows).to_parquet(tmp_path / "set" / "train-00000-of-00001.parquet")
        return str(tmp_path / "set")

    def test_one_column_with_a_text_a_language(self, folder, monkeypatch, tmp_path):
        monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
        data = HubTranslation(path=folder, source="en", target="de", held_out=4, **SIZES)
        data.load()
        assert [len(data.splits[split]) for split in ("train", "validation", "test")] == [32, 4, 4]
        assert (data.splits["train"][0].target, data.splits["train"][0].source) in LINES

    def test_a_language_that_is_not_there(self, folder, monkeypatch, tmp_path):
        monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")
        with pytest.raises(DataError, match=r"found the languages \['de', 'en'\], wanted fr"):
            HubTranslation(path=folder, source="fr", target="de", **SIZES).load()


class TestFamiliarity:
    TEXTS = ([4, 5, 6, 4], [4, 6, 5, 7], [5, 4, 4, 6])

    def test_bits_by_hand(self):
        found = Familiarity.learn([[4, 4, 4, 5]], [], size=6)
        # 4 + 6 counts: 4 has 4 of 10, 5 has 2 of 10.
        assert found.surprise([4, 5, 5]) == pytest.approx((1.3219 + 2 * 2.3219) / 3, abs=1e-3)

    def test_only_what_is_further_off_than_the_rest_is_told(self):
        found = Familiarity.learn(self.TEXTS, self.TEXTS, size=40)
        assert found.notice(self.TEXTS[0]) == ""
        assert "bits a piece" in found.notice([20, 21, 22, 23])
        assert found.notice([20, 21]) == ""  # too short to tell

    def test_it_comes_back_from_its_file(self, tmp_path):
        found = Familiarity.learn(self.TEXTS, self.TEXTS, size=40)
        found.save(tmp_path / "f.json")
        assert Familiarity.load(tmp_path / "f.json", size=40) == found
        with pytest.raises(ValueError, match="counts 40 pieces, but the vocabulary beside it has 41"):
            Familiarity.load(tmp_path / "f.json", size=41)

    @pytest.mark.parametrize("content", [None, "", "{}", json.dumps({"limit": 1, "counts": "x"})])
    def test_a_missing_or_damaged_file(self, tmp_path, content):
        if content is not None:
            (tmp_path / "f.json").write_text(content)
        with pytest.raises(ValueError, match="missing or damaged"):
            Familiarity.load(tmp_path / "f.json", size=40)


def test_another_language_is_said_to_be_far(write):
    data = parallel(write("a.tsv", "".join(f"{de}\t{en}\n" for de, en in LINES)), held_out=4)
    data.load()
    near, far = data.read(["Der Hund Nummer 3 schläft.", "Dog number number sleeps number."])
    assert not data.notices(near)
    assert any("far from the texts of the training" in notice for notice in data.notices(far))
    assert Tokenizer.UNKNOWN not in far.source_ids  # every piece is known: the other side of the pairs has them
