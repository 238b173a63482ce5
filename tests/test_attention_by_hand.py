"""A case a mechanism small enough to do by hand, and the examples that tutorials show."""

import math

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

LN2, LN3, LN5 = math.log(2), math.log(3), math.log(5)


# One case a mechanism.


def test_dot():
    # Scores ln 2 and 0, so the first key weighs twice the second: 2/3 (3, 0) + 1/3 (0, 6) = (2, 2).
    query, keys, values = (
        torch.tensor([[1.0, 0.0]]),
        torch.tensor([[LN2, 5.0], [0.0, 7.0]]),
        torch.tensor([[3.0, 0], [0, 6]]),
    )
    close_to(DotProductAttention().scores(query, keys), [[LN2, 0.0]])
    close_to(DotProductAttention().weights(query, keys), [[2 / 3, 1 / 3]])
    close_to(DotProductAttention()(query, keys, values), [[2.0, 2.0]])


def test_scaled_dot():
    # q . k = 2 ln 3 and 0, divided by sqrt(4): ln 3 and 0, so 3/4 and 1/4; 3/4 x 8 = 6.
    query, keys = torch.tensor([[2.0, 0, 0, 0]]), torch.tensor([[LN3, 9, 9, 9], [0, 9, 9, 9.0]])
    values = torch.tensor([[8.0, 0, 0, 4], [0, 0, 0, 8]])
    close_to(ScaledDotProductAttention().weights(query, keys), [[3 / 4, 1 / 4]])
    close_to(ScaledDotProductAttention()(query, keys, values), [[6.0, 0, 0, 5]])


def test_cosine():
    # Lengths do not count: cosines 1 and 0, times the temperature ln 4, so 4 to 1.
    attention = CosineAttention(temperature=2 * LN2)
    close_to(attention.weights(torch.tensor([[3.0, 0.0]]), torch.tensor([[5.0, 0.0], [0.0, 2.0]])), [[0.8, 0.2]])


def test_general():
    # q W / sqrt(4) = (0, 0, ln 2, 0): the third number of a key decides, so 2 to 1.
    attention = GeneralAttention(query_dim=2, key_dim=4)
    fill(attention, weight=[[[0.0, 0, 2, 0], [5, 0, 0, 0]]])
    keys = torch.tensor([[8.0, 8, 1, 8], [9, 9, 0, 9]])
    close_to(attention.weights(torch.tensor([[LN2, 0]]), keys), [[2 / 3, 1 / 3]])


def test_additive():
    # tanh(0.5493 + 0) = 1/2 and tanh(0) = 0, times 2 ln 3: scores ln 3 and 0, so 3/4 and 1/4.
    attention = AdditiveAttention(query_dim=1, key_dim=1)
    fill(attention, query_weight=1.0, key_weight=1.0, score_weight=2 * LN3)
    close_to(attention.weights(torch.tensor([[0.0]]), torch.tensor([[math.atanh(0.5)], [0.0]])), [[3 / 4, 1 / 4]])
    # With q = 1/2 in front of the tanh as well, both grow: tanh(0.5493 + 0.5493) = 4/5 and tanh(0.5493) = 1/2.
    scores = attention.scores(torch.tensor([[math.atanh(0.5)]]), torch.tensor([[math.atanh(0.5)], [0.0]]))
    close_to(scores, [[2 * LN3 * 0.8, 2 * LN3 * 0.5]])


def test_content():
    # Strength 1 + softplus(b) = ln 5 for b = ln(exp(ln 5 - 1) - 1); cosines 1 and 0, so 5 to 1.
    attention = ContentBasedAttention(query_dim=2)
    fill(attention, strength_weight=0.0, strength_bias=math.log(math.exp(LN5 - 1) - 1))
    query, keys = torch.tensor([[0.0, 3.0]]), torch.tensor([[0.0, 7.0], [4.0, 0.0]])
    close_to(attention.weights(query, keys), [[5 / 6, 1 / 6]])
    # The strength comes from the query: with w = (0, 1), 1 + softplus(b + 3).
    fill(attention, strength_weight=[[[0.0], [1.0]]], strength_bias=0.0)
    close_to(attention.scores(query, keys), [[1 + math.log(1 + math.exp(3)), 0.0]], 1e-5)


def test_position():
    # b[-1], b[0], b[1] = ln 2, 0, ln 3. Query 1 of 4 keys is -1, 0, 1, 2 away, and 2 is clipped to 1: 2 to 1 to 3 to 3.
    attention = PositionBasedAttention(max_distance=1)
    fill(attention, relative__bias=[[LN2, 0, LN3]])
    query, keys = torch.randn(2, 5), torch.randn(4, 5)
    close_to(attention.weights(query, keys), [[1 / 10, 3 / 10, 3 / 10, 3 / 10], [2 / 9, 1 / 9, 3 / 9, 3 / 9]])
    close_to(attention.weights(query[1:], keys, first=1), [[2 / 9, 1 / 9, 3 / 9, 3 / 9]])


