"""The contract of core/attention, held by every mechanism: one table, and what must be true of each of its rows."""

import contextlib
import copy
from collections.abc import Callable
from functools import partial

import pytest
import torch
from torch import Tensor

import core.attention
from core import masks
from core.attention import (
    AdditiveAttention,
    Attention,
    ContentBasedAttention,
    CosineAttention,
    DotProductAttention,
    GeneralAttention,
    LocalAttention,
    MultiHeadAttention,
    PositionBasedAttention,
    PredictiveLocalAttention,
    ScaledDotProductAttention,
    UnconditionalAttention,
    WithPosition,
    base,
    dot_form,
)
from core.attention.dot_form import DotFormAttention
from core.record import record

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
    "with_position": partial(WithPosition, AdditiveAttention, **SIZES, max_distance=3),
    "with_position of cosine": partial(WithPosition, CosineAttention, **SIZES, max_distance=3),
    "local": partial(LocalAttention, ScaledDotProductAttention, **SIZES, before=2, after=1),
    "local of additive, causal": partial(LocalAttention, AdditiveAttention, **SIZES, before=3, after=0),
    "local of with_position": partial(
        LocalAttention, partial(WithPosition, GeneralAttention), **SIZES, before=1, after=1
    ),
    "local_predictive": partial(PredictiveLocalAttention, AdditiveAttention, **SIZES, window=3),
    "local_predictive of unconditional": partial(PredictiveLocalAttention, UnconditionalAttention, **SIZES, window=2),
    "multi_head": partial(MultiHeadAttention, ScaledDotProductAttention, **SIZES, heads=H),
    "multi_head of additive": partial(MultiHeadAttention, AdditiveAttention, **SIZES, heads=H),
    "multi_head of local": partial(
        MultiHeadAttention, partial(LocalAttention, CosineAttention, before=2, after=2), **SIZES, heads=H
    ),
}
NOT_MECHANISMS = {"Attention", "AttentionFactory", "AttentionPooling", "Prepared", "ScoreAttention", "multi_head"}

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


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


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


def test_every_mechanism_has_a_row():
    rows = {type(make()).__name__ for make in TABLE.values()}
    assert rows == set(core.attention.__all__) - NOT_MECHANISMS


@pytest.mark.parametrize("dtype", TOLERANCE, ids=str)
@each_mask
@each_mechanism
def test_weights_and_output(name, mask, dtype):
    for train in (True, False):
        attention = build(name, dtype).train(train)
        query, keys, values = inputs = tensors(Q, K, K, dtype=dtype, requires_grad=train)
        with torch.set_grad_enabled(train):
            weights = attention.weights(query, keys, mask, first=FIRST)
            output = attention(query, keys, values, mask, first=FIRST)

        heads = (H,) if isinstance(attention, MultiHeadAttention) else ()
        assert weights.shape == (B, *heads, Q, K) and output.shape == (B, Q, D)
        assert weights.dtype == torch.float32 and output.dtype == dtype
        weights_of_heads = weights if heads else weights.unsqueeze(1)
        sums = weights_of_heads.sum(-1)
        assert torch.all((sums == 0) | ((sums - 1).abs() < 1e-5))
        if mask is not None:
            seen = mask.expand(B, Q, K).unsqueeze(1).expand_as(weights_of_heads)
            assert weights_of_heads[~seen].eq(0).all()
            assert output[~mask.expand(B, Q, K).any(-1)].eq(0).all()
        close(output.float(), mixed(attention, weights, values).float(), TOLERANCE[dtype])
        if train:
            found = gradients(output.float().square().sum(), *inputs, *attention.parameters())
            assert all(gradient.isfinite().all() for gradient in found)


@each_mechanism
def test_a_sample_without_keys_leaves_the_others_alone(name):
    """The loss never touches the sample that sees nothing, and its gradient must not either."""
    attention = build(name)
    query, keys, values = inputs = tensors(Q, K, K, requires_grad=True)
    mask = masks.padding(torch.tensor([K, 0, 4]), K)
    weights = attention.weights(query, keys, mask, first=FIRST)
    output = attention(query, keys, values, mask, first=FIRST)
    assert weights[1].eq(0).all() and output[1].eq(0).all()
    found = gradients(output[0].sum() + weights[0].square().sum(), *inputs, *attention.parameters())
    assert all(gradient.isfinite().all() for gradient in found)
    assert all(gradient[1].eq(0).all() for gradient in found[: len(inputs)])


