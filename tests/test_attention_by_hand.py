"""One case a mechanism small enough to do by hand, the cases from bug reports (A01 to A11), and the tutorials' examples."""

import math
from functools import partial

import pytest
import torch
from torch import Tensor, nn

from core import masks
from core.attention import (
    AdditiveAttention,
    Attention,
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

LN2, LN3, LN5 = math.log(2), math.log(3), math.log(5)


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


def close(found: Tensor, expected: object, tolerance: float = 1e-6) -> None:
    torch.testing.assert_close(found, torch.as_tensor(expected, dtype=found.dtype), rtol=0, atol=tolerance)


# One case a mechanism.


def test_dot():
    # Scores ln 2 and 0, so the first key weighs twice the second: 2/3 (3, 0) + 1/3 (0, 6) = (2, 2).
    query, keys, values = (
        torch.tensor([[1.0, 0.0]]),
        torch.tensor([[LN2, 5.0], [0.0, 7.0]]),
        torch.tensor([[3.0, 0], [0, 6]]),
    )
    close(DotProductAttention().scores(query, keys), [[LN2, 0.0]])
    close(DotProductAttention().weights(query, keys), [[2 / 3, 1 / 3]])
    close(DotProductAttention()(query, keys, values), [[2.0, 2.0]])


def test_scaled_dot():
    # q . k = 2 ln 3 and 0, divided by sqrt(4): ln 3 and 0, so 3/4 and 1/4; 3/4 x 8 = 6.
    query, keys = torch.tensor([[2.0, 0, 0, 0]]), torch.tensor([[LN3, 9, 9, 9], [0, 9, 9, 9.0]])
    values = torch.tensor([[8.0, 0, 0, 4], [0, 0, 0, 8]])
    close(ScaledDotProductAttention().weights(query, keys), [[3 / 4, 1 / 4]])
    close(ScaledDotProductAttention()(query, keys, values), [[6.0, 0, 0, 5]])


def test_cosine():
    # Lengths do not count: cosines 1 and 0, times the temperature ln 4, so 4 to 1.
    attention = CosineAttention(temperature=2 * LN2)
    close(attention.weights(torch.tensor([[3.0, 0.0]]), torch.tensor([[5.0, 0.0], [0.0, 2.0]])), [[0.8, 0.2]])


def test_general():
    # q W = (0, 0, ln 2): the third number of a key decides, so 2 to 1.
    attention = GeneralAttention(query_dim=2, key_dim=3)
    fill(attention, weight=[[[0.0, 0, 1], [5, 0, 0]]])
    close(attention.weights(torch.tensor([[LN2, 0]]), torch.tensor([[8.0, 8, 1], [9, 9, 0]])), [[2 / 3, 1 / 3]])


def test_additive():
    # tanh(0.5493 + 0) = 1/2 and tanh(0) = 0, times 2 ln 3: scores ln 3 and 0, so 3/4 and 1/4.
    attention = AdditiveAttention(query_dim=1, key_dim=1)
    fill(attention, query_weight=1.0, key_weight=1.0, score_weight=2 * LN3)
    close(attention.weights(torch.tensor([[0.0]]), torch.tensor([[math.atanh(0.5)], [0.0]])), [[3 / 4, 1 / 4]])
    # With q = 1/2 in front of the tanh as well, both grow: tanh(0.5493 + 0.5493) = 4/5 and tanh(0.5493) = 1/2.
    scores = attention.scores(torch.tensor([[math.atanh(0.5)]]), torch.tensor([[math.atanh(0.5)], [0.0]]))
    close(scores, [[2 * LN3 * 0.8, 2 * LN3 * 0.5]])


def test_content():
    # Strength 1 + softplus(b) = ln 5 for b = ln(exp(ln 5 - 1) - 1); cosines 1 and 0, so 5 to 1.
    attention = ContentBasedAttention(query_dim=2)
    fill(attention, strength_weight=0.0, strength_bias=math.log(math.exp(LN5 - 1) - 1))
    query, keys = torch.tensor([[0.0, 3.0]]), torch.tensor([[0.0, 7.0], [4.0, 0.0]])
    close(attention.weights(query, keys), [[5 / 6, 1 / 6]])
    # The strength comes from the query: with w = (0, 1), 1 + softplus(b + 3).
    fill(attention, strength_weight=[[[0.0], [1.0]]], strength_bias=0.0)
    close(attention.scores(query, keys), [[1 + math.log(1 + math.exp(3)), 0.0]], 1e-5)


def test_position():
    # b[-1], b[0], b[1] = ln 2, 0, ln 3. Query 1 of 4 keys is -1, 0, 1, 2 away, and 2 is clipped to 1: 2 to 1 to 3 to 3.
    attention = PositionBasedAttention(max_distance=1)
    fill(attention, relative__bias=[[LN2, 0, LN3]])
    query, keys = torch.randn(2, 5), torch.randn(4, 5)
    close(attention.weights(query, keys), [[1 / 10, 3 / 10, 3 / 10, 3 / 10], [2 / 9, 1 / 9, 3 / 9, 3 / 9]])
    close(attention.weights(query[1:], keys, first=1), [[2 / 9, 1 / 9, 3 / 9, 3 / 9]])


def test_unconditional():
    # w . k = ln 1, ln 2, ln 3, whoever asks: 1/6, 2/6, 3/6, and 1/6 x 6 + 2/6 x 12 + 3/6 x 2 = 6.
    attention = UnconditionalAttention(key_dim=1)
    fill(attention, weight=1.0)
    keys, values = torch.tensor([[0.0], [LN2], [LN3]]), torch.tensor([[6.0], [12.0], [2.0]])
    close(attention.weights(torch.randn(2, 7), keys), [[1 / 6, 2 / 6, 3 / 6]] * 2)
    close(attention(torch.randn(2, 7), keys, values), [[6.0], [6.0]], 1e-5)


def test_with_position():
    # q . k = ln 2, 0, 0 and b = ln 3 for the next key: query 0 weighs 2, 3, 1 and query 1 (q = 0) 1, 1, 3.
    attention = WithPosition(DotProductAttention, max_distance=2)
    fill(attention, relative__bias=[[0, 0, 0, LN3, 0]])
    query, keys = torch.tensor([[1.0], [0.0]]), torch.tensor([[LN2], [0.0], [0.0]])
    close(attention.weights(query, keys), [[2 / 6, 3 / 6, 1 / 6], [1 / 5, 1 / 5, 3 / 5]])


def test_multi_head():
    # Two heads of width 1: q . k is ln 3, 0 in head 0 and 0, ln 2 in head 1. Each mixes its own column of the values.
    attention = identity(MultiHeadAttention(DotProductAttention, query_dim=2, heads=2))
    query, keys = torch.tensor([[1.0, 1.0]]), torch.tensor([[LN3, 0.0], [0.0, LN2]])
    values = torch.tensor([[4.0, 0.0], [8.0, 9.0]])
    close(attention.weights(query, keys), [[[3 / 4, 1 / 4]], [[1 / 3, 2 / 3]]])
    close(attention(query, keys, values), [[5.0, 6.0]])


def test_local():
    # One back, none ahead: query 0 sees itself; each other one itself and the one before, 1 to 2.
    attention = LocalAttention(DotProductAttention, before=1, after=0)
    query, keys = torch.ones(3, 1), torch.tensor([[0.0], [LN2], [2 * LN2]])
    close(attention.weights(query, keys), [[1, 0, 0], [1 / 3, 2 / 3, 0], [0, 1 / 3, 2 / 3]])
    close(attention(query, keys, torch.tensor([[3.0], [6.0], [9.0]])), [[3.0], [5.0], [8.0]])


def test_local_predictive():
    # sigmoid(0) = 1/2 of a length of 4 that the mask tells: centre 2. With window 2, sigma = 1, keys at distance
    # 2, 1, 0, 1 have scores -2, -1/2, 0, -1/2; the padding does not move the centre.
    attention = PredictiveLocalAttention(DotProductAttention, query_dim=1, window=2)
    fill(attention, centre_weight=0.0)
    weights = attention.weights(torch.zeros(1, 1, 1), torch.zeros(1, 7, 1), masks.padding(torch.tensor([4]), 7))
    bell = torch.tensor([math.exp(-2), math.exp(-0.5), 1.0, math.exp(-0.5), 0, 0, 0])
    close(weights, (bell / bell.sum()).expand(1, 1, 7))
    # All 7 seen: centre 3.5, and keys 2 to 5 are within 2 of it, at 1.5, 0.5, 0.5, 1.5.
    bell = torch.tensor([0, 0, math.exp(-1.125), math.exp(-0.125), math.exp(-0.125), math.exp(-1.125), 0])
    close(attention.weights(torch.zeros(1, 1, 1), torch.zeros(1, 7, 1)), (bell / bell.sum()).expand(1, 1, 7))


def test_pooling():
    # The query 2 meets keys ln 2 / 2 and 0: 2 to 1, so 2/3 x ln 2 / 2.
    pooling = AttentionPooling(DotProductAttention, width=1)
    fill(pooling, query=2.0)
    close(pooling(torch.tensor([[LN2 / 2], [0.0]])), [LN2 / 3])


# Cases from bug reports.

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
    close(attention.weights(query, keys, mask).flatten(), [0.5, 0.5, 0], 1e-5)
    close(attention(query, keys, values, mask), [[0.5, 0.5]], 1e-5)


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.float32], ids=str)
@pytest.mark.parametrize("make", THREE_KEYS.values(), ids=THREE_KEYS)
def test_A02_a_mask_of_another_type_is_refused(make, dtype):
    attention, (query, keys) = make(query_dim=2, key_dim=2), (torch.zeros(1, 2), torch.zeros(3, 2))
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
        close(DotProductAttention().weights(query, keys, mask), [[0.5, 0.5, 0]])
        close(DotProductAttention()(query, keys, torch.tensor([[2.0], [4], [9]], dtype=dtype), mask), [[3.0]])
    with torch.autocast("cpu", dtype):
        weights = DotProductAttention().weights(query.float(), keys.float(), mask)
    assert weights.dtype == torch.float32 and weights[0, 2] == 0
    close(weights, [[0.5, 0.5, 0]])


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
    close(maps[""], [[[[1, 0, 0]], [[0, 0, 1]]]])


