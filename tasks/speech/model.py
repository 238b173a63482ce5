"""Listen, attend and spell (Chan et al. 2016; Chorowski et al. 2015): a sound becomes frames once, and characters
follow one by one, each after a look at the frames; CTC teaches the frames as well (Kim et al. 2017)."""

from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from core.attention import AttentionFactory, LocalAttention, PositionBasedAttention, WithPosition
from core.decode import Decoded, greedy
from core.demo import Demo
from core.layers import Dropout, Encoder, SinusoidalPositions
from core.recurrent import Read, RecurrentDecoder, RecurrentEncoder, RecurrentState
from tasks.speech.characters import Characters
from tasks.speech.ctc import ctc_loss
from tasks.speech.examples import Batch
from tasks.speech.features import HOP, TOGETHER

NEVER = (Characters.PAD, Characters.UNKNOWN, Characters.START)
BY_PLACE = (LocalAttention, PositionBasedAttention, WithPosition)
ENCODERS = ("recurrent", "transformer")


class Subsampling(nn.Module):
    """Two convolutions over time and frequency, each of which halves both: a frame for every four."""

    def __init__(self, *, mels: int, channels: int, width: int, dropout: float) -> None:
        super().__init__()
        self.first = nn.Conv2d(1, channels, 3, stride=2, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, stride=2, padding=1)
        self.project = nn.Linear(channels * -(-mels // TOGETHER), width)
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)

    def forward(
        self, features: Float[Tensor, "B F M"], frames: Bool[Tensor, "B F"]
    ) -> tuple[Float[Tensor, "B K D"], Bool[Tensor, "B 1 K"]]:
        """Frames of the encoder, and which of them are there. Padding stays 0 all the way, so it changes nothing."""
        hidden = features.unsqueeze(1)
        for convolution in (self.first, self.second):
            frames = frames[:, ::2]
            hidden = convolution(hidden).relu() * frames[:, None, :, None]
        hidden = self.project(hidden.transpose(1, 2).flatten(2))
        return self.dropout(self.norm(hidden)), frames.unsqueeze(1)


class Speech(Demo):
    """An encoder of frames, `recurrent` (a bidirectional GRU) or `transformer`, and a GRU that looks at them and
    spells. `ctc` is the share of the auxiliary loss; `character_dropout` that of the characters said before which the
    speller is not told in training, so that it has to listen."""

    def __init__(
        self,
        *,
        attention: AttentionFactory,
        vocabulary: int,
        mels: int,
        encoder: str,
        channels: int,
        width: int,
        layers: int,
        heads: int,
        hidden: int,
        gaze_heads: int,
        dropout: float,
        character_dropout: float,
        label_smoothing: float,
        ctc: float,
        max_length: int,
        max_seconds: float,
        learning_rate: float,
        warmup_steps: int,
        weight_decay: float,
    ) -> None:
        super().__init__(learning_rate=learning_rate, warmup_steps=warmup_steps, weight_decay=weight_decay)
        shares = {"character_dropout": character_dropout, "label_smoothing": label_smoothing, "ctc": ctc}
        for name, share in shares.items():
            if not 0.0 <= share < 1.0:
                raise ValueError(f"{name} lies between 0 and 1, without 1; got {share}")
        if encoder not in ENCODERS:
            raise ValueError(f"encoder is one of {', '.join(ENCODERS)}; got {encoder!r}")
        self.max_length, self.ctc, self.label_smoothing = max_length, ctc, label_smoothing
        self.character_dropout = character_dropout
        self.subsampling = Subsampling(mels=mels, channels=channels, width=width, dropout=dropout)
        self.positions: SinusoidalPositions | None = None
        if encoder == "recurrent":
            self.encoder = RecurrentEncoder(width=width, layers=layers, dropout=dropout)
        else:
            self.positions = SinusoidalPositions(width=width, max_length=frames_at_most(max_seconds))
            self.encoder = Encoder(layers=layers, width=width, heads=heads, hidden=hidden, dropout=dropout)
        self.labels = nn.Linear(width, vocabulary)
        self.embedding = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        self.decoder = RecurrentDecoder(width=width, gaze=attention, gaze_heads=gaze_heads)
        self.dropout = Dropout(dropout)
        refuse_places(self.decoder)
        self.decode: Callable[..., list[Decoded]] = greedy
        """How characters are chosen: `greedy`, or a partial of `sample` or `beam`."""

    def listen(self, batch: Batch) -> tuple[Read, Bool[Tensor, "B 1 K"]]:
        """Every frame in its context, what is left of the whole sound, and which frames are there."""
        with in_single(batch.features):
            return self.read(batch)

    def read(self, batch: Batch) -> tuple[Read, Bool[Tensor, "B 1 K"]]:
        frames, mask = self.subsampling(batch.features, batch.frames)
        if isinstance(self.encoder, RecurrentEncoder):
            states, last = self.encoder(frames, mask)
            return Read(self.dropout(states), last), mask
        assert self.positions is not None
        states = self.encoder(self.positions(frames), mask)
        weights = mask.transpose(-2, -1).to(states.dtype)
        mean = (states * weights).sum(dim=1) / weights.sum(dim=1)
        return Read(self.dropout(states), mean), mask

    def step(self, tokens: Int[Tensor, "B T"], state: RecurrentState) -> tuple[Float[Tensor, "B T V"], RecurrentState]:
        """Logits after each character, and the state after them."""
        with in_single(tokens):
            embedded = self.embedding(self.some_unknown(tokens)) * self.embedding.embedding_dim**0.5
            outputs, state = self.decoder(self.dropout(embedded), state)
            return F.linear(self.dropout(outputs), self.embedding.weight), state

    def some_unknown(self, tokens: Int[Tensor, "B T"]) -> Int[Tensor, "B T"]:
        """In training, some characters said before are not told (word dropout, Bowman et al. 2016)."""
        if not self.training or not self.character_dropout:
            return tokens
        lost = (torch.rand(tokens.shape, device=tokens.device) < self.character_dropout) & (tokens != Characters.START)
        return tokens.masked_fill(lost, Characters.UNKNOWN)

    def encode(self, batch: Batch) -> RecurrentState:
        """The state before the first character."""
        return self.begin(*self.listen(batch))

    def begin(self, read: Read, mask: Bool[Tensor, "B 1 K"]) -> RecurrentState:
        with in_single(mask):
            return self.decoder.begin(read, mask)

    def forward(self, batch: Batch) -> Float[Tensor, "B T V"]:
        logits, _ = self.step(batch.target[:, :-1], self.encode(batch))
        return logits

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        """Of the characters, and of CTC while training."""
        read, mask = self.listen(batch)
        logits, _ = self.step(batch.target[:, :-1], self.begin(read, mask))
        spelling = F.cross_entropy(
            logits.flatten(0, 1),
            batch.target[:, 1:].flatten(),
            ignore_index=Characters.PAD,
            label_smoothing=self.label_smoothing if self.training else 0.0,
        )
        if not self.training or not self.ctc:
            return spelling
        lengths = (batch.target != Characters.PAD).sum(dim=-1) - 2
        frames = mask.sum(dim=-1).squeeze(-1)
        with in_single(mask):
            labels = self.labels(read.states)
        aligned = ctc_loss(labels, frames, batch.target[:, 1:-1], lengths, blank=Characters.PAD)
        return (1.0 - self.ctc) * spelling + self.ctc * aligned

    def log_probabilities(self, batch: Batch) -> Float[Tensor, "B T"]:
        """Of each character and of the end after them."""
        return self(batch).log_softmax(dim=-1).gather(-1, batch.target[:, 1:, None]).squeeze(-1)

    def tokens(self, batch: Batch) -> int:
        return int((batch.target[:, 1:] != Characters.PAD).sum())

    def generate(self, batch: Batch) -> list[Decoded]:
        """A transcript of each row by `self.decode`, of at most a character a frame and ten more."""
        state = self.encode(batch)
        limits = (state.source_mask.sum(dim=-1).squeeze(-1) + 10).clamp(max=self.max_length - 1)
        return self.decode(self.step, state, start=Characters.START, end=Characters.END, limits=limits, never=NEVER)

    @property
    def gaze(self) -> list[str]:
        return ["decoder.gaze"]


def in_single(like: Tensor) -> torch.autocast:
    """Single precision, whatever is around: small recurrent networks are slower in bfloat16 on a CPU, by a third."""
    return torch.autocast(like.device.type, enabled=False)


def frames_at_most(seconds: float) -> int:
    return int(seconds / (HOP * TOGETHER)) + 3


def refuse_places(decoder: nn.Module) -> None:
    """Raises ValueError for a mechanism that compares the number of a character with the number of a frame."""
    for name, module in decoder.named_modules():
        if isinstance(module, BY_PLACE) and "gaze" in name:
            raise ValueError(
                f"{type(module).__name__} has no meaning over speech: it compares the number of a character with the "
                "number of a frame, and nobody speaks a character a frame. Those that fit: location, local_predictive, "
                "scaled_dot, dot, cosine, content, general, additive, multi_head, unconditional and mean"
            )