def test_unconditional():
    # w . k = ln 1, ln 2, ln 3, whoever asks: 1/6, 2/6, 3/6, and 1/6 x 6 + 2/6 x 12 + 3/6 x 2 = 6.
    attention = UnconditionalAttention(key_dim=1)
    fill(attention, weight=1.0)
    keys, values = torch.tensor([[0.0], [LN2], [LN3]]), torch.tensor([[6.0], [12.0], [2.0]])
    close_to(attention.weights(torch.randn(2, 7), keys), [[1 / 6, 2 / 6, 3 / 6]] * 2)
    close_to(attention(torch.randn(2, 7), keys, values), [[6.0], [6.0]], 1e-5)


def test_with_position():
    # q . k = ln 2, 0, 0 and b = ln 3 for the next key: query 0 weighs 2, 3, 1 and query 1 (q = 0) 1, 1, 3.
    attention = WithPosition(DotProductAttention, max_distance=2)
    fill(attention, relative__bias=[[0, 0, 0, LN3, 0]])
    query, keys = torch.tensor([[1.0], [0.0]]), torch.tensor([[LN2], [0.0], [0.0]])
    close_to(attention.weights(query, keys), [[2 / 6, 3 / 6, 1 / 6], [1 / 5, 1 / 5, 3 / 5]])


def test_multi_head():
    # Two heads of width 1: q . k is ln 3, 0 in head 0 and 0, ln 2 in head 1. Each mixes its own column of the values.
    attention = identity(MultiHeadAttention(DotProductAttention, query_dim=2, heads=2))
    query, keys = torch.tensor([[1.0, 1.0]]), torch.tensor([[LN3, 0.0], [0.0, LN2]])
    values = torch.tensor([[4.0, 0.0], [8.0, 9.0]])
    close_to(attention.weights(query, keys), [[[3 / 4, 1 / 4]], [[1 / 3, 2 / 3]]])
    close_to(attention(query, keys, values), [[5.0, 6.0]])


def test_local():
    # One back, none ahead: query 0 sees itself; each other one itself and the one before, 1 to 2.
    attention = LocalAttention(DotProductAttention, before=1, after=0)
    query, keys = torch.ones(3, 1), torch.tensor([[0.0], [LN2], [2 * LN2]])
    close_to(attention.weights(query, keys), [[1, 0, 0], [1 / 3, 2 / 3, 0], [0, 1 / 3, 2 / 3]])
    close_to(attention(query, keys, torch.tensor([[3.0], [6.0], [9.0]])), [[3.0], [5.0], [8.0]])


def test_local_predictive():
    # sigmoid(0) = 1/2 of a length of 4 that the mask tells: centre 2. With window 2, sigma = 1, keys at distance
    # 2, 1, 0, 1 have scores -2, -1/2, 0, -1/2; the padding does not move the centre.
    attention = PredictiveLocalAttention(DotProductAttention, query_dim=1, window=2)
    fill(attention, centre_weight=0.0)
    weights = attention.weights(torch.zeros(1, 1, 1), torch.zeros(1, 7, 1), masks.padding(torch.tensor([4]), 7))
    bell = torch.tensor([math.exp(-2), math.exp(-0.5), 1.0, math.exp(-0.5), 0, 0, 0])
    close_to(weights, (bell / bell.sum()).expand(1, 1, 7))
    # All 7 seen: centre 3.5, and keys 2 to 5 are within 2 of it, at 1.5, 0.5, 0.5, 1.5.
    bell = torch.tensor([0, 0, math.exp(-1.125), math.exp(-0.125), math.exp(-0.125), math.exp(-1.125), 0])
    close_to(attention.weights(torch.zeros(1, 1, 1), torch.zeros(1, 7, 1)), (bell / bell.sum()).expand(1, 1, 7))


def test_pooling():
    # The query 2 meets keys ln 2 / 2 and 0: 2 to 1, so 2/3 x ln 2 / 2.
    pooling = AttentionPooling(DotProductAttention, width=1)
    fill(pooling, query=2.0)
    close_to(pooling(torch.tensor([[LN2 / 2], [0.0]])), [LN2 / 3])


# What tutorials show.


def test_tutorial_output_and_weights():
    attention, (query, key, value) = ScaledDotProductAttention(), torch.randn(3, 2, 5, 3)
    mask = torch.ones(2, 1, 5, dtype=torch.bool)
    output, weights = attention(query, key, value, mask), attention.weights(query, key, mask)
    assert output.shape == (2, 5, 3) and weights.shape == (2, 5, 5)
    close_to(output, weights @ value)


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
