"""A transformer that translates (Vaswani et al. 2017). Its gaze is the decoder's look at the source."""

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from core.attention import AttentionFactory
from core.layers import Decoder, DecoderState, Dropout, Encoder, SinusoidalPositions, ambient
from tasks.translation.model import Translation


class TransformerTranslation(Translation):
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
        super().__init__(
            label_smoothing=label_smoothing,
            max_length=max_length,
            learning_rate=learning_rate,
            warmup_steps=warmup_steps,
            weight_decay=weight_decay,
        )
        if decoder_layers < 1:
            raise ValueError(f"without a decoder layer there is no gaze: decoder_layers is {decoder_layers}")
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
        return self.decoder.begin(self.encoder(self.embed(source), source_mask), source_mask)

    def step(self, tokens: Int[Tensor, "B T"], state: DecoderState) -> tuple[Float[Tensor, "B T V"], DecoderState]:
        decoded, state = self.decoder(self.embed(tokens, first=state.first), state)
        return F.linear(decoded, self.embedding.weight), state

    @property
    def gaze(self) -> list[str]:
        return [f"decoder.layers.{number}.gaze" for number in range(len(self.decoder.layers))]
