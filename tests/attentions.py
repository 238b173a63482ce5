"""The table of attention mechanisms that the contract's tests go through, and what these tests share."""

from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from core import masks
from core.attention import (
    AdditiveAttention,
    Attention,
    ContentBasedAttention,
    CosineAttention,
    DotProductAttention,
    GeneralAttention,
    LocalAttention,
    LocationAttention,
    MeanAttention,
    MultiHeadAttention,
    PositionBasedAttention,
    PredictiveLocalAttention,
    ScaledDotProductAttention,
    UnconditionalAttention,
    WithPosition,
)
from core.attention.dot_form import DotFormAttention

# Sizes differ, and are prime but for the width, which the two heads of a multi-head attention divide.
B, H, Q, K, D, E = 3, 2, 5, 11, 14, 13
FIRST = 4

SIZES = {"query_dim": D, "key_dim": D}
TABLE: dict[str, Callable[..., Attention]] = {
    "dot": partial(DotProductAttention, **SIZES),
    "scaled_dot": partial(ScaledDotProductAttention, **SIZES),
    "cosine": partial(CosineAttention, **SIZES),
    "general": partial(GeneralAttention, **SIZES),
    "additive": partial(AdditiveAttention, **SIZES, hidden=7),
    "content": partial(ContentBasedAttention, **SIZES),
    "position": partial(PositionBasedAttention, **SIZES, max_distance=3),
    "unconditional": partial(UnconditionalAttention, **SIZES),
    "mean": partial(MeanAttention, **SIZES),
    "with_position": partial(WithPosition, AdditiveAttention, **SIZES, max_distance=3),
    "with_position of cosine": partial(WithPosition, CosineAttention, **SIZES, max_distance=3),
    "local": partial(LocalAttention, ScaledDotProductAttention, **SIZES, before=2, after=1),
    "local of additive, causal": partial(LocalAttention, AdditiveAttention, **SIZES, before=3, after=0),
    "local of with_position": partial(
        LocalAttention, partial(WithPosition, GeneralAttention), **SIZES, before=1, after=1
    ),
    "local_predictive": partial(PredictiveLocalAttention, AdditiveAttention, **SIZES, window=3),
    "local_predictive of unconditional": partial(PredictiveLocalAttention, UnconditionalAttention, **SIZES, window=2),
    "location": partial(LocationAttention, **SIZES, hidden=7, filters=4, reach=2),
    "local of location": partial(
        LocalAttention, partial(LocationAttention, hidden=7, filters=4, reach=2), **SIZES, before=2, after=1
    ),
    "multi_head": partial(MultiHeadAttention, ScaledDotProductAttention, **SIZES, heads=H),
    "multi_head of additive": partial(MultiHeadAttention, AdditiveAttention, **SIZES, heads=H),
    "multi_head of location": partial(MultiHeadAttention, LocationAttention, **SIZES, heads=H),
    "multi_head of local": partial(
        MultiHeadAttention, partial(LocalAttention, CosineAttention, before=2, after=2), **SIZES, heads=H
    ),
}
NOT_MECHANISMS = {
    "Attention",
    "AttentionFactory",
    "AttentionPooling",
    "Prepared",
    "ScoreAttention",
    "bare",
    "multi_head",
}

BARE = [name for name in TABLE if not name.startswith("multi_head")]
DOT_FORM = [name for name in BARE if issubclass(TABLE[name].func, DotFormAttention)]
WITHOUT_POSITION = [*DOT_FORM, "additive", "unconditional", "multi_head", "multi_head of additive"]

MASKS: dict[str, Tensor | None] = {
    "none": None,
    "padding": masks.padding(torch.tensor([K, 4, 1]), K),
    "causal": masks.causal(Q, K),
    "local": masks.local(Q, K, before=2, after=1, first=FIRST),
    "arbitrary": torch.rand(B, Q, K, generator=torch.Generator().manual_seed(2)) > 0.4,
    "nothing to see": torch.rand(B, Q, K, generator=torch.Generator().manual_seed(3)) > 0.4,
}
MASKS["nothing to see"][1] = False
MASKS["nothing to see"][0, 2] = False

# A few steps of each type, times the size of the values, which are below 4 here.
TOLERANCE = {torch.float32: 1e-5, torch.bfloat16: 4 * 4 * 2**-8, torch.float16: 4 * 4 * 2**-11}

each_mechanism = pytest.mark.parametrize("name", TABLE)
each_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)


def build(name: str, dtype: torch.dtype = torch.float32, **sizes: int) -> Attention:
    """The mechanism of this name, its parameters moved away from where they start (a bias starts at 0)."""
    attention = TABLE[name](**sizes)
    with torch.no_grad():
        for parameter in attention.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return attention.to(dtype)


def tensors(*lengths: int, leading: tuple[int, ...] = (B,), width: int = D, **options) -> list[Tensor]:
    return [torch.randn(*leading, length, width, **options) for length in lengths]


def mixed(attention: Attention, weights: Tensor, values: Tensor) -> Tensor:
    """What the weights that were shown say the output is."""
    if not isinstance(attention, MultiHeadAttention):
        return weights.to(values.dtype) @ values
    values = attention.split(attention.value_projection(values))
    heads = weights.to(values.dtype) @ values
    return attention.output_projection(heads.transpose(-3, -2).flatten(-2))


def gradients(loss: Tensor, *inputs: Tensor) -> tuple[Tensor, ...]:
    """The gradients, with 0 for an input that was not read."""
    return torch.autograd.grad(loss, inputs, materialize_grads=True)


def close(found: Tensor, expected: Tensor, tolerance: float = 1e-6) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=tolerance)


def fill(module: nn.Module, **values: object) -> None:
    """Set parameters by dotted name (`__` for the dot)."""
    with torch.no_grad():
        for name, value in values.items():
            parameter = module.get_parameter(name.replace("__", "."))
            parameter.copy_(torch.as_tensor(value, dtype=torch.float32).expand_as(parameter))


def identity(attention: MultiHeadAttention) -> MultiHeadAttention:
    """The same with projections that change nothing."""
    for projection in (part for part in attention.children() if isinstance(part, nn.Linear)):
        nn.init.eye_(projection.weight)
    return attention


def close_to(found: Tensor, numbers: object, tolerance: float = 1e-6) -> None:
    """`close`, for numbers that were worked out by hand."""
    close(found, torch.as_tensor(numbers, dtype=found.dtype), tolerance)
