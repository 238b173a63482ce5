"""Long passages in windows that overlap."""

from collections.abc import Sequence

from core.sentences import Span


def check_windows(window: int, stride: int) -> None:
    """Raises ValueError unless every word of a passage is in some window."""
    if window < 1 or not 1 <= stride <= window:
        raise ValueError(
            f"windows of {window} words, one every {stride}: a stride lies between 1 and the window, or words between "
            "two windows would be read by none. Give data.stride no more than data.window"
        )


def windows(words: int, *, window: int, stride: int) -> list[Span]:
    """The windows [start, end) over so many words: one where they fit, and else one every `stride` words to the end."""
    check_windows(window, stride)
    if words <= window:
        return [(0, words)]
    starts = range(0, words - window + stride, stride)
    return [(min(start, words - window), min(start, words - window) + window) for start in starts]


def inside(answer: Span | None, window: Span) -> Span | None:
    """First and last word of an answer, counted from the window's start; None unless the window holds it whole."""
    if answer is None or not window[0] <= answer[0] <= answer[1] < window[1]:
        return None
    return answer[0] - window[0], answer[1] - window[0]


def holding(answer: Span | None, found: Sequence[Span]) -> int:
    """The number of the window that holds an answer with the most room around it; 0 where none does."""
    if answer is None:
        return 0
    rooms = [min(answer[0] - start, end - 1 - answer[1]) for start, end in found]
    return max(range(len(found)), key=rooms.__getitem__) if max(rooms) >= 0 else 0