def test_A07_causal_queries_are_the_last_positions():
    weights = DotProductAttention().weights(torch.zeros(2, 1), torch.zeros(5, 1), masks.causal(2, 5))
    close(weights, [[0.25, 0.25, 0.25, 0.25, 0], [0.2, 0.2, 0.2, 0.2, 0.2]])


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
    close(torch.cat(outputs, 1), whole, 1e-5)
    inputs[:, 3] += 1.0
    close(attention(inputs, inputs, inputs, masks.causal(4, 4))[:, :3], whole[:, :3], 1e-5)


@pytest.mark.parametrize(
    "radius, length, seen",
    [(1, 5, ["11000", "11100", "01110", "00111", "00011"]), (1, 2, ["11", "11"]), (1, 1, ["1"]), (8, 2, ["11", "11"])],
)
def test_A09_a_window_at_the_edges(radius, length, seen):
    attention = LocalAttention(DotProductAttention, before=radius, after=radius)
    expected = torch.tensor([[float(digit) for digit in row] for row in seen])
    expected = expected / expected.sum(-1, keepdim=True)
    tokens = torch.zeros(length, 3)
    close(attention.weights(tokens, tokens), expected)
    close(attention(tokens, tokens, torch.eye(length)), expected)


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
    close(pooling(rows, masks.padding(torch.tensor([2]), 3)), [[4.0, 6.0]])


