"""record(): what it keeps, what it joins, what it refuses, and that nobody notices it."""

from functools import partial

import pytest
import torch
from torch import Tensor, nn

from core import masks
from core.attention import (
    AdditiveAttention,
    AttentionPooling,
    MultiHeadAttention,
    ScaledDotProductAttention,
    UnconditionalAttention,
)
from core.record import outermost_attention, record

B, H, Q, K, D = 3, 2, 5, 11, 14


class Reader(nn.Module):
    """Two attentions of ours, one with heads and one without, and a pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.look = MultiHeadAttention(partial(ScaledDotProductAttention, dropout=0.2), query_dim=D, heads=H)
        self.layers = nn.ModuleList([AdditiveAttention(query_dim=D, key_dim=D)])
        self.pool = AttentionPooling(UnconditionalAttention, width=D)

    def forward(self, query: Tensor, source: Tensor, mask: Tensor | None = None) -> Tensor:
        hidden = self.look(query, source, source, mask)
        return self.pool(self.layers[0](query=hidden, keys=source, values=source, mask=mask))


class Foreign(nn.Module):
    """Somebody else's model, of torch's own parts."""

    def __init__(self, **options: bool) -> None:
        super().__init__()
        self.encoder = nn.TransformerEncoderLayer(D, H, 16, dropout=0.1, **options)
        self.decoder = nn.TransformerDecoder(nn.TransformerDecoderLayer(D, H, 16, dropout=0.1, **options), 2)

    def forward(self, source: Tensor, target: Tensor, padding: Tensor | None = None) -> Tensor:
        causal = nn.Transformer.generate_square_subsequent_mask(Q)
        memory = self.encoder(source, src_key_padding_mask=padding)
        return self.decoder(target, memory, tgt_mask=causal, memory_key_padding_mask=padding)


FOREIGN = {
    "encoder.self_attn": (B, H, K, K),
    "decoder.layers.0.self_attn": (B, H, Q, Q),
    "decoder.layers.0.multihead_attn": (B, H, Q, K),
    "decoder.layers.1.self_attn": (B, H, Q, Q),
    "decoder.layers.1.multihead_attn": (B, H, Q, K),
}


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


@pytest.fixture
def reader() -> Reader:
    return Reader()


@pytest.fixture
def inputs() -> tuple[Tensor, Tensor]:
    return torch.randn(B, Q, D), torch.randn(B, K, D)


def close(found: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(found, expected, rtol=0, atol=1e-6)


def test_maps_by_dotted_name(reader, inputs):
    mask = masks.padding(torch.tensor([K, 3, 7]), K)
    with record(reader) as maps:
        reader(*inputs, mask)
    assert {name: tuple(each.shape) for name, each in maps.items()} == {
        "look": (B, H, Q, K),
        "layers.0": (B, Q, K),
        "pool.attention": (B, 1, Q),
    }
    close(maps["look"], reader.look.weights(*inputs, mask))
    assert not any(each.requires_grad for each in maps.values())


def test_a_model_that_is_an_attention(inputs):
    attention = MultiHeadAttention(ScaledDotProductAttention, query_dim=D, heads=H)
    with record(attention) as maps:
        attention(*inputs, inputs[1])
    close(maps[""], attention.weights(*inputs))


def test_outermost_only(reader):
    assert list(outermost_attention(reader)) == ["look", "layers.0", "pool.attention"]
    assert list(outermost_attention(reader.look)) == [""]


@pytest.mark.parametrize("train", [True, False], ids=["train", "eval"])
def test_nobody_notices(reader, inputs, train):
    reader.train(train)
    found = []
    for looking in (False, True):
        torch.manual_seed(1)
        if looking:
            with record(reader) as maps:
                output = reader(*inputs)
            assert len(maps) == 3
        else:
            output = reader(*inputs)
        found.append((output, torch.get_rng_state(), *torch.autograd.grad(output.sum(), list(reader.parameters()))))
    assert all(torch.equal(without, recorded) for without, recorded in zip(*found, strict=True))
    assert reader.training == train


def test_choosing_modules_heads_and_rows(reader, inputs):
    reader.eval()
    with record(reader) as everything:
        reader(*inputs)
    with record(reader, modules=["look", "layers.0"], heads=[1], rows=[2, 0]) as maps:
        reader(*inputs)
    assert list(maps) == ["look", "layers.0"]
    close(maps["look"], everything["look"][[2, 0]][:, [1]])
    close(maps["layers.0"], everything["layers.0"][[2, 0]])  # no heads to choose from


@pytest.mark.parametrize("mask", [(B, 1, K), (B, Q, K), (1, 1, K), (Q, K), (K,)], ids=str)
@pytest.mark.parametrize("prepared", [False, True], ids=["raw", "prepared"])
def test_only_the_rows_that_are_kept_are_computed(inputs, mask, prepared, monkeypatch):
    attention, (query, keys) = MultiHeadAttention(AdditiveAttention, query_dim=D, heads=H), inputs
    mask = torch.rand(mask) > 0.4
    expected = attention.weights(query, keys, mask)[:1]
    asked, weights = [], attention.weights
    monkeypatch.setattr(attention, "weights", lambda *args, **kwargs: asked.append(args) or weights(*args, **kwargs))
    with record(attention, rows=[0]) as maps:
        attention(query, attention.prepare(keys, keys), mask=mask) if prepared else attention(query, keys, keys, mask)
    assert asked[0][0].shape == (1, Q, D)
    close(maps[""], expected)


@pytest.mark.parametrize("start", [0, 4])
def test_steps_of_one_generation_are_joined(start):
    attention, tokens = MultiHeadAttention(AdditiveAttention, query_dim=D, heads=H), torch.randn(B, K, D)
    mask = masks.causal(K, K)
    past = attention.prepare(tokens[:, :start], tokens[:, :start])
    with record(attention) as maps:
        for first, count in [(start, 3), (start + 3, 1), (start + 4, 2)]:
            new = tokens[:, first : first + count]
            past = past.extend(attention.prepare(new, new))
            attention(new, past, mask=masks.causal(count, first + count), first=first)
    assert maps[""].shape == (B, H, 6, start + 6)
    close(maps[""], attention.weights(tokens, tokens, mask)[..., start : start + 6, : start + 6])


def test_steps_that_look_at_one_source_are_joined(reader, inputs):
    query, source = inputs
    with record(reader, modules=["look"]) as maps:
        for step in range(Q):
            reader.look(query[:, step : step + 1], source, source, first=step)
    close(maps["look"], reader.look.weights(query, source))


@pytest.mark.parametrize(
    "second", [{"first": 0}, {"first": Q + 1}, {"first": Q, "keys": K - 1}, {"first": Q, "batch": B - 1}], ids=str
)
def test_a_second_forward_pass_is_refused(reader, inputs, second):
    query, source = inputs
    batch, keys, first = second.get("batch", B), second.get("keys", K), second["first"]
    with pytest.raises(RuntimeError, match=f"look was called again, with first={first}.*record one forward pass"):
        with record(reader) as maps:
            reader.look(query, source, source)
            reader.look(query[:batch], source[:batch, :keys], source[:batch, :keys], first=first)
    close(maps["look"], reader.look.weights(query, source))
    assert no_hooks(reader)


def test_two_recordings_do_not_mix(reader, inputs):
    for _ in range(2):
        with record(reader) as maps:
            reader(*inputs)
        assert maps["look"].shape == (B, H, Q, K)


def test_what_is_refused(reader, inputs):
    with pytest.raises(RuntimeError, match=r"caught nothing: none of \['look', 'layers.0', 'pool.attention'\]"):
        with record(reader):
            pass
    with pytest.raises(ValueError, match=r"\['looks'\] is no attention of this model; it has \['look', "):
        with record(reader, modules=["looks"]):
            raise AssertionError("not reached")
    with pytest.raises(ValueError, match="no attention modules"):
        with record(nn.Linear(2, 2)):
            raise AssertionError("not reached")
    with pytest.raises(ValueError, match="pool.attention got a query without a batch axis"):
        with record(reader, modules=["pool.attention"], rows=[0]):
            reader.pool(inputs[0][0])
    assert no_hooks(reader)


def test_one_module_of_one_example_takes_the_memory_of_that_map_alone(reader, inputs):
    with record(reader, modules=["look"], rows=[1], heads=[0]) as maps:
        reader(*inputs)
    assert list(maps) == ["look"]
    assert maps["look"].untyped_storage().nbytes() == Q * K * maps["look"].element_size()


def no_hooks(model: nn.Module) -> bool:
    return not any(module._forward_hooks for module in model.modules())


def test_hooks_are_removed(reader, inputs):
    with record(reader):
        reader(*inputs)
        assert not no_hooks(reader)
    assert no_hooks(reader)
    with pytest.raises(KeyError, match="mine"):
        with record(reader):
            raise KeyError("mine")
    assert no_hooks(reader)


# Somebody else's model.


@pytest.mark.parametrize("train", [True, False], ids=["train", "eval"])
@pytest.mark.parametrize("batch_first", [True, False], ids=["batch first", "time first"])
def test_a_foreign_model(batch_first, train):
    model = Foreign(batch_first=batch_first).train(train)
    source, target = torch.randn(B, K, D), torch.randn(B, Q, D)
    if not batch_first:
        source, target = source.transpose(0, 1), target.transpose(0, 1)
    real = masks.padding(torch.tensor([K, 3, 7]), K)
    found = []
    for looking in (False, True):
        torch.manual_seed(1)
        if looking:
            with record(model) as maps:
                output = model(source, target, ~real.squeeze(1))
        else:
            output = model(source, target, ~real.squeeze(1))
        found.append((output, torch.get_rng_state()))
    assert all(torch.equal(without, recorded) for without, recorded in zip(*found, strict=True))
    assert model.decoder.layers[0].self_attn.training == train
    assert {name: tuple(each.shape) for name, each in maps.items()} == FOREIGN
    for name, weights in maps.items():
        close(weights.sum(-1), torch.ones(weights.shape[:-1]))  # the distribution before dropout
        mask = masks.causal(Q, Q) if name.startswith("decoder") and "self" in name else real.unsqueeze(1)
        assert weights[~mask.expand_as(weights)].eq(0).all()
    torch.manual_seed(1)
    with record(model, modules=["encoder.self_attn"], heads=[1], rows=[2]) as chosen:
        model(source, target, ~real.squeeze(1))
    close(chosen["encoder.self_attn"], maps["encoder.self_attn"][2:, 1:])


@pytest.mark.filterwarnings("ignore:.*nested tensors")
def test_a_foreign_encoder_where_torch_would_pack_the_batch():
    """In eval mode without gradients torch drops the padding, and shows nothing to hooks on its fused path."""
    model = nn.TransformerEncoder(nn.TransformerEncoderLayer(D, H, 16, batch_first=True), 2).eval()
    source, real = torch.randn(B, K, D), masks.padding(torch.tensor([K, 3, 7]), K)
    with torch.no_grad(), record(model) as maps:
        recorded = model(source, src_key_padding_mask=~real.squeeze(1))
    with torch.no_grad():
        close(recorded, model(source, src_key_padding_mask=~real.squeeze(1)))
    for weights in maps.values():
        assert weights.shape == (B, H, K, K) and weights[~real.unsqueeze(1).expand_as(weights)].eq(0).all()
        sums = weights.sum(-1).transpose(1, 2)
        close(sums[real.squeeze(1)], torch.ones_like(sums[real.squeeze(1)]))


@pytest.mark.parametrize("batch_first", [True, False], ids=["batch first", "time first"])
def test_a_foreign_attention(batch_first):
    attention = nn.MultiheadAttention(D, H, dropout=0.5, batch_first=batch_first)
    query, keys = torch.randn(Q, D), torch.randn(K, D)
    with record(attention, heads=[1]) as maps:
        attention(query, keys, keys)  # without a batch axis
    assert maps[""].shape == (1, Q, K)
    close(maps[""].sum(-1), torch.ones(1, Q))
    with pytest.raises(RuntimeError, match="the model was called again"):
        with record(attention):
            attention(query, keys, keys)
            attention(query, keys, keys)


def test_a_foreign_sample_without_keys():
    attention = nn.MultiheadAttention(D, H, batch_first=True)
    inputs = torch.randn(B, K, D, requires_grad=True)
    real = masks.padding(torch.tensor([K, 0, 7]), K)
    with record(attention) as maps:
        output, _ = attention(inputs, inputs, inputs, key_padding_mask=~real.squeeze(1), need_weights=False)
    assert maps[""][1].eq(0).all() and maps[""].isfinite().all()
    output[0].sum().backward()
    assert inputs.grad.isfinite().all()


def test_a_foreign_model_under_autocast():
    model = Foreign(batch_first=True)
    with torch.autocast("cpu", torch.bfloat16), record(model) as maps:
        model(torch.randn(B, K, D), torch.randn(B, Q, D))
    assert list(maps) == list(FOREIGN)
    assert all((each.sum(-1).float() - 1).abs().max() < 0.02 for each in maps.values())
