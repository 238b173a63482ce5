"""Cases from public bug reports, A01 to A11: small inputs that attention must handle right."""

from functools import partial

import pytest
import torch
from attentions import close_to, fill, identity

from core import masks
from core.attention import (
    AdditiveAttention,
    AttentionPooling,
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
)
from core.record import record

THREE_KEYS = {
    "dot": DotProductAttention,
    "scaled_dot": ScaledDotProductAttention,
    "cosine": CosineAttention,
    "general": GeneralAttention,
    "additive": AdditiveAttention,
    "content": ContentBasedAttention,
    "position": PositionBasedAttention,
    "unconditional": UnconditionalAttention,
    "with_position": partial(WithPosition, DotProductAttention),
    "local": partial(LocalAttention, DotProductAttention, before=3, after=3),
    "local_predictive": partial(PredictiveLocalAttention, DotProductAttention, window=1000),
    "multi_head": lambda **sizes: identity(MultiHeadAttention(DotProductAttention, **sizes | {"heads": 1})),
}


@pytest.mark.parametrize("make", THREE_KEYS.values(), ids=THREE_KEYS)
def test_A01_true_means_may_attend(make):
    attention = make(query_dim=2, key_dim=2)
    query, keys, values = torch.zeros(1, 2), torch.zeros(3, 2), torch.tensor([[1.0, 0.0], [0.0, 1.0], [5.0, 5.0]])
    mask = torch.tensor([True, True, False])
    # A window of 1,000 around the middle of two keys weighs them alike to four digits.
    close_to(attention.weights(query, keys, mask).flatten(), [0.5, 0.5, 0], 1e-5)
    close_to(attention(query, keys, values, mask), [[0.5, 0.5]], 1e-5)


@pytest.mark.parametrize("make", THREE_KEYS.values(), ids=THREE_KEYS)
def test_A02_a_mask_of_another_type_is_refused(make):
    attention, (query, keys) = make(query_dim=2, key_dim=2), (torch.zeros(1, 2), torch.zeros(3, 2))
    for dtype in (torch.int64, torch.uint8, torch.float32):
        with pytest.raises(TypeError, match=f"True = may attend; got {dtype}.*mask.bool()"):
            attention(query, keys, keys, torch.tensor([1, 1, 0], dtype=dtype))


def test_A03_a_sample_without_keys():
    attention = MultiHeadAttention(ScaledDotProductAttention, query_dim=4, heads=2)
    inputs = torch.randn(2, 3, 4, requires_grad=True)
    mask = ~torch.tensor([[0, 0, 1], [1, 1, 1]]).bool().unsqueeze(1)  # the case's mask says what to ignore
    with record(attention) as maps:
        output = attention(inputs, inputs, inputs, mask)
    assert output[1].eq(0).all() and maps[""][1].eq(0).all()
    output[0].sum().backward()
    assert all(each.grad.isfinite().all() for each in [inputs, *attention.parameters()])


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_A04_half_precision(dtype):
    mask = torch.tensor([True, True, False])
    query, keys = torch.ones(1, 1, dtype=dtype), torch.zeros(3, 1, dtype=dtype)
    for keys[2] in (0.0, 15000.0):  # also a masked score that beats -1e4
        close_to(DotProductAttention().weights(query, keys, mask), [[0.5, 0.5, 0]])
        close_to(DotProductAttention()(query, keys, torch.tensor([[2.0], [4], [9]], dtype=dtype), mask), [[3.0]])
    with torch.autocast("cpu", dtype):
        weights = DotProductAttention().weights(query.float(), keys.float(), mask)
    assert weights.dtype == torch.float32 and weights[0, 2] == 0
    close_to(weights, [[0.5, 0.5, 0]])


def test_A05_dropout_is_neither_shown_nor_left_on():
    attention = MultiHeadAttention(partial(ScaledDotProductAttention, dropout=0.2), query_dim=4, heads=2)
    query, key = torch.randn(1, 1, 4), torch.randn(1, 1, 4)
    for _ in range(100):
        with record(attention) as maps:
            attention(query, key, key)
        assert maps[""].eq(1).all()
    model = MultiHeadAttention(partial(ScaledDotProductAttention, dropout=0.5), query_dim=4, heads=2).eval()
    inputs = torch.randn(1, 7, 4)
    assert torch.equal(model(inputs, inputs, inputs), model(inputs, inputs, inputs))


