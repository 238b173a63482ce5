"""The parts of a transformer (Vaswani et al. 2017), with the norm in front of each part (Xiong et al. 2020).

The standard attention is everywhere except at the decoder's look at its source, the gaze: that one takes whatever
attention it is given, so that mechanisms can be compared.
"""

from collections.abc import Iterable
from typing import NamedTuple, cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from core.attention import AttentionFactory, Prepared, ScaledDotProductAttention, multi_head
from core.decode import take
from core.masks import causal


class Dropout(nn.Module):
    """Dropout whose mask costs about a fifth of `nn.Dropout`'s on a CPU, where that one draws number after number.

    It compares the bytes of random 64-bit integers, so the rate comes in 256ths; what is kept is scaled by the true
    rate. On two cores the usual one took a seventh of a training step.
    """

    def __init__(self, rate: float) -> None:
        super().__init__()
        if not 0.0 <= rate < 1.0:
            raise ValueError(f"a dropout rate lies between 0 and 1, without 1; got {rate}")
        self.dropped = min(255, round(rate * 256))

    def forward(self, inputs: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
        if not self.training or not self.dropped:
            return inputs
        numbers = torch.empty(-(-inputs.numel() // 8), dtype=torch.int64, device=inputs.device).random_(-(2**63), None)
        kept = numbers.view(torch.uint8)[: inputs.numel()].view(inputs.shape) >= self.dropped
        return inputs * kept.to(inputs.dtype).mul_(256 / (256 - self.dropped))


class SinusoidalPositions(nn.Module):
    """Adds sines and cosines of the place (Vaswani et al. 2017, section 3.5). Any width, also an odd one."""

    waves: Tensor

    def __init__(self, *, width: int, max_length: int) -> None:
        super().__init__()
        places = torch.arange(max_length).unsqueeze(-1)
        rates = 10_000 ** (-torch.arange(0, width, 2) / width)
        waves = torch.stack([(places * rates).sin(), (places * rates).cos()], dim=-1).flatten(-2)
        self.register_buffer("waves", waves[:, :width], persistent=False)

    def forward(self, inputs: Float[Tensor, "*B T D"], *, first: int = 0) -> Float[Tensor, "*B T D"]:
        """`first` is the place of the first input.

        Raises:
            ValueError: past `max_length`, naming both.
        """
        stop = first + inputs.shape[-2]
        if stop > self.waves.shape[0]:
            raise ValueError(f"a sequence of {stop} tokens is longer than max_length={self.waves.shape[0]}")
        return inputs + self.waves[first:stop].to(inputs.dtype)


class FeedForward(nn.Module):
    """The same small network at every place (Vaswani et al. 2017, equation 2)."""

    def __init__(self, *, width: int, hidden: int) -> None:
        super().__init__()
        self.widen = nn.Linear(width, hidden)
        self.narrow = nn.Linear(hidden, width)

    def forward(self, inputs: Float[Tensor, "*B T D"]) -> Float[Tensor, "*B T D"]:
        return self.narrow(self.widen(inputs).relu())


class EncoderLayer(nn.Module):
    """Every token looks at all others, then thinks for itself."""

    def __init__(
        self,
        *,
        width: int,
        heads: int,
        hidden: int,
        dropout: float,
        attention: AttentionFactory = ScaledDotProductAttention,
    ) -> None:
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = multi_head(attention, width=width, heads=heads)
        self.feed_forward_norm = nn.LayerNorm(width)
        self.feed_forward = FeedForward(width=width, hidden=hidden)
        self.dropout = Dropout(dropout)

    def forward(self, inputs: Float[Tensor, "B T D"], mask: Tensor | None = None) -> Float[Tensor, "B T D"]:
        normed = self.attention_norm(inputs)
        inputs = inputs + self.dropout(self.attention(normed, normed, normed, mask))
        return inputs + self.dropout(self.feed_forward(self.feed_forward_norm(inputs)))


class Encoder(nn.Module):
    """Encoder layers and a last norm."""

    def __init__(self, *, layers: int, width: int, heads: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            EncoderLayer(width=width, heads=heads, hidden=hidden, dropout=dropout) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, inputs: Float[Tensor, "B T D"], mask: Bool[Tensor, "B 1 T"]) -> Float[Tensor, "B T D"]:
        for layer in self.layers:
            inputs = layer(inputs, mask)
        return self.norm(inputs)


class DecoderLayer(nn.Module):
    """Every token looks back at its own past, then at the source (the gaze), then thinks for itself."""

    def __init__(
        self, *, width: int, heads: int, hidden: int, dropout: float, gaze: AttentionFactory, gaze_heads: int
    ) -> None:
        super().__init__()
        self.self_attention_norm = nn.LayerNorm(width)
        self.self_attention = multi_head(ScaledDotProductAttention, width=width, heads=heads)
        self.gaze_norm = nn.LayerNorm(width)
        self.gaze = multi_head(gaze, width=width, heads=gaze_heads)
        self.feed_forward_norm = nn.LayerNorm(width)
        self.feed_forward = FeedForward(width=width, hidden=hidden)
        self.dropout = Dropout(dropout)

    def forward(
        self,
        inputs: Float[Tensor, "B T D"],
        past: Prepared | None,
        source: Prepared,
        source_mask: Bool[Tensor, "B 1 S"],
        *,
        first: int,
    ) -> tuple[Float[Tensor, "B T D"], Prepared, Prepared]:
        """Returns the outputs, the past with these inputs in it, and the source for what comes after them."""
        normed = self.self_attention_norm(inputs)
        seen = self.self_attention.prepare(normed, normed)
        seen = seen if past is None else past.extend(seen)
        mask = causal(normed.shape[-2], seen.keys.shape[-2], device=normed.device)
        inputs = inputs + self.dropout(self.self_attention(normed, seen, mask=mask, first=first))
        normed = self.gaze_norm(inputs)
        inputs = inputs + self.dropout(self.gaze(normed, source, mask=source_mask, first=first))
        source = self.gaze.onward(normed, source, source_mask, first=first)
        return inputs + self.dropout(self.feed_forward(self.feed_forward_norm(inputs))), seen, source


class DecoderState(NamedTuple):
    """All that a step needs besides its tokens, a `Prepared` a layer. The caller holds it; no module keeps it."""

    source: tuple[Prepared, ...]
    source_mask: Bool[Tensor, "B 1 S"]
    past: tuple[Prepared | None, ...]
    first: int

    def follow(self, rows: Int[Tensor, " N"]) -> "DecoderState":
        """Row n goes on from row `rows[n]`, which has the same source."""
        source = tuple(each.follow(rows) for each in self.source)
        return self._replace(source=source, past=take(self.past, rows))

    def take(self, rows: Int[Tensor, " N"]) -> "DecoderState":
        """Row n is row `rows[n]`, source and all."""
        return take(self, rows)


class Decoder(nn.Module):
    """Decoder layers and a last norm. One call over a whole target, or one a token: the same code, the same result."""

    def __init__(
        self,
        *,
        layers: int,
        width: int,
        heads: int,
        hidden: int,
        dropout: float,
        gaze: AttentionFactory,
        gaze_heads: int,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            DecoderLayer(width=width, heads=heads, hidden=hidden, dropout=dropout, gaze=gaze, gaze_heads=gaze_heads)
            for _ in range(layers)
        )
        self.norm = nn.LayerNorm(width)

    def begin(self, source: Float[Tensor, "B S D"], source_mask: Bool[Tensor, "B 1 S"]) -> DecoderState:
        """The state before the first token: the source prepared once for every layer, and no past."""
        prepared = tuple(layer.gaze.prepare(source, source) for layer in cast(Iterable[DecoderLayer], self.layers))
        return DecoderState(prepared, source_mask, past=(None,) * len(self.layers), first=0)

    def forward(
        self, inputs: Float[Tensor, "B T D"], state: DecoderState
    ) -> tuple[Float[Tensor, "B T D"], DecoderState]:
        pasts, sources = [], []
        for layer, past, source in zip(self.layers, state.past, state.source, strict=True):
            inputs, past, source = layer(inputs, past, source, state.source_mask, first=state.first)
            pasts.append(past)
            sources.append(source)
        first = state.first + inputs.shape[-2]
        return self.norm(inputs), DecoderState(tuple(sources), state.source_mask, tuple(pasts), first)


def ambient(inputs: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """The inputs in the precision that autocast multiplies in, if it is on.

    Layers that start from it stay in it. Left in float32, every one of their inputs would be cast again for every
    matrix product.
    """
    device = inputs.device.type
    return inputs.to(torch.get_autocast_dtype(device)) if torch.is_autocast_enabled(device) else inputs
