"""Numbers beside the picture: do the weights point where they should, and how sharply?"""

import math
from collections import defaultdict
from collections.abc import Collection, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

Link = tuple[int, int]
"""A key word and the query word that it belongs to, in this order: source, then target."""


def merge(
    weights: Float[np.ndarray, "H Q K"], query_words: Sequence[int], key_words: Sequence[int]
) -> Float[np.ndarray, "H q k"]:
    """Weights between words out of weights between pieces of words.

    Summed over the pieces of a key word, averaged over the pieces of a query word. Pieces of word -1 (marks such as
    the end of a sentence) are dropped, so a row may sum to less than 1. A word without pieces gets zeros.
    """
    queries = _membership(query_words, weights.shape[-2], "query")
    keys = _membership(key_words, weights.shape[-1], "key")
    queries = queries / np.maximum(queries.sum(axis=1, keepdims=True), 1)
    return (queries @ weights @ keys.T).astype(weights.dtype)


def link_counts(weights: Float[np.ndarray, "H q k"], links: Collection[Link]) -> tuple[Int[np.ndarray, " H"], int]:
    """Hits of each head, and the number of query words that have a link; sum both over a corpus, then divide.

    A hit: the key word with the most weight is a partner of the query word. Of equal keys the first counts, and a row
    of zeros is no hit. Raises ValueError for a link outside the weights.
    """
    partners = _partners(links, *weights.shape[-2:])
    hits = np.zeros(len(weights), dtype=np.int64)
    for query, keys in partners.items():
        row = weights[:, query]
        hits += np.isin(row.argmax(axis=-1), list(keys)) & row.any(axis=-1)
    return hits, len(partners)


def link_accuracy(weights: Float[np.ndarray, "H q k"], links: Collection[Link]) -> Float[np.ndarray, " H"]:
    """Share of linked query words whose most attended key word is a partner; NaN where nothing is linked."""
    hits, total = link_counts(weights, links)
    return hits / total if total else np.full(len(hits), np.nan)


def error_counts(
    weights: Float[np.ndarray, "H q k"], sure: Collection[Link], possible: Collection[Link]
) -> tuple[Float[np.ndarray, " H"], Float[np.ndarray, " H"]]:
    """Numerator and denominator of each head's alignment error rate (Och and Ney 2003); sum both over a corpus, then
    divide.

    AER = 1 - (|A and S| + |A and P|) / (|A| + |S|): A are the links found, S the sure ones, P the sure and the
    possible ones. A query word is linked to the key word with the most weight, unless what its row lacks to 1, which
    went to no word, is as much. Raises ValueError for a link outside the weights.
    """
    certain, allowed = _partners(sure, *weights.shape[-2:]), _partners([*sure, *possible], *weights.shape[-2:])
    best, nowhere = weights.argmax(axis=-1), 1.0 - weights.sum(axis=-1)
    linked = weights.max(axis=-1, initial=0.0) > np.maximum(nowhere, 0.0)
    good = np.zeros(len(weights))
    for query in range(weights.shape[-2]):
        for links in (certain, allowed):
            good += linked[:, query] & np.isin(best[:, query], list(links.get(query, ())))
    links = linked.sum(axis=-1) + float(len(set(sure)))
    return links - good, links


def inside(weights: Float[np.ndarray, "H q k"], queries: Link, keys: Link) -> Float[np.ndarray, " H"]:
    """The share of each head's weight that falls on the keys [start, end), as a mean over the queries [start, end)."""
    return weights[:, slice(*queries), slice(*keys)].sum(axis=-1).mean(axis=-1)


def uniform_accuracy(links: Collection[Link], queries: int, keys: int) -> float:
    """The link accuracy to expect of keys drawn at random: the baseline to beat. NaN where nothing is linked."""
    partners = _partners(links, queries, keys)
    return float(np.mean([len(each) / keys for each in partners.values()])) if partners else math.nan


