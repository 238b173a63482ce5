"""A recurrent translator (Bahdanau et al. 2015; Luong et al. 2015). Its gaze is the decoder's look at the source."""

from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn import functional as F

from core.attention import AttentionFactory
from core.layers import Dropout, ambient
from core.recurrent import Read, RecurrentDecoder, RecurrentEncoder, RecurrentState
from tasks.translation.model import Translation


class RecurrentTranslation(Translation):
    """Bidirectional GRU, GRU with attention, and one table of embeddings for source, target and output."""

    def __init__(
        self,
        *,
        attention: AttentionFactory,
        vocabulary: int,
        width: int,
        gaze_heads: int,
        encoder_layers: int,
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
        self.embedding = nn.Embedding(vocabulary, width)
        nn.init.normal_(self.embedding.weight, std=width**-0.5)
        self.encoder = RecurrentEncoder(width=width, layers=encoder_layers, dropout=dropout)
        self.decoder = RecurrentDecoder(width=width, gaze=attention, gaze_heads=gaze_heads)
        self.dropout = Dropout(dropout)

    def embed(self, tokens: Int[Tensor, "B T"]) -> Float[Tensor, "B T D"]:
        return self.dropout(ambient(self.embedding(tokens) * self.embedding.embedding_dim**0.5))

    def encode(self, source: Int[Tensor, "B S"], source_mask: Bool[Tensor, "B 1 S"]) -> RecurrentState:
        states, last = self.encoder(self.embed(source), source_mask)
        return self.decoder.begin(Read(self.dropout(states), last), source_mask)

    def step(self, tokens: Int[Tensor, "B T"], state: RecurrentState) -> tuple[Float[Tensor, "B T V"], RecurrentState]:
        outputs, state = self.decoder(self.embed(tokens), state)
        return F.linear(self.dropout(outputs), self.embedding.weight), state

    @property
    def gaze(self) -> list[str]:
        return ["decoder.gaze"]
