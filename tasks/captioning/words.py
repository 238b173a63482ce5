"""Captions in words: small letters, no punctuation, as captions are scored."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import cast

from core.text import Tokenizer, clean, words


def caption_words(text: str) -> list[str]:
    """The words of a caption in small letters; what has no letter or digit in it is left out.

    "A dog." and "a dog" have the same words, "!!!" has none.
    """
    line = clean(text)
    found = [line[start:end].lower() for start, end in words(line)]
    return [word for word in found if any(char.isalnum() for char in word)]


class Words(Tokenizer):
    """A vocabulary of whole words, of captions."""

    @classmethod
    def learn(cls, captions: Iterable[Sequence[str]], *, min_count: int) -> "Words":
        """Of captions in words: those that occur `min_count` times; the others share the unknown one."""
        captions = [list(caption) for caption in captions]
        counts = Counter(word for caption in captions for word in caption)
        known = {word for word, count in counts.items() if count >= min_count}
        lines = [" ".join(word for word in caption if word in known) for caption in captions]
        return cast(Words, cls.train(lines, size=len(known) + cls.END + 2, kind="word"))

    def encode(self, text: str) -> list[int]:
        return super().encode(" ".join(caption_words(text)))
