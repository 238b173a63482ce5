"""Agreement with torch's own attention, masks included. Where torch means "ignore" by True, the mask is flipped."""

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from core import masks
from core.attention import DotProductAttention, MultiHeadAttention, ScaledDotProductAttention
from core.record import record

B, H, Q, K, D = 3, 2, 5, 11, 14

MASKS: dict[str, Tensor | None] = {
    "none": None,
    "padding": masks.padding(torch.tensor([K, 4, 1]), K),
    "causal": masks.causal(Q, K),
    "arbitrary": torch.rand(B, Q, K, generator=torch.Generator().manual_seed(2)) > 0.4,
}
each_mask = pytest.mark.parametrize("mask", MASKS.values(), ids=MASKS)


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


def theirs_with_our_weights(ours: MultiHeadAttention, **sizes: int) -> nn.MultiheadAttention:
    theirs = nn.MultiheadAttention(D, H, bias=False, batch_first=True, **sizes)
    projections = [ours.query_projection.weight, ours.key_projection.weight, ours.value_projection.weight]
    with torch.no_grad():
        if theirs.in_proj_weight is not None:
            theirs.in_proj_weight.copy_(torch.cat(projections))
        else:
            for name, weight in zip("qkv", projections, strict=True):
                theirs.get_parameter(f"{name}_proj_weight").copy_(weight)
        theirs.out_proj.weight.copy_(ours.output_projection.weight)
    return theirs


def ignored(mask: Tensor | None) -> Tensor | None:
    """The mask as torch's module wants it: True = ignore, a row for each head of each sample."""
    return None if mask is None else ~mask.expand(B, Q, K).repeat_interleave(H, dim=0)


@each_mask
@pytest.mark.parametrize("attention, scale", [(ScaledDotProductAttention(), None), (DotProductAttention(), 1.0)])
def test_scaled_dot_product_attention(attention, scale, mask):
    query, keys, values = (torch.randn(B, length, D, requires_grad=True) for length in (Q, K, K))
    expected = F.scaled_dot_product_attention(query, keys, values, mask, scale=scale)
    output = attention(query, keys, values, mask)
    close(output, expected)
    close(attention.weights(query, keys, mask) @ values, expected)
    theirs = torch.autograd.grad(expected.square().sum(), (query, keys, values))
    ours = torch.autograd.grad(output.square().sum(), (query, keys, values))
    for our, their in zip(ours, theirs, strict=True):
        torch.testing.assert_close(our, their, rtol=1e-5, atol=1e-5)


@each_mask
@pytest.mark.parametrize("train", [True, False], ids=["train", "eval"])
def test_multi_head_attention(mask, train):
    ours = MultiHeadAttention(ScaledDotProductAttention, query_dim=D, heads=H).train(train)
    theirs = theirs_with_our_weights(ours).train(train)
    query, inputs = torch.randn(B, Q, D), torch.randn(B, K, D)
    with torch.set_grad_enabled(train):
        expected, weights = theirs(query, inputs, inputs, attn_mask=ignored(mask), average_attn_weights=False)
        close(ours(query, inputs, inputs, mask), expected)
        close(ours.weights(query, inputs, mask), weights)
        with record(ours) as our_maps, record(theirs) as their_maps:
            ours(query, inputs, inputs, mask)
            theirs(query, inputs, inputs, attn_mask=ignored(mask))
    close(our_maps[""], their_maps[""])


def test_a_padding_mask():
    ours = MultiHeadAttention(ScaledDotProductAttention, query_dim=D, heads=H)
    inputs, real = torch.randn(B, K, D), masks.padding(torch.tensor([K, 4, 1]), K)
    expected, _ = theirs_with_our_weights(ours)(inputs, inputs, inputs, key_padding_mask=~real.squeeze(1))
    close(ours(inputs, inputs, inputs, real), expected)


def test_keys_and_values_of_other_widths():
    ours = MultiHeadAttention(ScaledDotProductAttention, query_dim=D, key_dim=7, value_dim=13, heads=H)
    theirs = theirs_with_our_weights(ours, kdim=7, vdim=13)
    query, keys, values = torch.randn(B, Q, D), torch.randn(B, K, 7), torch.randn(B, K, 13)
    expected, weights = theirs(query, keys, values, average_attn_weights=False)
    close(ours(query, keys, values), expected)
    close(ours.weights(query, keys), weights)
