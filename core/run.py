"""A run folder: make it, write it, read it back. Reading one runs no code of its maker's."""

import importlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import torch
import yaml
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save

from core.data import DemoData
from core.decode import Decoded
from core.demo import Demo, Prediction
from core.evaluate import attention_maps, generate, predict
from core.files import whole_file
from core.inputs import Input, Inputs, as_list, of_parts
from core.intervene import intervene
from core.maps import AttentionMap

OURS = ("core.", "tasks.")


class RunError(ValueError):
    """A run folder that cannot be made or read: which, why, and what there is instead."""


def make_folder(output: str, task: str, *, suffix: str = "") -> Path:
    """A new folder `output/task/time`, made by one exclusive mkdir: two runs of one second get two folders.

    Raises:
        RunError: if it cannot be written, before anything was trained.
    """
    parent = Path(output).expanduser() / task
    return _new_folder(parent, now() + suffix, f"output={output}", "output=DIR")


def new_maps_folder(run: Path) -> Path:
    """A new folder for maps inside a run's; two of one second get two."""
    return _new_folder(run, f"maps-{now()}", f"maps of {run}", "--out DIR")


def now() -> str:
    return datetime.now().strftime("%Y-%m-%d_%H-%M-%S")


def _new_folder(parent: Path, name: str, what: str, way_out: str) -> Path:
    for count in range(1, 1000):
        folder = parent / (name if count == 1 else f"{name}-{count}")
        try:
            parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir()
            return folder
        except FileExistsError as error:
            if not parent.is_dir():
                raise RunError(f"{what}: {parent} is not a folder that anything can be kept in") from error
        except OSError as error:
            raise RunError(f"{what}: cannot make {folder}: {error.strerror}. Choose another: {way_out}") from error
    raise RunError(f"{parent} holds a thousand folders of this second")


def mark_latest(folder: Path) -> Path:
    """`latest` beside the run points at it: a link, or a text file with its name where links need privileges.

    Returns the path to call the run by: a folder named `latest` is somebody's own and stays, and then it is its folder.
    """
    latest = folder.parent / "latest"
    if latest.is_dir() and not latest.is_symlink():
        return folder
    scratch = folder.parent / f".latest-{os.getpid()}"
    scratch.unlink(missing_ok=True)
    try:
        scratch.symlink_to(folder.name, target_is_directory=True)
    except OSError:
        scratch.write_text(folder.name, encoding="utf-8")
    os.replace(scratch, latest)
    return latest


