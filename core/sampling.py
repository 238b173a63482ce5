"""Subword regularisation: other splits of the same word, drawn from a generator that the caller seeds.

Sentencepiece draws them too, but mixes something of its own process into every seed, so no run could be repeated.
"""

import math
from collections.abc import Mapping
from random import Random

LONGEST = 32  # characters in a piece, with the sign for the space before it


def drop_merges(word: str, scores: Mapping[str, float], dropout: float, random: Random) -> list[str]:
    """Byte-pair merging where each step leaves each merge out with probability `dropout` (Provilkov et al. 2020).

    Dropout 0 is the plain split: the pair whose union scores best is merged first, the leftmost of equals.
    """
    parts = list(word)
    while True:
        best, place = -math.inf, -1
        for left in range(len(parts) - 1):
            score = scores.get(parts[left] + parts[left + 1])
            # Only what would win is drawn for: the others' draws could change nothing.
            if score is not None and score > best and random.random() >= dropout:
                best, place = score, left
        if place < 0:
            return parts
        parts[place : place + 2] = [parts[place] + parts[place + 1]]


def draw_split(word: str, scores: Mapping[str, float], sharpness: float, random: Random) -> list[str]:
    """A split drawn with probability proportional to exp(sharpness * sum of scores), over all there are (Kudo 2018).

    A character that no piece has stands alone in every split, so its score, taken as 0, changes no probability.
    """
    reach, ways = [0.0], []  # reach[end]: log of the summed weights of all splits of word[:end]
    for end in range(1, len(word) + 1):
        starts = [at for at in range(max(0, end - LONGEST), end) if word[at:end] in scores or at == end - 1]
        logs = [reach[at] + sharpness * scores.get(word[at:end], 0.0) for at in starts]
        highest = max(logs)
        weights = [math.exp(log - highest) for log in logs]
        reach.append(highest + math.log(sum(weights)))
        ways.append((starts, weights))
    parts, end = [], len(word)
    while end:
        start = random.choices(*ways[end - 1])[0]
        parts.append(word[start:end])
        end = start
    return parts[::-1]
