"""What a captioner looks at: a picture as a grid of cells, each a vector."""

from collections.abc import Sequence

import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn import functional as F

from core.layers import Dropout, ambient
from tasks.captioning.encoders import HALVES
from tasks.captioning.pictures import normalised


class FeatureGrid(nn.Module):
    """The maps of a frozen encoder, the finest first, in one grid: each is narrowed on its own, and the coarser ones
    are enlarged to the finest and added (Lin et al. 2017, feature pyramids)."""

    def __init__(self, *, shapes: Sequence[Sequence[int]], width: int, dropout: float) -> None:
        super().__init__()
        (_, *grid), *_ = shapes
        self.narrow = nn.ModuleList(nn.Linear(channels, width) for channels, _, _ in shapes)
        self.scales = nn.ModuleList(nn.LayerNorm(channels) for channels, _, _ in shapes)
        self.places = nn.Parameter(torch.zeros(grid[0] * grid[1], width))
        self.norm = nn.LayerNorm(width)
        self.dropout = Dropout(dropout)

    def forward(self, pictures: Sequence[Float[Tensor, "N _ _ _"]]) -> Float[Tensor, "N K D"]:
        finest = pictures[0].shape[-2:]
        total = ambient(self.places.unflatten(0, finest).movedim(-1, 0).unsqueeze(0))
        for features, scale, narrow in zip(pictures, self.scales, self.narrow, strict=True):
            cells = narrow(self.dropout(ambient(scale(features.movedim(1, -1).float())))).movedim(-1, 1)
            larger = cells if cells.shape[-2:] == finest else F.interpolate(cells.float(), finest, mode="bilinear")
            total = total + larger.to(total.dtype)
        return ambient(self.norm(total.flatten(2).transpose(1, 2)))


class PictureGrid(nn.Module):
    """A small convolutional network, trained with the decoder: a cell sees little more than itself.

    A kernel of 3 that moves by 2 looks half a pixel up and to the left of the place that it stands for, or half a pixel
    down and to the right, by the side that is padded. The last half is worth nearly all others together, so with
    the other side padded there, a cell has itself in the middle of what it sees.
    """

    def __init__(self, *, size: int, cells: int, width: int) -> None:
        super().__init__()
        halvings = max(0, (size // cells).bit_length() - 1)
        if cells << halvings != size or not halvings:
            raise ValueError(f"size must be cells times 2, 4, 8, ...; got size {size} and {cells} cells")
        channels = [3, *(max(16, width >> (halvings - n)) for n in range(1, halvings)), width]
        sides = [(1, 0, 1, 0)] * (halvings - 1) + [(0, 1, 0, 1)]
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.ZeroPad2d(side), nn.Conv2d(few, many, 3, stride=2), nn.GroupNorm(1, many), nn.ReLU())
            for side, few, many in zip(sides, channels, channels[1:], strict=False)
        )
        self.last = nn.Conv2d(width, width, 1)
        self.places = nn.Parameter(torch.randn(cells * cells, width) * 0.1)
        self.norm = nn.LayerNorm(width)

    def forward(self, pictures: Sequence[Tensor]) -> Float[Tensor, "N K D"]:
        features = normalised(pictures[0], *HALVES)
        for block in self.blocks:
            features = block(features)
        cells = self.last(features).flatten(2).transpose(1, 2)
        return ambient(self.norm(cells + self.places))
