"""A person's own tables: what is read, and what is said of a table that does not fit."""

import pytest

from core.held_out import with_held_out
from core.public import DataError
from core.tables import rows_in, split_of, texts

COLUMNS = ("text", "label")


def read(tmp_path, name: str, content: str | bytes) -> list:
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    return [fields for _, fields in rows_in(str(tmp_path / name), COLUMNS)]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", "one\tx\ntwo\ty\n"),
        ("a.TSV", "\ufefftext\tlabel\r\none\tx\r\ntwo\ty\r\n"),
        ("a.csv", 'Label,Text\nx,one\n"y","two"\n'),
        ("a.jsonl", '{"text": "one", "label": "x"}\n{"label": "y", "text": "two"}\n'),
    ],
)
def test_the_same_rows_in_each_form(tmp_path, name, content):
    assert read(tmp_path, name, content) == [{"text": "one", "label": "x"}, {"text": "two", "label": "y"}]


def test_quotes_part_nothing_in_a_tsv_and_hold_lines_together_in_a_csv(tmp_path):
    assert read(tmp_path, "a.tsv", '"one\tx\n') == [{"text": '"one', "label": "x"}]
    (tmp_path / "b.csv").write_text('"one,\ntwo","x"\nthree,y\n')
    assert [where[-6:] for where, _ in rows_in(str(tmp_path / "b.csv"), COLUMNS)] == ["line 2", "line 3"]


@pytest.mark.parametrize("name", ["a.tsv", "a.csv", "a.jsonl"])
def test_blank_rows_keep_their_place_and_nothing_is_in_an_empty_file(tmp_path, name):
    assert read(tmp_path, name, "\n \n") in ([None, None], [None])
    assert read(tmp_path, name, "") == []


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.txt", "", "none of .tsv, .csv, .jsonl"),
        ("a.csv", "one,x\ntwo,y,z\n", r"a.csv, line 2 has 3 columns, wanted 2: text, label"),
        ("a.csv", 'one,x\n"two,y\n', "a.csv, line 2: "),
        ("a.csv", "text,text,label\n", "names text twice"),
        ("a.jsonl", '{"text": "one", "label": "x"}\n{"text"\n', "a.jsonl, line 2 is no JSON"),
        ("a.jsonl", "[1, 2]\n", "line 1: wanted text under text and label; found list"),
        ("a.tsv", b"\xff\xfe\x00", "a.tsv"),
    ],
)
def test_what_does_not_fit_is_named(tmp_path, name, content, said):
    with pytest.raises(DataError, match=said):
        read(tmp_path, name, content)


def test_no_such_file():
    with pytest.raises(DataError, match="cannot read nothing.tsv: No such file"):
        list(rows_in("nothing.tsv", COLUMNS))


@pytest.mark.parametrize("fields", [{"text": "one"}, {"text": "one", "label": 3}, {}])
def test_a_field_that_is_no_text(fields):
    with pytest.raises(DataError, match=r"F, line 1: wanted text under text and label; found \["):
        texts(fields, COLUMNS, "F, line 1")


def test_names_of_splits():
    assert [split_of(name, "F") for name in (None, "", "train", "dev", " Valid ", "TEST")] == [
        None, None, "train", "validation", "validation", "test",
    ]  # fmt: skip
    with pytest.raises(DataError, match="F, line 2: the split 'tset' is none of train"):
        split_of("tset", "F, line 2")


def test_never_more_than_a_tenth_is_set_apart_and_nothing_is_lost():
    found = with_held_out({None: list(range(30)), "test": [99]}, 500, seed=1)
    assert found["test"] == [99] and len(found["validation"]) == 3
    assert sorted(found["train"] + found["validation"]) == list(range(30))
    with pytest.raises(DataError, match="there are 9 examples, too few to set some apart for validation and test"):
        with_held_out({None: list(range(9))}, 5, seed=1)
