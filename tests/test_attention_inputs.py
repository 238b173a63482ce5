"""Inputs of every shape and kind, wrong ones too: what each row of the table makes of them."""

import copy
from functools import partial

import pytest
import torch
from attentions import (
    BARE,
    DOT_FORM,
    FIRST,
    MASKS,
    SIZES,
    TABLE,
    B,
    D,
    E,
    H,
    K,
    Q,
    build,
    close,
    each_mechanism,
    gradients,
    tensors,
)

from core.attention import (
    Attention,
    CosineAttention,
    DotProductAttention,
    LocalAttention,
    MultiHeadAttention,
    PositionBasedAttention,
    PredictiveLocalAttention,
    ScaledDotProductAttention,
    WithPosition,
)


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


@each_mechanism
def test_leading_axes_are_free(name):
    attention = build(name)
    for leading, mask in [((), MASKS["local"]), ((B, 7), MASKS["local"]), ((7, B), MASKS["padding"])]:
        inputs = tensors(Q, K, K, leading=leading)
        flat = [each.reshape(-1, *each.shape[-2:]) for each in inputs]
        flat_mask = mask if mask.dim() == 2 else mask.repeat(7, 1, 1)
        output = attention(*inputs, mask, first=FIRST)
        assert output.shape == (*leading, Q, D)
        close(output.reshape(-1, Q, D), attention(*flat, flat_mask, first=FIRST))


@each_mechanism
def test_masks_broadcast(name):
    attention, (query, keys, values) = build(name), tensors(Q, K, K)
    for shape in [(K,), (1,), (Q, K), (Q, 1), (1, K), (1, 1, K), (B, 1, K), (B, 1, 1), (B, Q, 1), (B, Q, K)]:
        mask = torch.rand(shape) > 0.4
        whole = mask.expand(B, Q, K).clone()
        close(attention(query, keys, values, mask), attention(query, keys, values, whole))
        assert torch.equal(attention.weights(query, keys, mask), attention.weights(query, keys, whole))


@each_mechanism
def test_masks_that_are_not_bool_or_do_not_fit_are_refused(name):
    attention, (query, keys, values) = build(name), tensors(Q, K, K)
    for call in (attention, lambda query, keys, _, mask: attention.weights(query, keys, mask)):
        for dtype in (torch.int64, torch.uint8, torch.float32):
            with pytest.raises(TypeError, match=f"bool.*got {dtype}"):
                call(query, keys, values, torch.ones(B, 1, K, dtype=dtype))
        for shape in [(B, K), (K, 1), (B, 1, Q), (H, Q, K), (1, B, Q, K)]:
            with pytest.raises(ValueError, match=r"must broadcast to .*3, 5, 11.* got shape"):
                call(query, keys, values, torch.ones(shape, dtype=torch.bool))


@each_mechanism
def test_lengths_of_none_and_one(name):
    attention = build(name)
    for queries, keys in [(0, K), (Q, 0), (0, 0), (Q, 1), (1, 1)]:
        query, key, value = inputs = tensors(queries, keys, keys, requires_grad=True)
        for mask in (None, torch.ones(B, 1, keys, dtype=torch.bool), torch.ones(queries, keys, dtype=torch.bool)):
            weights, output = attention.weights(query, key, mask), attention(query, key, value, mask)
            assert weights.shape[-2:] == (queries, keys) and output.shape == (B, queries, D)
            assert keys or output.eq(0).all()
            assert all(gradient.isfinite().all() for gradient in gradients(output.sum(), *inputs))


@pytest.mark.parametrize("name", BARE)
def test_values_may_have_another_width(name):
    attention, (query, keys) = build(name), tensors(Q, K)
    (values,) = tensors(K, width=E)
    output = attention(query, keys, values, MASKS["arbitrary"])
    close(output, attention.weights(query, keys, MASKS["arbitrary"]) @ values, 1e-5)


@each_mechanism
def test_what_is_masked_has_no_influence(name):
    attention, (query, keys, values) = build(name), tensors(Q, K, K)
    mask = MASKS["padding"]
    hidden = ~mask.transpose(-2, -1)
    output = attention(query, keys.masked_fill(hidden, 1e4), values.masked_fill(hidden, -1e4), mask)
    assert torch.equal(output, attention(query, keys.masked_fill(hidden, 0.0), values.masked_fill(hidden, 0.0), mask))


@each_mechanism
def test_layout_copies_and_saved_states_do_not_matter(name):
    attention, inputs = build(name), tensors(D, D, D, leading=(B, 1))
    squares = [each.squeeze(1) for each in inputs]
    output = attention(*squares)
    close(attention(*(each.mT.contiguous().mT for each in squares)), output)
    other = TABLE[name]()
    other.load_state_dict(attention.state_dict())
    with torch.no_grad():
        close(copy.deepcopy(attention)(*squares), output)
        close(other(*squares), output)


@pytest.mark.parametrize("name", [name for name in DOT_FORM if name != "general"])
def test_unequal_widths_are_named(name):
    with pytest.raises(ValueError, match="query_dim=5 and key_dim=7.*GeneralAttention"):
        TABLE[name].func(query_dim=5, key_dim=7)
    attention = TABLE[name].func(query_dim=5)
    for values in (torch.randn(K, 7), torch.randn(K, E)):
        with pytest.raises(ValueError, match="query_dim=5 and key_dim=7"):
            attention(torch.randn(Q, 5), torch.randn(K, 7), values)


def test_other_wrong_constructions_are_refused():
    with pytest.raises(ValueError, match="divide by its heads; got 14 / 4"):
        MultiHeadAttention(ScaledDotProductAttention, query_dim=14, heads=4)
    with pytest.raises(TypeError, match=r"LocalAttention\(WithPosition\("):
        WithPosition(LocalAttention(DotProductAttention()))
    with pytest.raises(TypeError, match="local by itself"):
        LocalAttention(partial(PredictiveLocalAttention, DotProductAttention), **SIZES)
    for wrong in (
        lambda: LocalAttention(DotProductAttention(), before=-1),
        lambda: PredictiveLocalAttention(DotProductAttention, query_dim=D, window=0),
        lambda: PositionBasedAttention(max_distance=0),
        lambda: CosineAttention(temperature=0.0),
    ):
        with pytest.raises(ValueError, match="at least|above 0"):
            wrong()


@pytest.mark.parametrize("name", ["dot", "additive", "with_position", "local", "multi_head", "local_predictive"])
def test_dropout_acts_while_training_and_never_on_what_is_shown(name):
    attention, (query, keys, values) = build(name), tensors(Q, K, K)
    shown = attention.weights(query, keys)
    for part in attention.modules():
        if isinstance(part, Attention):
            part.dropout = 0.5
    assert torch.equal(attention.weights(query, keys), shown)
    assert not torch.equal(attention(query, keys, values), attention(query, keys, values))
    attention.eval()
    assert torch.equal(attention(query, keys, values), attention(query, keys, values))


@pytest.mark.parametrize("compose", [WithPosition, PredictiveLocalAttention, LocalAttention])
def test_a_composition_drops_as_its_mechanism_does(compose):
    attention = compose(partial(DotProductAttention, dropout=0.9), **SIZES)
    query, keys, values = tensors(Q, K, K)
    assert not torch.equal(attention(query, keys, values), attention(query, keys, values))
