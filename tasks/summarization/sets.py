"""Where articles come from: BBC news, CNN/DailyMail, a person's own, and the built-in set."""

import random
import re
from collections.abc import Mapping, Sequence
from typing import Any

from core.held_out import SPLITS
from core.public import DataError, load_public
from core.sentences import Span, sentences
from tasks.summarization import oracle, own, toy
from tasks.summarization.data import SummarizationData
from tasks.summarization.examples import Article, Labelled
from tasks.summarization.sentences import terms

BBC_LABELLED, BBC_HUB = ("article", "sentences", "labels"), ("Articles", "Summaries")


class PublicArticles(SummarizationData):
    """A set that is read through `datasets`, or from a person's files."""

    def __init__(
        self,
        *,
        path: str,
        held_out: int = 250,
        train_articles: int | None = None,
        eval_articles: int | None = None,
        **shared: Any,
    ) -> None:
        super().__init__(**shared)
        self.path, self.held_out = path, held_out
        self.train_articles, self.eval_articles = train_articles, eval_articles

    def slice(self, split: str, count: int) -> range:
        """The first articles of a split, as many as were asked for."""
        limit = self.train_articles if split == "train" else self.eval_articles
        return range(count if limit is None else min(count, limit))

    def by_oracle(self, rows: Sequence[tuple[str, str]]) -> list[Labelled]:
        """Articles with an abstract each, and greedily chosen labels."""
        articles = [Article.read(text, language=self.language).until(self.max_sentences) for text, _ in rows]
        found = oracle.labels(
            [(article.words, terms(abstract)) for article, (_, abstract) in zip(articles, rows, strict=True)]
        )
        return [
            Labelled(article, tuple(labels), abstract.strip())
            for article, labels, (_, abstract) in zip(articles, found, rows, strict=True)
        ]


class BBCNews(PublicArticles):
    """Articles of the BBC with extractive summaries whose origin nobody documents: silver labels.

    A folder with the columns article, sentences and labels, and three splits; or the hub's copy, Articles and Summaries
    in one split, where a sentence is labelled if the summary has it.
    """

    def labelled(self) -> dict[str, list[Labelled]]:
        loaded: Mapping[Any, Any] = load_public(self.path, columns=(), splits=("train",))
        columns = loaded["train"].column_names
        if set(BBC_LABELLED) <= set(columns):
            loaded = load_public(self.path, columns=BBC_LABELLED, splits=SPLITS)
            return {split: [self.with_sentences(row) for row in self.some(loaded, split)] for split in SPLITS}
        if set(BBC_HUB) <= set(columns):
            pairs = zip(loaded["train"]["Articles"], loaded["train"]["Summaries"], strict=True)
            rows = [self.with_summary(text or "", summary or "") for text, summary in pairs]
            return with_held_out(rows, self.held_out, seed=self.seed)
        raise DataError(
            f"data.path={self.path}: found the columns {columns}, wanted {list(BBC_LABELLED)} or {list(BBC_HUB)}."
        )

    def some(self, loaded: Mapping[Any, Any], split: str) -> Any:
        return loaded[split].select(self.slice(split, len(loaded[split])))

    def with_sentences(self, row: Mapping[str, Any]) -> Labelled:
        spans, labels = [], []
        at = 0
        for said, label in zip(row["sentences"], row["labels"], strict=True):
            span = place_of(row["article"], said, at)
            self.counts["sentences_not_in_their_article"] += span is None
            if span and terms(said):
                labels += [len(spans)] * bool(label)
                spans.append(span)
                at = span[1]
        article = Article.of(row["article"], spans)
        return Labelled(article, tuple(labels), article.lines(labels))

    def with_summary(self, text: str, summary: str) -> Labelled:
        article = Article.read(text, language=self.language)
        whole = "".join(summary.split())
        labels = [n for n in range(len(article.spans)) if "".join(article.sentence(n).split()) in whole]
        return Labelled(article, tuple(labels), article.lines(labels))


def place_of(text: str, sentence: str, start: int) -> Span | None:
    """Where a sentence stands in a text, whatever the space between its words is; None where it does not."""
    found = re.compile(r"\s+".join(map(re.escape, sentence.split()))).search(text, start)
    return found.span() if found else None


class CNNDailyMail(PublicArticles):
    """Columns `article` and `highlights`; labels are the greedy choice by ROUGE."""

    def labelled(self) -> dict[str, list[Labelled]]:
        loaded = load_public(self.path, columns=("article", "highlights"), splits=SPLITS, name=self.name)
        found = {}
        for split in SPLITS:
            rows = loaded[split].select(self.slice(split, len(loaded[split])))
            found[split] = self.by_oracle(list(zip(rows["article"], rows["highlights"], strict=True)))
        return found

    @property
    def name(self) -> str | None:
        """The configuration of the hub's set; a folder has none."""
        return None if self.path.startswith((".", "/", "~")) else "3.0.0"


class OwnDocuments(PublicArticles):
    """A jsonl or a folder of texts; a tenth each, and at most `held_out`, is set apart for validation and test."""

    def labelled(self) -> dict[str, list[Labelled]]:
        rows = own.read_documents(self.path)
        given = [self.given(*row) for row in rows if row[2] is not None]
        return with_held_out(
            given + self.by_oracle([row[:2] for row in rows if row[2] is None]), self.held_out, seed=self.seed
        )

    def given(self, text: str, summary: str, labels: tuple[int, ...] | None) -> Labelled:
        article = Article.read(text, language=self.language)
        chosen = tuple(sorted(set(labels or ())))
        if not set(chosen) <= set(range(len(article.spans))):
            raise DataError(
                f"data.path={self.path}: labels {list(chosen)} of an article with {len(article.spans)} sentences, "
                f"which begins {text[:40]!r}; they are numbers from 0"
            )
        return Labelled(article, chosen, summary.strip() or article.lines(chosen))


def with_held_out(found: list[Labelled], held_out: int, *, seed: int) -> dict[str, list[Labelled]]:
    """Articles drawn for validation and test, a tenth each at most; copies of an article are in one split."""
    texts = list(dict.fromkeys(each.article.text for each in found))
    size = min(held_out, len(texts) // 10)
    if size < 1:
        raise DataError(f"there are {len(texts)} different articles, too few to set some apart: give at least 10")
    random.Random(seed).shuffle(texts)
    split_of = dict.fromkeys(texts, "train")
    split_of |= dict.fromkeys(texts[:size], "validation") | dict.fromkeys(texts[size : 2 * size], "test")
    return {split: [each for each in found if split_of[each.article.text] == split] for split in SPLITS}


class ToyArticles(SummarizationData):
    """The built-in stories, in which the sentences that matter are known."""

    def labelled(self) -> dict[str, list[Labelled]]:
        return {split: [self.of_story(each) for each in found] for split, found in toy.stories(seed=self.seed).items()}

    def of_story(self, story: toy.Story) -> Labelled:
        text = " ".join(story.sentences)
        article = Article.of(text, sentences(text))
        return Labelled(article, story.salient, article.lines(story.salient))