@pytest.mark.parametrize("autocast", [False, True], ids=["float32", "autocast"])
@pytest.mark.parametrize("name", DOT_FORM)
def test_the_fused_road_and_the_explicit_one_agree(name, autocast, monkeypatch):
    attention, inputs = build(name), tensors(Q, K, K, requires_grad=True)
    for mask in MASKS.values():
        found = []
        for fused in (True, False):
            monkeypatch.setattr(dot_form, "fused_pays", lambda *_, fused=fused: fused)
            with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
                output = attention(*inputs, mask, first=FIRST)
            found.append((output, *gradients(output.float().square().sum(), *inputs)))
        assert found[0][0].dtype == found[1][0].dtype == (torch.bfloat16 if autocast else torch.float32)
        close(found[0][0], found[1][0], TOLERANCE[torch.bfloat16] if autocast else 1e-5)
        for fused, explicit in zip(found[0][1:], found[1][1:], strict=True):
            close(fused / fused.abs().max(), explicit / fused.abs().max(), 0.05 if autocast else 1e-5)


@each_mechanism
def test_chunks_change_neither_value_nor_gradient(name, monkeypatch):
    monkeypatch.setattr(dot_form, "fused_pays", lambda *_: False)
    attention, inputs = build(name, torch.float64), tensors(Q, K, K, dtype=torch.float64, requires_grad=True)
    for mask in MASKS.values():
        found = []
        for chunk in (2**22, 2 * B * K):  # all queries at once; two of a dot product, or one
            monkeypatch.setattr(base, "CHUNK", chunk)
            output = attention(*inputs, mask, first=FIRST)
            found.append((output, *gradients(output.square().sum(), *inputs)))
        for whole, chunked in zip(*found, strict=True):
            close(whole, chunked, 1e-9)


@pytest.mark.parametrize("autocast", [False, True], ids=["float32", "autocast"])
@each_mechanism
def test_recording_changes_nothing(name, autocast):
    attention, inputs = build(name), tensors(Q, K, K, requires_grad=True)
    for part in attention.modules():
        if isinstance(part, Attention):
            part.dropout = 0.3
    found = []
    for looking in (contextlib.nullcontext(), record(attention)):
        torch.manual_seed(1)
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast), looking:
            output = attention(*inputs, MASKS["padding"], first=FIRST)
        found.append((output, *gradients(output.float().sum(), *inputs), torch.get_rng_state()))
    assert all(torch.equal(without, recorded) for without, recorded in zip(*found, strict=True))


@each_mechanism
def test_what_is_recorded_under_autocast_is_what_forward_used(name, monkeypatch):
    monkeypatch.setattr(dot_form, "fused_pays", lambda *_: False)
    attention = build(name)
    query, keys, values = tensors(Q, K, K)
    with torch.autocast("cpu", torch.bfloat16), record(attention) as maps:
        output = attention(query, keys, values, MASKS["padding"].expand(B, Q, K), first=FIRST)
        assert torch.equal(output, mixed(attention, maps[""], values))


@pytest.mark.parametrize("name", WITHOUT_POSITION)
def test_permuting_keys_permutes_weights(name):
    attention, (query, keys, values) = build(name), tensors(Q, K, K)
    order, mask = torch.randperm(K), MASKS["arbitrary"]
    close(attention.weights(query, keys[:, order], mask[..., order]), attention.weights(query, keys, mask)[..., order])
    close(attention(query, keys[:, order], values[:, order], mask[..., order]), attention(query, keys, values, mask))


@each_mechanism
def test_teacher_forced_is_step_by_step_is_inside_a_padded_batch(name):
    attention, (inputs,) = build(name).eval(), tensors(K)
    whole = attention(inputs, inputs, inputs, masks.causal(K, K))
    weights = attention.weights(inputs, inputs, masks.causal(K, K))
    past, steps, rows = None, [], []
    for step in range(K):
        token = inputs[:, step : step + 1]
        seen = attention.prepare(token, token)
        past = seen if past is None else past.extend(seen)
        steps.append(attention(token, past, mask=masks.causal(1, step + 1), first=step))
        rows.append(attention.weights(token, past, masks.causal(1, step + 1), first=step)[0])
    close(torch.cat(steps, dim=-2), whole)
    for step, row in enumerate(rows):
        close(row.squeeze(-2), weights[0, ..., step, : step + 1])

    padded = torch.cat([inputs, torch.randn(B, 5 * K, D)], dim=1)
    mask = masks.padding(torch.full((B,), K), 6 * K) & masks.causal(6 * K, 6 * K)
    close(attention(padded, padded, padded, mask)[:, :K], whole)
    close(attention.weights(padded, padded, mask)[..., :K, :K], weights)