def diagonal(queries: int, keys: int) -> Float[np.ndarray, "1 Q K"]:
    """The baseline of a model that reads at an even pace: query q looks at key floor((q + 0.5) K / Q)."""
    return np.eye(keys, dtype=np.float32)[None, [(2 * query + 1) * keys // (2 * queries) for query in range(queries)]]


def at_offset(weights: Float[np.ndarray, "*B Q K"], offset: int) -> Float[np.ndarray, "*B Q K"]:
    """Row q is what the model looked at `offset` steps after the one that predicts token q.

    At +1 it has just read token q, and some models look at a word's partner only then. The last rows have no later
    step: they are zeros, so that links keep their places and `link_counts` takes no hit from them.
    """
    if offset < 0:
        raise ValueError(f"An offset counts steps forward, so it is 0 or more; received {offset}.")
    return np.concatenate([weights[..., offset:, :], np.zeros_like(weights[..., :offset, :])], axis=-2)


def shares(weights: Float[np.ndarray, "*B Q K"]) -> Float[np.ndarray, "*B Q K"]:
    """Rows divided by their sums, in double precision; rows of zeros stay as they are."""
    sums = weights.sum(axis=-1, keepdims=True, dtype=np.float64)
    return weights / np.where(sums == 0, 1, sums)


def entropy(weights: Float[np.ndarray, "H Q K"]) -> Float[np.ndarray, " H"]:
    """How spread each head looks, as a mean over rows: 0 for one key alone, 1 for all K keys alike.

    All K keys count as possible ones, so cut padding before. Rows are divided by their sums; rows of zeros are left
    out, and a head with nothing else is NaN.
    """
    parts = shares(weights)
    bits = (parts * np.log2(1 / np.where(parts > 0, parts, 1))).sum(axis=-1)
    most = max(math.log2(weights.shape[-1]), 1.0)  # two keys hold one bit; a single key holds none, whatever it is over
    return _mean_of_attending(weights, bits / most)


def share_on(weights: Float[np.ndarray, "H Q K"], marked: Sequence[bool]) -> Float[np.ndarray, " H"]:
    """The share of each head's weight that falls on the marked keys, as a mean over rows.

    Rows are divided by their sums; rows of zeros are left out, and a head with nothing else is NaN. The share to
    expect of uniform weights is that of marked keys among all. Raises ValueError where keys and marks differ in number.
    """
    return _mean_of_attending(weights, shares(weights) @ _marks(marked, weights.shape[-1]).astype(np.float64))


def special_share(weights: Float[np.ndarray, "H Q K"], special: Sequence[bool]) -> Float[np.ndarray, " H"]:
    """`share_on` for the keys that are no text of the user's, such as an end mark: where a head rests."""
    return share_on(weights, special)


def coverage(weights: Float[np.ndarray, "H Q K"], special: Sequence[bool]) -> Float[np.ndarray, " H"]:
    """How much of the source each head has looked at: the mean over keys that are not special of min(1, c).

    c is a key's coverage (Tu et al. 2016, "Modeling coverage for neural machine translation"), the sum of the weights
    that all queries give it; the bound at 1, as much as one query has, is that of Wu et al. 2016 ("Google's neural
    machine translation system"). Q queries cannot cover more than Q keys, so the most is min(1, Q / keys). NaN where
    every key is special. Raises ValueError where keys and marks differ in number.
    """
    keys = ~_marks(special, weights.shape[-1])
    covered = np.minimum(weights.sum(axis=-2, dtype=np.float64), 1)[:, keys].sum(axis=-1)
    return covered / keys.sum() if keys.any() else np.full(len(weights), np.nan)


def check_span(span: Link, keys: int) -> None:
    """Raises ValueError for keys [start, end) that are none, or are outside."""
    if not 0 <= span[0] < span[1] <= keys:
        raise ValueError(
            f"A span [start, end) lies within the {keys} keys and holds at least one; received {tuple(span)}. "
            "Cut it where the keys were cut, and leave out what is then empty."
        )


def _mean_of_attending(
    weights: Float[np.ndarray, "H Q K"], scores: Float[np.ndarray, "H Q"]
) -> Float[np.ndarray, " H"]:
    """The mean over rows that are not zeros; NaN where there are none."""
    attending = weights.any(axis=-1)
    rows = attending.sum(axis=-1)
    return np.where(rows > 0, (scores * attending).sum(axis=-1) / np.maximum(rows, 1), np.nan)


def _marks(marks: Sequence[bool], keys: int) -> Bool[np.ndarray, " K"]:
    array = np.asarray(marks, dtype=bool)
    if array.shape != (keys,):
        raise ValueError(f"Each of the {keys} keys is marked or not; received {len(array)} marks. Give one for each.")
    return array


def rank_correlation(one: Float[np.ndarray, " N"], other: Float[np.ndarray, " N"]) -> float:
    """Spearman's rank correlation; equal values share the mean of their ranks. NaN where either side is constant."""
    ranks = [_ranks(values) for values in (one, other)]
    centred = [each - each.mean() for each in ranks]
    spread = math.sqrt((centred[0] ** 2).sum() * (centred[1] ** 2).sum())
    return float((centred[0] * centred[1]).sum() / spread) if spread else math.nan


def _ranks(values: Float[np.ndarray, " N"]) -> Float[np.ndarray, " N"]:
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[group]


def _membership(words: Sequence[int], pieces: int, axis: str) -> Float[np.ndarray, "words pieces"]:
    """1 where a piece belongs to a word."""
    numbers = np.asarray(words, dtype=np.int64)
    if numbers.shape != (pieces,) or (numbers < -1).any():
        raise ValueError(
            f"Each of the {pieces} {axis} pieces takes the number of its word, or -1 for none; "
            f"received {len(numbers)} numbers: {numbers.tolist()}."
        )
    return (numbers == np.arange(numbers.max(initial=-1) + 1)[:, None]).astype(np.float64)


def _partners(links: Collection[Link], queries: int, keys: int) -> dict[int, set[int]]:
    """The key words linked to each query word that has a link."""
    partners: dict[int, set[int]] = defaultdict(set)
    for key, query in links:
        if not (0 <= key < keys and 0 <= query < queries):
            raise ValueError(
                f"The link (key {key}, query {query}) is outside {keys} key words and {queries} query words. "
                "Links are (key word, query word), counted from 0."
            )
        partners[query].add(key)
    return dict(partners)
