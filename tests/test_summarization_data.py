"""Sets in the layouts of their hub copies, a person's own texts, and the real folder where there is one."""

import json
from pathlib import Path

import pytest
from datasets import Dataset, DatasetDict

from core.public import DataError
from tasks.summarization import oracle, toy
from tasks.summarization.sets import BBCNews, CNNDailyMail, OwnDocuments, place_of

REAL = Path(__file__).resolve().parents[2] / "shared" / "data" / "bbc-news-summary"
NUMBERS = {"tokens_per_batch": 512, "known_words": 500, "max_sentences": 100, "max_words": 80, "share": 0.3}
ARTICLE = "Rates rise\n\nThe bank met in {n}.  It raised rates. Markets fell. Nobody was surprised."


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(oracle, "cache_folder", lambda: tmp_path / "cache")


def saved(rows: dict[str, dict], folder: Path) -> str:
    for split, columns in DatasetDict({split: Dataset.from_dict(each) for split, each in rows.items()}).items():
        columns.to_parquet(folder / f"{split}.parquet")
    return str(folder)


def test_the_labelled_layout_of_bbc_news(tmp_path):
    row = {
        "article": [ARTICLE.format(n="Oslo"), "No labels here. At all."],
        "sentences": [
            ["The bank met in Oslo.", "It raised rates.", "Markets  fell.", "Not in it.", "Nobody was surprised."],
            ["No labels here.", "At all."],
        ],
        "labels": [[1, 0, 1, 1, 0], [0, 0]],
    }
    data = BBCNews(path=saved(dict.fromkeys(("train", "validation", "test"), row), tmp_path), **NUMBERS)
    data.load()
    (example,) = data.splits["train"]
    assert example.labels == (0, 2) and example.reference == "The bank met in Oslo.\nMarkets fell."
    assert example.article.text[slice(*example.article.spans[2])] == "Markets fell."
    assert data.counts["train.articles_without_a_label"] == 1 and data.counts["sentences_not_in_their_article"] == 3


def test_the_hub_layout_of_bbc_news(tmp_path):
    articles = [ARTICLE.format(n=f"town{n}") for n in range(20)]
    row = {
        "File_path": ["business"] * 22,
        "Articles": [*articles, articles[0], articles[1]],
        "Summaries": ["Markets fell.It raised rates."] * 22,
    }
    data = BBCNews(path=saved({"train": row}, tmp_path), **NUMBERS)
    data.load()
    assert data.splits["train"][0].labels == (1, 2)
    texts = [{each.article.text for each in data.splits[split]} for split in ("train", "validation", "test")]
    assert [len(each) for each in texts] == [16, 2, 2] and len(set.union(*texts)) == 20


def test_other_columns_are_named(tmp_path):
    with pytest.raises(DataError, match="found the columns .*'body'.* wanted .*'labels'.*'Summaries'"):
        BBCNews(path=saved({"train": {"body": ["x"]}}, tmp_path), **NUMBERS).load()


def test_the_layout_of_cnn_dailymail_and_its_slices(tmp_path):
    row = {
        "article": [ARTICLE.format(n=n) for n in ("Oslo", "Lima", "Rome")],
        "highlights": ["Rates were raised .\nMarkets fell .", "The bank met in Lima .", "The bank met ."],
        "id": ["a", "b", "c"],
    }
    path = saved(dict.fromkeys(("train", "validation", "test"), row), tmp_path)
    data = CNNDailyMail(path=path, train_articles=2, eval_articles=1, **NUMBERS)
    data.load()
    assert [len(data.splits[split]) for split in ("train", "validation", "test")] == [2, 1, 1]
    assert data.splits["train"][1].labels == (0,) and "\n" in data.splits["train"][0].reference


def test_a_jsonl_of_ones_own(tmp_path):
    file = tmp_path / "mine.jsonl"
    rows = [{"article": ARTICLE.format(n=n), "summary": "Markets fell."} for n in range(9)]
    rows.append({"article": ARTICLE.format(n="Turin"), "labels": [3, 0]})
    file.write_text("\r\n".join(map(json.dumps, rows)), encoding="utf-8")
    data = OwnDocuments(path=str(file), **NUMBERS)
    data.load()
    found = {each.labels for split in data.splits.values() for each in split}
    assert found == {(2,), (0, 3)}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("no json", "line 1 is no JSON"),
        ("[]", "wanted text under article"),
        ('{"article": "A."}', "summary, or labels"),
        ('{"article": "A.", "labels": [true]}', "labels are numbers"),
        ('{"article": "A.", "labels": [7]}', r"labels \[7\] of an article with 1 sentences"),
        ('{"article": "A.", "labels": [0]}', "too few"),
    ],
)
def test_what_is_wrong_with_a_jsonl_is_said(tmp_path, line, said):
    (tmp_path / "mine.jsonl").write_text(line)
    with pytest.raises(DataError, match=said):
        OwnDocuments(path=str(tmp_path / "mine.jsonl"), **NUMBERS).load()


def test_a_folder_of_texts(tmp_path):
    for n in range(10):
        (tmp_path / f"{n}.txt").write_text(ARTICLE.format(n=n))
        (tmp_path / f"{n}.summary.txt").write_text("Markets fell.")
    data = OwnDocuments(path=str(tmp_path), **NUMBERS)
    data.load()
    assert len(data.splits["train"]) == 8
    (tmp_path / "3.summary.txt").unlink()
    with pytest.raises(DataError, match=r"3\.txt"):
        data.load()


def test_a_sentence_is_found_whatever_its_space():
    assert place_of("a  b\nc. d", "b c.", 0) == (3, 7) and place_of("a b", "b a", 0) is None


def test_toy_stories_are_judged_by_their_subject():
    (one, *_), (other, *_) = toy.stories(seed=3)["test"], toy.stories(seed=3)["test"]
    assert one == other and len(one.salient) == 3
    subjects = [sentence.split()[1] for sentence in one.sentences]
    (subject,) = {subjects[each] for each in one.salient}
    assert subject == max(set(subjects), key=subjects.count) and subjects.count(subject) >= 6


@pytest.mark.skipif(not REAL.is_dir(), reason=f"needs BBC news in {REAL}")
def test_real_bbc_news():
    data = BBCNews(path=str(REAL), train_articles=30, eval_articles=10, **NUMBERS)
    data.load()
    assert [len(data.splits[split]) for split in ("train", "validation", "test")] == [30, 10, 10]
    assert not data.counts["sentences_not_in_their_article"]
    for each in data.splits["train"]:
        assert all(each.article.text[start:end].strip() for start, end in each.article.spans)
