"""The contract of core/attention: what must be true of each row of the table."""

import contextlib
from functools import partial
from itertools import product

import pytest
import torch
from attentions import (
    BARE,
    DOT_FORM,
    FIRST,
    MASKS,
    NOT_MECHANISMS,
    SIZES,
    TABLE,
    TOLERANCE,
    WITHOUT_POSITION,
    B,
    D,
    H,
    K,
    Q,
    build,
    close,
    each_mask,
    each_mechanism,
    gradients,
    mixed,
    tensors,
)
from torch import Tensor

import core.attention
from core import masks
from core.attention import (
    AdditiveAttention,
    Attention,
    LocalAttention,
    MultiHeadAttention,
    ScaledDotProductAttention,
    WithPosition,
    base,
    dot_form,
)
from core.record import record


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def test_every_mechanism_has_a_row():
    rows = {type(make()).__name__ for make in TABLE.values()}
    assert rows == set(core.attention.__all__) - NOT_MECHANISMS


@each_mask
@each_mechanism
def test_weights_and_output(name, mask):
    for dtype, train in product(TOLERANCE, (True, False)):
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
    for mask in (MASKS[kind] for kind in ("padding", "causal", "nothing to see")):
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
        past = attention.onward(token, past, masks.causal(1, step + 1), first=step)
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
    steps = []
    for q in range(Q):
        steps.append(attention(query[:, q : q + 1], prepared, mask=mask, first=q))
        prepared = attention.onward(query[:, q : q + 1], prepared, mask, first=q)
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
def test_prepared_keys_give_the_same_as_raw_ones(name):
    for autocast, dtype in [(False, torch.float32), (True, torch.float32), (False, torch.bfloat16)]:
        attention, (query, keys, values) = build(name, dtype), tensors(Q, K, K, dtype=dtype)
        with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
            prepared, mask = attention.prepare(keys, values), MASKS["padding"]
            assert torch.equal(attention(query, prepared, mask=mask), attention(query, keys, values, mask))
            assert torch.equal(attention.weights(query, prepared, mask), attention.weights(query, keys, mask))
            halves = attention.prepare(keys[:, :3], values[:, :3]), attention.prepare(keys[:, 3:], values[:, 3:])
            close(attention(query, halves[0].extend(halves[1]), mask=mask), attention(query, prepared, mask=mask), 0.02)
    with pytest.raises(TypeError, match="mask=..."):
        attention(query, prepared, values)
    with pytest.raises(TypeError, match="no values"):
        attention(query, keys)


@each_mechanism
def test_gradients_are_right(name):
    attention = build(name, torch.float64)
    inputs = tensors(3, 5, 5, leading=(2,), dtype=torch.float64, requires_grad=True)
    mask = torch.tensor([[[1, 1, 0, 1, 1], [0, 0, 0, 0, 0], [1, 0, 1, 1, 1]]]).bool()
    parameters = [parameter for parameter in attention.parameters() if parameter.requires_grad]

    def look(query: Tensor, keys: Tensor, values: Tensor, *_: Tensor) -> tuple[Tensor, Tensor]:
        return attention(query, keys, values, mask), attention.weights(query, keys, mask)

    assert torch.autograd.gradcheck(look, (*inputs, *parameters), fast_mode=True)
