"""A recurrent decoder that looks at a grid before every word (Xu et al. 2015), after its step (Luong et al. 2015)."""

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from core.attention import AttentionFactory, Prepared, bare
from core.decode import take
from core.layers import Dropout


class LookingState(NamedTuple):
    """All that a step needs besides its inputs. The caller holds it; no module keeps it."""

    source: Prepared
    """Of each row; or of fewer pictures, each of which has as many rows as any other, one after the other."""
    hidden: Float[Tensor, "R D"]
    heard: Float[Tensor, "R D"]
    """Of the second network, where there is one."""
    first: int

    def follow(self, rows: Int[Tensor, " N"]) -> "LookingState":
        """Row n goes on from row `rows[n]`, which has the same picture."""
        return self._replace(hidden=take(self.hidden, rows), heard=take(self.heard, rows))

    def take(self, rows: Int[Tensor, " N"]) -> "LookingState":
        """Row n is row `rows[n]`, picture and all."""
        return take(self, rows)


class LookingDecoder(nn.Module):
    """A GRU reads the words so far; its state is the query. That state and what was seen, times a gate (Xu et al. 2015,
    section 4.2.1), say what comes next.

    The GRU does not hear what was seen: so a word that the picture decides needs a look of its own, at its own step,
    and all steps over a known caption are one call. With `remembers`, a second GRU behind the gaze hears what was seen
    at all steps so far, and speaks (Anderson et al. 2018). The gaze stands bare.
    """

    def __init__(self, *, width: int, gaze: AttentionFactory, gaze_heads: int, dropout: float, remembers: bool) -> None:
        super().__init__()
        self.recurrent = nn.GRU(width, width, batch_first=True)
        self.ask = nn.Linear(width, width)
        self.offer = nn.Linear(width, width)
        self.gaze = bare(gaze, width=width, heads=gaze_heads)
        self.gate = nn.Linear(width, 1)
        self.speaker = nn.GRU(2 * width, width, batch_first=True) if remembers else None
        self.combine = nn.Linear(2 * width, width)
        self.dropout = Dropout(dropout)

    def begin(self, grid: Float[Tensor, "N K D"], owner: Int[Tensor, " R"], *, together: bool = False) -> LookingState:
        """The state before the first word of rows that each look at one picture, by its number. `together` lets the
        rows of a picture ask in one go where every picture has equally many: cheaper, and the same."""
        prepared = self.gaze.prepare(self.offer(grid), grid)
        if not (together and shared_evenly(owner, len(grid))):
            prepared = take(prepared, owner)
        nothing = grid.new_zeros(len(owner), grid.shape[-1])
        return LookingState(prepared, nothing, nothing, first=0)

    def look(self, asked: Float[Tensor, "R T D"], state: LookingState) -> Float[Tensor, "R T D"]:
        return self.gaze(by_picture(asked, state), state.source, first=state.first).reshape(asked.shape)

    def forward(
        self, inputs: Float[Tensor, "R T D"], state: LookingState
    ) -> tuple[Float[Tensor, "R T D"], LookingState]:
        """Outputs after each input, one or many, and the state after them."""
        outputs, _, state = self.steps(inputs, state)
        return outputs, state

    def steps(
        self, inputs: Float[Tensor, "R T D"], state: LookingState
    ) -> tuple[Float[Tensor, "R T D"], Float[Tensor, "R T D"], LookingState]:
        """The same, and what the gaze was asked."""
        read, hidden = run(self.recurrent, inputs, state.hidden)
        asked = self.ask(read)
        seen = self.look(asked, state).to(read.dtype) * self.gate(read).sigmoid()
        both = self.dropout(torch.cat([read, seen], dim=-1))
        heard = state.heard
        if self.speaker:
            said, heard = run(self.speaker, both, state.heard)
            both = self.dropout(torch.cat([said, seen], dim=-1))
        outputs = self.combine(both).tanh()
        return outputs, asked, state._replace(hidden=hidden, heard=heard, first=state.first + inputs.shape[1])

    def unevenness(self, asked: Float[Tensor, "R T D"], state: LookingState, said: Bool[Tensor, "R T"]) -> Tensor:
        """How far the looks of a caption together are from giving each cell its even share (Xu et al. 2015, equation
        14; the share here is T / K, so that it is 0 for looking everywhere alike)."""
        weights = self.gaze.weights(by_picture(asked, state), state.source)
        weights = weights.mean(dim=-3) if weights.dim() > 3 else weights
        weights = weights.reshape(*asked.shape[:-1], -1)
        total = (weights * said.unsqueeze(-1)).sum(dim=-2)
        share = said.sum(dim=-1, keepdim=True) / weights.shape[-1]
        return ((share - total) ** 2).sum(dim=-1).mean()


def run(
    network: nn.GRU, inputs: Float[Tensor, "R T _"], before: Float[Tensor, "R D"]
) -> tuple[Float[Tensor, "R T D"], Float[Tensor, "R D"]]:
    outputs, after = network(inputs, before.to(inputs.dtype).unsqueeze(0).contiguous())
    return outputs, after.squeeze(0)


def by_picture(asked: Float[Tensor, "R T D"], state: LookingState) -> Float[Tensor, "N Q D"]:
    return asked.reshape(len(state.source.keys), -1, asked.shape[-1])


def shared_evenly(owner: Int[Tensor, " R"], pictures: int) -> bool:
    """Whether each picture has as many rows as any other, one after the other."""
    each = len(owner) // max(1, pictures)
    even = torch.arange(pictures, device=owner.device).repeat_interleave(each)
    return len(even) == len(owner) and torch.equal(even, owner)
