"""A captioner: a picture becomes a grid once, and words follow step by step, each after a look at the grid."""

from collections.abc import Callable
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from core.attention import (
    AttentionFactory,
    LocalAttention,
    LocationAttention,
    PositionBasedAttention,
    PredictiveLocalAttention,
    WithPosition,
)
from core.decode import Decoded, greedy
from core.demo import Demo
from core.layers import Decoder, Dropout, SinusoidalPositions, ambient
from tasks.captioning.examples import Batch
from tasks.captioning.grids import FeatureGrid, PictureGrid
from tasks.captioning.looking import LookingDecoder
from tasks.captioning.words import Words

NEVER = (Words.PAD, Words.UNKNOWN, Words.START)
BY_PLACE = (LocalAttention, PredictiveLocalAttention, LocationAttention, PositionBasedAttention, WithPosition)
DECODERS = ("recurrent", "transformer")


class Captioning(Demo):
    """An encoder of pictures, a decoder of words, and one table of embeddings for words in and out.

    `encoder` names the network whose features the data hold, with maps of these `shapes`; without it, a small one is
    trained with the decoder, on squares of `size` pixels, which it sees as `cells` by `cells`.
    """

    def __init__(
        self,
        *,
        attention: AttentionFactory,
        vocabulary: int,
        shapes: list[list[int]],
        encoder: str | None,
        decoder: str,
        size: int,
        cells: int,
        width: int,
        gaze_heads: int,
        dropout: float,
        label_smoothing: float,
        unevenness: float,
        remembers: bool,
        layers: int,
        heads: int,
        hidden: int,
        max_length: int,
        learning_rate: float,
        warmup_steps: int,
        weight_decay: float,
    ) -> None:
        super().__init__(learning_rate=learning_rate, warmup_steps=warmup_steps, weight_decay=weight_decay)
        if not 0.0 <= label_smoothing < 1.0 or unevenness < 0.0:
            raise ValueError(
                f"label_smoothing lies between 0 and 1, without 1, and unevenness is not below 0; got "
                f"{label_smoothing} and {unevenness}"
            )
        if decoder not in DECODERS:
            raise ValueError(f"decoder is one of {', '.join(DECODERS)}; got {decoder!r}")
        self.max_length, self.label_smoothing, self.unevenness = max_length, label_smoothing, unevenness
        self.grid = (
            FeatureGrid(shapes=shapes, width=width, dropout=dropout)
            if encoder
            else PictureGrid(size=size, cells=cells, width=width)
        )
        self.embedding = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        self.dropout = Dropout(dropout)
        self.positions: SinusoidalPositions | None = None
        if decoder == "recurrent":
            self.decoder = LookingDecoder(
                width=width, gaze=attention, gaze_heads=gaze_heads, dropout=dropout, remembers=remembers
            )
        else:
            self.positions = SinusoidalPositions(width=width, max_length=max_length + 1)
            sizes = {"width": width, "heads": heads, "hidden": hidden, "dropout": dropout}
            self.decoder = Decoder(layers=layers, gaze=attention, gaze_heads=gaze_heads, **sizes)
        refuse_places(self.decoder)
        self.decode: Callable[..., list[Decoded]] = greedy
        """How words are chosen: `greedy`, or a partial of `sample` or `beam`."""

    def embed(self, tokens: Int[Tensor, "B T"], *, first: int) -> Float[Tensor, "B T D"]:
        embedded = self.embedding(tokens) * self.embedding.embedding_dim**0.5
        return self.dropout(ambient(self.positions(embedded, first=first) if self.positions else embedded))

    def encode(self, batch: Batch, owner: Int[Tensor, " R"], *, together: bool = False) -> Any:
        """The state before the first word of captions, each of which has its picture by number; `together` as
        `LookingDecoder.begin` has it."""
        grid = self.grid(batch.pictures)
        if batch.blank is not None:
            grid = torch.where(batch.blank.unsqueeze(-1), grid.mean(dim=1, keepdim=True), grid)
        if isinstance(self.decoder, LookingDecoder):
            return self.decoder.begin(grid, owner, together=together)
        everywhere = torch.ones(len(owner), 1, grid.shape[1], dtype=torch.bool, device=grid.device)
        return self.decoder.begin(grid.index_select(0, owner), everywhere)

    def step(self, tokens: Int[Tensor, "B T"], state: Any) -> tuple[Float[Tensor, "B T V"], Any]:
        """Logits after each token, and the state after them."""
        decoded, state = self.decoder(self.embed(tokens, first=state.first), state)
        return self.words(decoded), state

    def words(self, decoded: Float[Tensor, "B T D"]) -> Float[Tensor, "B T V"]:
        return F.linear(self.dropout(decoded), self.embedding.weight)

    def forward(self, batch: Batch) -> Float[Tensor, "R T V"]:
        logits, _ = self.step(batch.target[:, :-1], self.encode(batch, batch.owner, together=True))
        return logits

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        if not self.training or not self.unevenness or not isinstance(self.decoder, LookingDecoder):
            return self.cross_entropy(self(batch), batch.target)
        state = self.encode(batch, batch.owner, together=True)
        said = batch.target[:, :-1]
        decoded, asked, _ = self.decoder.steps(self.embed(said, first=0), state)
        uneven = self.decoder.unevenness(asked, state, batch.target[:, 1:] != Words.PAD)
        return self.cross_entropy(self.words(decoded), batch.target) + self.unevenness * uneven

    def cross_entropy(self, logits: Float[Tensor, "R T V"], target: Int[Tensor, "R _"]) -> Float[Tensor, ""]:
        smoothing = self.label_smoothing if self.training else 0.0
        return F.cross_entropy(
            logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=Words.PAD, label_smoothing=smoothing
        )

    def log_probabilities(self, batch: Batch) -> Float[Tensor, "B T"]:
        """Of each word of the first caption of each example and of the end after them."""
        target = batch.target[batch.first]
        target = target[:, : int((target != Words.PAD).sum(dim=-1).max())]
        logits, _ = self.step(target[:, :-1], self.encode(batch, batch.shown))
        return logits.float().log_softmax(dim=-1).gather(-1, target[:, 1:, None]).squeeze(-1)

    def tokens(self, batch: Batch) -> int:
        return int((batch.target[:, 1:] != Words.PAD).sum())

    def generate(self, batch: Batch) -> list[Decoded]:
        """A caption of each example by `self.decode`."""
        limits = torch.full_like(batch.shown, self.max_length - 1)
        state = self.encode(batch, batch.shown)
        return self.decode(self.step, state, start=Words.START, end=Words.END, limits=limits, never=NEVER)

    @property
    def gaze(self) -> list[str]:
        if isinstance(self.decoder, LookingDecoder):
            return ["decoder.gaze"]
        return [f"decoder.layers.{number}.gaze" for number in range(len(self.decoder.layers))]


def refuse_places(decoder: nn.Module) -> None:
    """Raises ValueError for a mechanism that compares the number of a word with the number of a cell."""
    for name, module in decoder.named_modules():
        if isinstance(module, BY_PLACE) and "gaze" in name:
            raise ValueError(
                f"{type(module).__name__} has no meaning over a picture: it compares the place of a word in the "
                "caption with the number of a cell. Those that fit: scaled_dot, dot, cosine, content, general, "
                "additive, multi_head and unconditional"
            )