@pytest.mark.parametrize("make", [*THREE_KEYS.values(), partial(MultiHeadAttention, AdditiveAttention, heads=2)])
def test_A11_pooled_alone_or_beside_a_longer_sequence(make):
    pooling = AttentionPooling(make, width=2)
    short, long = torch.randn(1, 3, 2), torch.randn(1, 15, 2)
    both = torch.cat([torch.cat([short, torch.randn(1, 12, 2)], dim=1), long])
    found = pooling(both, masks.padding(torch.tensor([3, 15]), 15))
    close(found, torch.cat([pooling(short), pooling(long)]))


# What tutorials show.


def test_tutorial_output_and_weights():
    attention, (query, key, value) = ScaledDotProductAttention(), torch.randn(3, 2, 5, 3)
    mask = torch.ones(2, 1, 5, dtype=torch.bool)
    output, weights = attention(query, key, value, mask), attention.weights(query, key, mask)
    assert output.shape == (2, 5, 3) and weights.shape == (2, 5, 5)
    close(output, weights @ value)


def test_tutorial_pooling():
    pooling = AttentionPooling(UnconditionalAttention, width=128)
    assert pooling(torch.randn(32, 10, 128)).shape == (32, 128)
    assert [name for name, _ in pooling.named_parameters()] == ["attention.weight"]


def test_self_attention_in_three_lines():
    tokens = torch.randn(2, 5, 16)
    attention = MultiHeadAttention(ScaledDotProductAttention, query_dim=16, heads=4)
    output = attention(tokens, tokens, tokens)
    assert output.shape == (2, 5, 16)


def test_cross_attention_in_three_lines():
    target, source = torch.randn(2, 5, 16), torch.randn(2, 7, 32)
    attention = MultiHeadAttention(AdditiveAttention, query_dim=16, key_dim=32, heads=4)
    output = attention(target, source, source)
    assert output.shape == (2, 5, 16)


def test_causal_attention_in_three_lines():
    tokens = torch.randn(2, 5, 16)
    attention = MultiHeadAttention(ScaledDotProductAttention, query_dim=16, heads=4)
    output = attention(tokens, tokens, tokens, masks.causal(5, 5))
    assert output.shape == (2, 5, 16)


def test_a_mechanism_is_an_attention():
    assert all(isinstance(make(query_dim=2, key_dim=2), Attention) for make in THREE_KEYS.values())