def write_json(content: Any, path: Path) -> None:
    with whole_file(path) as file:
        file.write((json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())


def write_yaml(content: Mapping[str, Any], path: Path) -> None:
    with whole_file(path) as file:
        file.write(yaml.safe_dump(content, sort_keys=False, allow_unicode=True).encode())


def save_weights(model: Demo, path: Path, fingerprint: Mapping[str, str]) -> None:
    """Weights as safetensors; the fingerprint of the vocabulary travels in the same file."""
    weights = {name: tensor.contiguous() for name, tensor in model.state_dict().items()}
    with whole_file(path) as file:
        file.write(save(weights, dict(fingerprint)))  # save_file makes a file that nobody else may read


def load_weights(model: Demo, path: Path, fingerprint: Mapping[str, str]) -> None:
    """The weights of a file, if they are this model's and were trained with this vocabulary.

    Raises:
        RunError: if the file is missing or damaged, of another model, or of another vocabulary.
    """
    if not path.is_file():
        raise RunError(f"there are no weights at {path}: the run did not finish its first validation")
    try:
        with safe_open(path, framework="pt") as file:
            kept = file.metadata() or {}
        weights = load_file(path)
    except (SafetensorError, OSError) as error:
        raise RunError(f"damaged weights {path}: {error}") from error
    for name, value in fingerprint.items():
        if kept.get(name) != value:
            raise RunError(
                f"{path} was trained with another {name} than the one beside it ({kept.get(name)} and {value}); "
                "its predictions would be nonsense. Take the folder as training left it."
            )
    missing, surplus = _differences(model.state_dict(), weights)
    if missing or surplus:
        raise RunError(f"{path} holds another model's weights: missing {missing[:3]}, not known {surplus[:3]}")
    model.load_state_dict(weights)


def _differences(wanted: Mapping[str, torch.Tensor], found: Mapping[str, torch.Tensor]) -> tuple[list[str], list[str]]:
    shapes = {name: tuple(tensor.shape) for name, tensor in wanted.items()}
    have = {name: tuple(tensor.shape) for name, tensor in found.items()}
    return (
        [f"{name}{shape}" for name, shape in shapes.items() if have.get(name) != shape],
        [f"{name}{shape}" for name, shape in have.items() if shapes.get(name) != shape],
    )


class Run:
    """A finished run, read back: `load(folder).predict("...")`, `.maps("...")`."""

    def __init__(self, folder: Path, config: dict[str, Any], model: Demo, data: DemoData) -> None:
        self.folder, self.config, self.model, self.data = folder, config, model, data

    def predict(self, inputs: Inputs) -> list[Prediction]:
        """A prediction for each input, in order; an empty input gives an empty one. An input is a text, or where the
        task asks for several parts (`data.asks`) a tuple of them.

        Raises:
            ValueError: if an input has other parts than the task asks for.
        """
        return predict(self.model, self.data, self.read(inputs))

    def read(self, inputs: Inputs) -> list[Any]:
        """A person's inputs, one or a list of them, as examples."""
        return self.data.read([of_parts(each, self.data.asks) for each in as_list(inputs, self.data.asks)])

    def aloud(self, input: Input, say: Callable[[str], None]) -> Prediction:
        """A prediction that is also told while it is made, part by part; for models that choose token after token, and
        data whose `aloud` is true."""
        (example,), chosen, told = self.read([input]), [], ""

        def heard(tokens: list[int]) -> None:
            nonlocal told
            chosen.append(tokens[0])
            text = self.data.predictions([example], [Decoded(chosen, [], cut=True)])[0].output
            say(text[len(told) :])
            told = text

        model: Any = self.model
        decode = model.decode
        model.decode = partial(decode, heard=heard)
        try:
            (prediction,) = predict(self.model, self.data, [example])
        finally:
            model.decode = decode
        return prediction

    def maps(self, inputs: Inputs, *, forbid: Sequence[str] = ()) -> list[list[AttentionMap]]:
        """For each input the maps of the gaze, a map a module, while the model's own prediction is forced.

        `forbid` are words of the input that the gaze may not look at, neither for the prediction nor for the maps.

        Raises:
            ValueError: if an input has no such word, or the model no attention, and as `predict`.
        """
        examples = self.read(inputs)
        if forbid:
            return [self.without(example, forbid) for example in examples]
        forced = self.data.forced(examples, generate(self.model, self.data, examples))
        return list(attention_maps(self.model, self.data, forced))

    def without(self, example: Any, words: Sequence[str]) -> list[AttentionMap]:
        """The maps of one example while the gaze may not look at some of its words."""
        if not self.model.explains:
            raise ValueError("this model has no attention that could be forbidden to look at a word")
        with ExitStack() as stack:
            for module, keys in self.data.forbidden(example, words, self.model.explains).items():
                stack.enter_context(intervene(self.model, forbid=keys, modules=[module]))
            forced = self.data.forced([example], generate(self.model, self.data, [example]))
            (maps,) = attention_maps(self.model, self.data, forced)
        return [replace(map, origin=map.origin | {"forbidden": " ".join(words)}) for map in maps]


def load(folder: str | Path) -> Run:
    """Reads a run folder, or what its `latest` points at.

    Raises:
        RunError: if there is no complete run, or if its configuration names a class that is not this project's.
    """
    folder = find(Path(folder).expanduser())
    config = read_config(folder / "config.yaml")
    data, model = rebuild(config, folder)
    load_weights(model, folder / "model.safetensors", data.fingerprint())
    return Run(folder, config, model.eval(), data)


def read_config(path: Path) -> dict[str, Any]:
    """A run's configuration as plain values, once every class that it names anywhere is sure to be this project's."""
    try:
        config = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise RunError(f"cannot read {path}: {str(error).splitlines()[0]}") from error
    if not isinstance(config, dict) or not {"data", "model"} <= config.keys():
        raise RunError(f"{path} is no configuration of a run: it must have the keys data and model")
    for target in targets(config):
        own_class(target)
    return config


def targets(node: Any) -> Iterator[Any]:
    """Every `_target_` in a configuration, however deep."""
    if isinstance(node, dict) and "_target_" in node:
        yield node["_target_"]
    for inner in node.values() if isinstance(node, dict) else node if isinstance(node, list) else ():
        yield from targets(inner)


def rebuild(config: Mapping[str, Any], folder: Path) -> tuple[DemoData, Demo]:
    """The data module, ready to read inputs, and the model, still without its weights."""
    try:
        data, model = build(config["data"]), build(config["model"])
        if not isinstance(data, DemoData) or not isinstance(model, Demo):
            raise TypeError(f"data is {type(data).__name__} and model is {type(model).__name__}")
        data.restore(folder)
    except (TypeError, ValueError, RuntimeError, OSError) as error:
        raise RunError(f"{folder} cannot be read back: {error}") from error
    return data, model


def find(folder: Path) -> Path:
    """The run folder itself, or the one that a text file named `latest` gives the name of."""
    if folder.is_file() and folder.name == "latest":
        folder = folder.parent / folder.read_text(encoding="utf-8").strip()
    if (folder / "config.yaml").is_file():
        return folder
    near = folder if folder.is_dir() else folder.parent
    runs = sorted(str(path.parent) for pattern in ("*", "*/*") for path in near.glob(f"{pattern}/config.yaml"))
    near_by = f"Runs near by: {', '.join(runs[-5:])}" if runs else f"There is none in {near} either"
    raise RunError(f"there is no run at {folder}. {near_by}. Train one: python scripts/train.py")


def build(node: Any) -> Any:
    """What a configuration node describes: an object of one of this project's classes, its nodes built first.

    Raises:
        RunError: if a `_target_` is anything else. A prefix test on the text would not do: a dotted path can lead
            through our modules to what they import.
    """
    if isinstance(node, list):
        return [build(item) for item in node]
    if not isinstance(node, dict):
        return node
    arguments = {key: build(value) for key, value in node.items() if key not in ("_target_", "_partial_")}
    if "_target_" not in node:
        return arguments
    made = own_class(node["_target_"])
    return partial(made, **arguments) if node.get("_partial_") else made(**arguments)


def own_class(target: Any) -> Callable[..., Any]:
    """The class of this project that a dotted path names."""
    module, _, name = str(target).rpartition(".")
    refusal = RunError(f"_target_ {target!r} is no class of this project; a run folder may name nothing else")
    if not module.startswith(OURS):
        raise refusal
    try:
        found = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise refusal from error
    if not isinstance(found, type) or not found.__module__.startswith(OURS):
        raise refusal
    return found