def test_A06_every_head_is_shown():
    attention = identity(MultiHeadAttention(DotProductAttention, query_dim=2, heads=2))
    query, keys = torch.tensor([[[1.0, 1.0]]]), torch.tensor([[[99.0, 0.0], [0.0, 0.0], [0.0, 99.0]]])
    with record(attention) as maps:
        attention(query, keys, keys)
    assert maps[""].shape == (1, 2, 1, 3)
    close_to(maps[""], [[[[1, 0, 0]], [[0, 0, 1]]]])


def test_A07_causal_queries_are_the_last_positions():
    weights = DotProductAttention().weights(torch.zeros(2, 1), torch.zeros(5, 1), masks.causal(2, 5))
    close_to(weights, [[0.25, 0.25, 0.25, 0.25, 0], [0.2, 0.2, 0.2, 0.2, 0.2]])


@pytest.mark.parametrize("pieces", [[3, 1], [1, 1, 1, 1], [2, 2], [4]], ids=str)
@pytest.mark.parametrize("make", THREE_KEYS.values(), ids=THREE_KEYS)
def test_A08_causal_with_a_cache(make, pieces):
    attention, inputs = make(query_dim=2, key_dim=2), torch.randn(1, 4, 2)
    whole = attention(inputs, inputs, inputs, masks.causal(4, 4))
    cache, outputs, first = None, [], 0
    for tokens in inputs.split(pieces, dim=1):
        new = attention.prepare(tokens, tokens)
        cache = new if cache is None else cache.extend(new)
        outputs.append(
            attention(tokens, cache, mask=masks.causal(tokens.shape[1], first + tokens.shape[1]), first=first)
        )
        first += tokens.shape[1]
    close_to(torch.cat(outputs, 1), whole, 1e-5)
    inputs[:, 3] += 1.0
    close_to(attention(inputs, inputs, inputs, masks.causal(4, 4))[:, :3], whole[:, :3], 1e-5)


@pytest.mark.parametrize(
    "radius, length, seen",
    [(1, 5, ["11000", "11100", "01110", "00111", "00011"]), (1, 2, ["11", "11"]), (1, 1, ["1"]), (8, 2, ["11", "11"])],
)
def test_A09_a_window_at_the_edges(radius, length, seen):
    attention = LocalAttention(DotProductAttention, before=radius, after=radius)
    expected = torch.tensor([[float(digit) for digit in row] for row in seen])
    expected = expected / expected.sum(-1, keepdim=True)
    tokens = torch.zeros(length, 3)
    close_to(attention.weights(tokens, tokens), expected)
    close_to(attention(tokens, tokens, torch.eye(length)), expected)


@pytest.mark.parametrize("make", [CosineAttention, partial(ContentBasedAttention, query_dim=3)])
def test_A10_zero_vectors(make):
    attention, query = make(), torch.zeros(1, 3, requires_grad=True)
    score = attention.scores(query, torch.tensor([[1.0, 2.0, 3.0]]))
    assert score == 0
    (gradient,) = torch.autograd.grad(score.sum(), query)
    assert gradient.isfinite().all() and gradient.abs().max() < 1e4
    inputs = torch.cat([torch.randn(2, 3), torch.zeros(2, 3)]).requires_grad_()
    attention(inputs, inputs, inputs, torch.tensor([True, True, False, False]))[:2].square().sum().backward()
    assert inputs.grad.isfinite().all() and inputs.grad[2:].eq(0).all()


def test_A11_padding_changes_no_pooled_vector():
    pooling = AttentionPooling(UnconditionalAttention, width=2)
    fill(pooling, attention__weight=0.0)
    rows = torch.tensor([[[2.0, 4.0], [6.0, 8.0], [0.0, 0.0]]])
    close_to(pooling(rows, masks.padding(torch.tensor([2]), 3)), [[4.0, 6.0]])


@pytest.mark.parametrize("make", [*THREE_KEYS.values(), partial(MultiHeadAttention, AdditiveAttention, heads=2)])
def test_A11_pooled_alone_or_beside_a_longer_sequence(make):
    pooling = AttentionPooling(make, width=2)
    short, long = torch.randn(1, 3, 2), torch.randn(1, 15, 2)
    both = torch.cat([torch.cat([short, torch.randn(1, 12, 2)], dim=1), long])
    found = pooling(both, masks.padding(torch.tensor([3, 15]), 15))
    close_to(found, torch.cat([pooling(short), pooling(long)]))