@each_mechanism
def test_cross_attention_step_by_step_and_inside_a_padded_batch(name):
    attention, (query, keys, values) = build(name).eval(), tensors(Q, K, K)
    lengths = torch.tensor([K, 3, 7])
    mask = masks.padding(lengths, K)
    whole, prepared = attention(query, keys, values, mask), attention.prepare(keys, values)
    steps = [attention(query[:, q : q + 1], prepared, mask=mask, first=q) for q in range(Q)]
    close(torch.cat(steps, dim=-2), whole)
    for row, length in enumerate(lengths.tolist()):
        alone = query[row], keys[row, :length]
        close(attention(*alone, values[row, :length]), whole[row])
        close(attention.weights(*alone), attention.weights(query, keys, mask)[row, ..., :length])


@pytest.mark.parametrize("name", BARE)
def test_parameters_for_several_heads_are_those_of_each(name):
    heads = build(name, heads=7)
    query, keys, values = tensors(Q, K, K, leading=(B, 7))
    mask = MASKS["arbitrary"]
    output = heads(query, keys, values, mask.unsqueeze(1), first=FIRST)
    for head in range(7):
        one = build(name, heads=1)
        one.load_state_dict({key: value[head : head + 1] for key, value in heads.state_dict().items()})
        close(one(query[:, head], keys[:, head], values[:, head], mask, first=FIRST), output[:, head], 1e-5)


@pytest.mark.parametrize("name", [name for name in TABLE if name.startswith("multi_head")])
def test_a_key_mask_masks_by_sample_also_where_there_are_as_many_heads(name):
    attention, (query, keys, values) = build(name), tensors(Q, K, K, leading=(H,))
    mask = masks.padding(torch.tensor([2, K]), K)
    for row in range(H):
        alone = attention(query[row], keys[row], values[row], mask[row])
        close(attention(query, keys, values, mask)[row], alone)
        close(attention.weights(query, keys, mask)[row], attention.weights(query[row], keys[row], mask[row]))


@pytest.mark.parametrize("window", [(2, 1), (0, 0), (3, 0), (0, 2)], ids=str)
@pytest.mark.parametrize("queries, first", [(23, 0), (5, 9), (7, 21), (5, 31)])
@pytest.mark.parametrize("mechanism", [ScaledDotProductAttention, partial(WithPosition, AdditiveAttention)])
def test_the_fast_local_road_and_the_dense_one_agree(mechanism, queries, first, window, monkeypatch):
    """Also where the last block is not full, where queries lie at the end of the keys, and beyond them."""
    attention = LocalAttention(mechanism, **SIZES, before=window[0], after=window[1])
    inputs = tensors(queries, 23, 23, requires_grad=True)
    blocks, fast = [], attention.mix_blocks
    monkeypatch.setattr(attention, "mix_blocks", lambda *args: blocks.append(args) or fast(*args))
    for mask in (None, masks.padding(torch.tensor([23, 11, 0]), 23)):
        output = attention(*inputs, mask, first=first)
        found = gradients(output.square().sum(), *inputs)
        assert blocks.pop()
        dense_mask = torch.ones(B, queries, 23, dtype=torch.bool) if mask is None else mask.expand(B, queries, 23)
        dense = attention(*inputs, dense_mask, first=first)
        assert not blocks
        close(output, dense)
        for fast_one, dense_one in zip(found, gradients(dense.square().sum(), *inputs), strict=True):
            close(fast_one, dense_one, 1e-5)


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
def test_prepared_keys_give_the_same_as_raw_ones(name):
    attention, (query, keys, values) = build(name), tensors(Q, K, K)
    for autocast in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            prepared, mask = attention.prepare(keys, values), MASKS["padding"]
            assert torch.equal(attention(query, prepared, mask=mask), attention(query, keys, values, mask))
            assert torch.equal(attention.weights(query, prepared, mask), attention.weights(query, keys, mask))
            halves = attention.prepare(keys[:, :3], values[:, :3]), attention.prepare(keys[:, 3:], values[:, 3:])
            close(attention(query, halves[0].extend(halves[1]), mask=mask), attention(query, prepared, mask=mask), 0.01)
    with pytest.raises(TypeError, match="mask=..."):
        attention(query, prepared, values)
    with pytest.raises(TypeError, match="no values"):
        attention(query, keys)


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


@each_mechanism
def test_gradients_are_right(name):
    attention = build(name, torch.float64)
    inputs = tensors(3, 5, 5, leading=(2,), dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[[1, 1, 0, 1, 1], [0, 0, 0, 0, 0], [1, 0, 1, 1, 1]]]).bool()
    parameters = [parameter for parameter in attention.parameters() if parameter.requires_grad]

    def look(query: Tensor, keys: Tensor, values: Tensor, *_: Tensor) -> tuple[Tensor, Tensor]:
        return attention(query, keys, values, mask), attention.weights(query, keys, mask)

    assert torch.autograd.gradcheck(look, (*inputs, *parameters), fast_mode=True)
