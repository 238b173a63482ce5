"""Articles to batches, and scores of sentences back to summaries, whatever set they are from (`sets.py`)."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Float
from rich.console import Console
from rich.progress import track

from core.data import DemoData, Looks, MapScores
from core.demo import Prediction
from core.held_out import SPLITS
from core.maps import AttentionMap
from core.metrics import Score
from core.public import DataError
from core.tables import text_of
from tasks.summarization import looking
from tasks.summarization.budget import Budget, select
from tasks.summarization.examples import Article, Batch, Example, Labelled, batched
from tasks.summarization.features import look
from tasks.summarization.model import Scored
from tasks.summarization.scores import Rows, agreement, at_label_count, summary_scores
from tasks.summarization.vocabulary import Vocabulary

LONG_INPUT = 200
"""Characters past which an example is left in a file instead of on a command line."""
ALARM_ARTICLES = 100


class Summary(Prediction):
    """A prediction that remembers the log-odds of all sentences, so that other budgets can be tried."""

    logits: Float[np.ndarray, " S"] = np.zeros(0)


class SummarizationData(DemoData):
    """Articles and the sentences that belong into their summaries, through one vocabulary and one budget.

    The budget is exactly one of `sentences`, `share` (of the article's sentences) and `words`.
    """

    score_name = "ROUGE-2"

    def __init__(
        self,
        *,
        tokens_per_batch: int,
        known_words: int,
        max_sentences: int,
        max_words: int,
        sentences: int | None = None,
        share: float | None = None,
        words: int | None = None,
        block_trigrams: bool = False,
        language: str = "en",
        seed: int = 0,
    ) -> None:
        super().__init__(tokens_per_batch=tokens_per_batch, seed=seed)
        if min(max_sentences, max_words) < 1 or known_words < 2:
            raise ValueError(
                f"max_sentences and max_words are at least 1, and known_words 2; got {max_sentences}, {max_words} and "
                f"{known_words}"
            )
        self.budget = Budget(sentences=sentences, share=share, words=words)
        self.known_words, self.block_trigrams, self.language = known_words, block_trigrams, language
        self.max_sentences, self.max_words = max_sentences, max_words
        self.rows = Rows()
        self._words: Vocabulary | None = None

    @abstractmethod
    def labelled(self) -> dict[str, list[Labelled]]:
        """The articles of train, validation and test, with the sentences that a summary should have."""

    @property
    def words(self) -> Vocabulary:
        """Learned by `load` from the training's articles, unless `restore` read it from a run before."""
        assert self._words is not None, "load() or restore() comes first"
        return self._words

    @property
    def vocabulary(self) -> int:
        return self.words.size

    def load(self) -> None:
        labelled = {split: self.usable(split, found) for split, found in self.labelled().items()}
        for split in SPLITS:
            if not labelled.get(split):
                raise DataError(f"the {split} split has no article with a sentence for a summary")
        if self._words is None:
            articles = (each.article for each in labelled["train"])
            documents = ([word for said in article.words for word in said] for article in articles)
            self._words = Vocabulary.learn(documents, size=self.known_words)
        console = Console(stderr=True)
        for split, found in labelled.items():
            hidden = len(found) < 1000 or not console.is_terminal
            bar = track(found, f"reading {split}", console=console, transient=True, disable=hidden)
            self.splits[split] = [self.example(each.article.text, *each) for each in bar]

    def usable(self, split: str, found: Sequence[Labelled]) -> list[Labelled]:
        """The articles that have a sentence and a label, cut where they are too long; the others are counted."""
        cut = [self.cut(each) for each in found]
        self.counts[f"{split}.cut_articles"] = sum(one is not other for one, other in zip(found, cut, strict=True))
        kept = [each for each in cut if each.labels and each.reference]
        self.counts[f"{split}.articles"] = len(kept)
        self.counts[f"{split}.articles_without_a_label"] = len(found) - len(kept)
        self.counts[f"{split}.sentences"] = sum(len(each.article.words) for each in kept)
        self.counts[f"{split}.labels"] = sum(len(each.labels) for each in kept)
        return kept

    def cut(self, each: Labelled) -> Labelled:
        if len(each.article.words) <= self.max_sentences:
            return each
        labels = tuple(label for label in each.labels if label < self.max_sentences)
        return Labelled(each.article.until(self.max_sentences), labels, each.reference)

    def example(self, input: str, article: Article, labels: tuple[int, ...] = (), reference: str = "") -> Example:
        """What a model sees of an article, in training as in prediction."""
        notices = []
        if len(article.words) > self.max_sentences:
            notices.append(f"only the first {self.max_sentences} of {len(article.words)} sentences were read")
            article = article.until(self.max_sentences)
        if not article.words:
            notices.append("nothing to summarize: there is no sentence in this text")
        seen = look(self.seen(article.words), self.words)
        return Example(input, article, seen, labels, reference, tuple(notices))

    def seen(self, sentences: Sequence[Sequence[str]]) -> list[Sequence[str]]:
        """The words of each sentence that a model reads: not more than `max_words`."""
        return [words[: self.max_words] for words in sentences]

    def read(self, inputs: Sequence[str]) -> list[Example]:
        """Texts, or paths of text files."""
        return [self.example(line, Article.read(text_of(line), language=self.language)) for line in inputs]

    def size(self, example: Example) -> int:
        """Words, padded to the longest sentence."""
        lengths = example.look.lengths
        return len(lengths) * int(lengths.max()) if len(lengths) else 0

    def collate(self, examples: Sequence[Example]) -> Batch:
        return batched(examples)

    def predictions(self, examples: Sequence[Example], generated: Sequence[Scored | None]) -> list[Prediction]:
        return [self.prediction(example, scored) for example, scored in zip(examples, generated, strict=True)]

    def prediction(self, example: Example, scored: Scored | None) -> Prediction:
        if scored is None:
            return Summary(example.input, "", None, example.notices)
        chosen = self.choice(example, scored.logits)
        signs = np.where(np.isin(np.arange(len(scored.logits)), chosen), 1.0, -1.0)
        mean = float(-np.logaddexp(0.0, -signs * scored.logits).mean())
        made = Summary(example.input, example.article.summary(chosen), mean, example.notices)
        made.logits = scored.logits
        return made

    def choice(self, example: Example, logits: Float[np.ndarray, " S"]) -> list[int]:
        words = example.article.words
        return select(logits, words, self.budget, block_trigrams=self.block_trigrams) if len(logits) else []

    def scores(self, examples: Sequence[Example], predictions: Sequence[Prediction]) -> dict[str, Score]:
        logits = [each.logits if isinstance(each, Summary) else np.zeros(0) for each in predictions]
        chosen = [self.choice(*pair) for pair in zip(examples, logits, strict=True)]
        return {
            **summary_scores(self.rows, examples, chosen, self.budget),
            **at_label_count(self.rows, examples, logits, block_trigrams=self.block_trigrams),
            **agreement(examples, chosen),
        }

    def forced(self, examples: Sequence[Example], generated: Sequence[Scored | None]) -> list[Example]:
        return [
            example._replace(labels=tuple(self.choice(example, scored.logits) if scored else ()))
            for example, scored in zip(examples, generated, strict=True)
        ]

    def maps(self, example: Example, weights: dict[str, Float[np.ndarray, "..."]]) -> list[AttentionMap]:
        """A map of the document over its sentences, and one of the summary's sentences over their words."""
        return looking.maps(example, weights, self.max_words)

    def keys_of(self, example: Example, word: str) -> list[int]:
        """The sentences that have a word, or several in a row; all of them go."""
        return looking.sentences_with(example.article, word)

    def without(self, example: Example, keys: Sequence[int]) -> Example:
        words = example.article.without(set(keys))
        return example._replace(look=look(self.seen(words), self.words))

    def sample(self, example: Example, folder: Path) -> list[str]:
        text = example.article.text
        if len(text) <= LONG_INPUT and "\n" not in text:
            return [text]
        path = folder / "sample.txt"
        path.write_text(text, encoding="utf-8")
        return [str(path)]

    def map_scores(self, looks: Looks, validation: Sequence[Example], test: Sequence[Example]) -> MapScores:
        return looking.scores(looks.maps, validation, test)

    def not_aligning(self, maps: Callable[[Sequence[Example]], Iterator[list[AttentionMap]]]) -> str | None:
        return looking.not_pointing(maps, self.splits["validation"][:ALARM_ARTICLES])

    def report(self) -> list[str]:
        lines = []
        for split in SPLITS:
            count = {name: self.counts[f"{split}.{name}"] for name in ("articles", "sentences", "labels")}
            left_out = self.counts[f"{split}.articles_without_a_label"]
            lines.append(
                f"{split}: {count['articles']:,} articles, {count['sentences']:,} sentences, "
                f"{count['labels'] / max(1, count['sentences']):.0%} labelled; {left_out:,} left out without a label; "
                f"{self.counts[f'{split}.cut_articles']:,} cut to {self.max_sentences} sentences"
            )
        trigrams = ", no three words twice" if self.block_trigrams else ""
        return [*lines, f"budget: {self.budget}{trigrams}; {self.vocabulary:,} words known by name"]

    def save(self, folder: Path) -> None:
        self.words.save(folder / "vocabulary.json")

    def restore(self, folder: Path) -> None:
        self._words = Vocabulary.load(folder / "vocabulary.json")

    def fingerprint(self) -> dict[str, str]:
        return {"vocabulary": self.words.digest}
