"""The parts of a recurrent sequence-to-sequence model: a bidirectional encoder (Bahdanau et al. 2015), and a decoder
that attends after its recurrent step (Luong et al. 2015)."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from core.attention import AttentionFactory, Prepared, bare
from core.decode import take


class Read(NamedTuple):
    """What a recurrent encoder makes of a sequence."""

    states: Float[Tensor, "B T D"]
    """One for each input; zeros at padding."""
    last: Float[Tensor, "B D"]
    """What is left of the whole sequence: both directions at their ends."""


class RecurrentEncoder(nn.Module):
    """A bidirectional GRU, projected to the width of its inputs. Padding is not read, in either direction."""

    def __init__(self, *, width: int, layers: int, dropout: float) -> None:
        super().__init__()
        between = dropout if layers > 1 else 0.0
        self.recurrent = nn.GRU(width, width, layers, batch_first=True, bidirectional=True, dropout=between)
        self.narrow = nn.Linear(2 * width, width)
        self.narrow_last = nn.Linear(2 * width, width)

    def forward(self, inputs: Float[Tensor, "B T D"], mask: Bool[Tensor, "B 1 T"]) -> Read:
        """`mask` is True for the inputs that are there; each row has at least one, and padding comes last."""
        lengths = mask.sum(dim=-1).squeeze(-1).cpu()
        packed = pack_padded_sequence(inputs, lengths, batch_first=True, enforce_sorted=False)
        states, last = self.recurrent(packed)
        states, _ = pad_packed_sequence(states, batch_first=True, total_length=inputs.shape[1])
        both = last[-2:].transpose(0, 1).flatten(1)
        return Read(self.narrow(states), self.narrow_last(both).tanh())


class RecurrentState(NamedTuple):
    """All that a step needs besides its inputs. The caller holds it; no module keeps it."""

    source: Prepared
    source_mask: Bool[Tensor, "B 1 S"]
    hidden: Float[Tensor, "B D"]
    first: int

    def follow(self, rows: Int[Tensor, " N"]) -> "RecurrentState":
        """Row n goes on from row `rows[n]`, which has the same source."""
        return self._replace(source=self.source.follow(rows), hidden=take(self.hidden, rows))

    def take(self, rows: Int[Tensor, " N"]) -> "RecurrentState":
        """Row n is row `rows[n]`, source and all."""
        return take(self, rows)


class RecurrentDecoder(nn.Module):
    """A GRU that looks at the source after each step; both together say what comes next (Luong et al. 2015, eq. 5).

    The network never hears what was looked at, so all steps over a known sequence are one call, and the gaze is asked
    once for all of them. The gaze stands bare: no projections and no heads but its own.
    """

    def __init__(self, *, width: int, gaze: AttentionFactory, gaze_heads: int) -> None:
        super().__init__()
        self.recurrent = nn.GRU(width, width, batch_first=True)
        self.gaze = bare(gaze, width=width, heads=gaze_heads)
        self.combine = nn.Linear(2 * width, width)

    def begin(self, source: Read, source_mask: Bool[Tensor, "B 1 S"]) -> RecurrentState:
        """The state before the first input: the source prepared once, and what is left of it as the hidden state."""
        return RecurrentState(self.gaze.prepare(source.states, source.states), source_mask, source.last, first=0)

    def forward(
        self, inputs: Float[Tensor, "B T D"], state: RecurrentState
    ) -> tuple[Float[Tensor, "B T D"], RecurrentState]:
        """Outputs after each input, one or many, and the state after them."""
        said, hidden = self.recurrent(inputs, state.hidden.to(inputs.dtype).unsqueeze(0).contiguous())
        seen = self.gaze(said, state.source, mask=state.source_mask, first=state.first)
        outputs = self.combine(torch.cat([said, seen], dim=-1)).tanh()
        source = self.gaze.onward(said, state.source, state.source_mask, first=state.first)
        return outputs, RecurrentState(source, state.source_mask, hidden.squeeze(0), state.first + inputs.shape[1])
