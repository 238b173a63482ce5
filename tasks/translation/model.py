"""A transformer that translates (Vaswani et al. 2017). Its gaze is the decoder's look at the source."""

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from core.attention import AttentionFactory
from core.decode import Decoded, greedy
from core.demo import Demo
from core.layers import Decoder, DecoderState, Dropout, Encoder, SinusoidalPositions, ambient
from core.text import Tokenizer
from tasks.translation.data import Batch

NEVER = (Tokenizer.PAD, Tokenizer.UNKNOWN, Tokenizer.START)


class TransformerTranslation(Demo):
    """Encoder, decoder, and one table of embeddings for source, target and output (Press and Wolf 2017)."""

    def __init__(
        self,
        *,
        attention: AttentionFactory,
        vocabulary: int,
        width: int,
        heads: int,
        gaze_heads: int,
        encoder_layers: int,
        decoder_layers: int,
        hidden: int,
        dropout: float,
        label_smoothing: float,
        max_length: int,
        learning_rate: float,
        warmup_steps: int,
        weight_decay: float,
    ) -> None:
        super().__init__(learning_rate=learning_rate, warmup_steps=warmup_steps, weight_decay=weight_decay)
        if decoder_layers < 1:
            raise ValueError(f"without a decoder layer there is no gaze: decoder_layers is {decoder_layers}")
        if not 0.0 <= label_smoothing < 1.0:
            raise ValueError(f"label_smoothing lies between 0 and 1, without 1; got {label_smoothing}")
        self.max_length, self.label_smoothing = max_length, label_smoothing
        self.embedding = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        self.positions = SinusoidalPositions(width=width, max_length=max_length + 1)
        self.dropout = Dropout(dropout)
        layer = {"width": width, "heads": heads, "hidden": hidden, "dropout": dropout}
        self.encoder = Encoder(layers=encoder_layers, **layer)
        self.decoder = Decoder(layers=decoder_layers, gaze=attention, gaze_heads=gaze_heads, **layer)

    def embed(self, tokens: Int[Tensor, "B T"], *, first: int = 0) -> Float[Tensor, "B T D"]:
        embedded = self.embedding(tokens) * self.embedding.embedding_dim**0.5
        return self.dropout(ambient(self.positions(embedded, first=first)))

    def encode(self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B 1 S"]) -> DecoderState:
        """Reads the source; returns the state before the first target token."""
        return self.decoder.begin(self.encoder(self.embed(source), source_mask), source_mask)

    def step(self, tokens: Int[Tensor, "B T"], state: DecoderState) -> tuple[Float[Tensor, "B T V"], DecoderState]:
        """Logits after each token, one token or many, and the state after them."""
        decoded, state = self.decoder(self.embed(tokens, first=state.first), state)
        return F.linear(decoded, self.embedding.weight), state

    def forward(
        self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B 1 S"], target: Int[Tensor, "B T"]
    ) -> Float[Tensor, "B T V"]:
        logits, _ = self.step(target, self.encode(source, source_mask))
        return logits

    def loss(self, batch: Batch) -> Float[Tensor, ""]:
        logits = self(batch.source, batch.source_mask, batch.target[:, :-1])
        smoothing = self.label_smoothing if self.training else 0.0
        return F.cross_entropy(
            logits.flatten(0, 1), batch.target[:, 1:].flatten(), ignore_index=Tokenizer.PAD, label_smoothing=smoothing
        )

    def tokens(self, batch: Batch) -> int:
        return int((batch.target[:, 1:] != Tokenizer.PAD).sum())

    def generate(self, batch: Batch) -> list[Decoded]:
        """Greedy translation, at most twice as long as the source and ten pieces more."""
        lengths = batch.source_mask.sum(dim=-1).squeeze(-1)
        limits = (2 * lengths + 10).clamp(max=self.max_length - 1)
        state = self.encode(batch.source, batch.source_mask)
        return greedy(self.step, state, start=Tokenizer.START, end=Tokenizer.END, limits=limits, never=NEVER)

    @property
    def gaze(self) -> list[str]:
        return [f"decoder.layers.{number}.gaze" for number in range(len(self.decoder.layers))]
