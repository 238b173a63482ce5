"""A person's inputs: one or several, each a text or a text for each part that a task asks for."""

from collections.abc import Sequence

Input = str | tuple[str, ...]
"""A text, or a tuple of one for each part that the task asks for."""
Inputs = Input | Sequence[Input]


def as_list(inputs: Inputs, wanted: Sequence[str]) -> list[Input]:
    """One input, or each of several: where several parts are wanted, a tuple of texts is one."""
    parts = len(wanted) > 1 and isinstance(inputs, tuple) and all(isinstance(part, str) for part in inputs)
    return [inputs] if isinstance(inputs, str) or parts else list(inputs)  # pyright: ignore[reportReturnType]


def of_parts(given: Input, wanted: Sequence[str]) -> Input:
    """The input, once it is sure to have a text for each part that is wanted.

    Raises:
        ValueError: naming what came and what was expected.
    """
    parts = (given,) if isinstance(given, str) else tuple(given)
    if len(parts) != len(wanted) or not all(isinstance(part, str) for part in parts):
        raise ValueError(f"an input has the parts {', '.join(wanted)}, each a text; received {given!r}")
    return parts if len(wanted) > 1 else parts[0]
