"""Configuration: from `task=translation model.width=128` to a plain, checked dict, and from its nodes to objects.

Hydra merges the pages under `configs/`; what a person typed is read here, so a path arrives as it was typed and a typo
is one error with a suggestion, before anything is created. The signatures of the targets are the schema: a key exists
if its target takes it, and has the type stated there.
"""

import copy
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any

import hydra
import yaml
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException, InstantiationException
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from signatures import ConfigError, check, demand, fits, parameters_of, shown, supplied, unknown, walk

MISSING = "???"  # what a page writes where only the user knows
CONFIGS = Path(__file__).resolve().parent.parent / "configs"
ALIASES = {"data.fallback": "fallback"}  # reads well beside data, but is no argument of a data class
EXAMPLES = """\
  python scripts/train.py data=toy                             two minutes, maps at the end
  python scripts/train.py attention=additive model.width=128   another mechanism, another number
  python scripts/train.py attention=local attention.mechanism=dot attention.before=2 data.path=DIR"""
WAYS_OUT = """\
  a mirror of the hub        set HF_ENDPOINT=https://hf-mirror.com (or another) and run again
  a folder on this machine   data.path=DIR, in the same layout as on the hub
  the built-in toy set       data=toy"""


def compose(
    overrides: Sequence[str], *, folder: Path = CONFIGS, reachable: Callable[[str], bool] | None = None
) -> dict[str, Any]:
    """The whole configuration as plain values, resolved and checked; nothing is built and nothing written.

    `reachable(path)` says whether a public set can be had. Where it cannot, a default falls back to `data=toy` and
    `config["notice"]` says so; a choice of the user's, or `fallback=false`, does not: it raises ConfigError.
    """
    chosen, values = _sort(overrides, folder)
    named = "data" in named_by_user(overrides)
    if chosen.get("trainer") == "smoke" and not named:
        chosen["data"] = "toy"
    config = _assemble(chosen, values, folder)
    requested, path = config["choices"]["data"], config["data"].get("path")
    if path == MISSING:
        raise ConfigError(f"data={requested} needs data.path=...: a file, a folder, or the id of a set on the hub")
    if path and reachable and not Path(path).expanduser().is_dir() and not reachable(path):
        problem = f"The data set {requested} ({path}) cannot be reached, and there is no copy of it in the cache"
        if named or not config["fallback"]:
            raise ConfigError(f"{problem}.\n{WAYS_OUT}")
        config = _assemble({**chosen, "data": "toy"}, values, folder)
        config["notice"] = f"{problem}:\nthis run uses TOY DATA in its place. To have other data:\n{WAYS_OUT}"
    typed = list(overrides)
    return {**config, "data_requested": requested, "data_used": config["choices"]["data"], "typed": typed}


def override(config: dict[str, Any], overrides: Sequence[str], *, only: str) -> dict[str, Any]:
    """A finished configuration with other values below the key `only`; checked like a new one."""
    changed = copy.deepcopy(config)
    for key, text in map(_split, overrides):
        if not key.startswith(f"{only}."):
            raise ConfigError(f"{key}={text}: only {only}.KEY=VALUE can be changed here")
        _set(changed, key, text)
    check(changed)
    return changed


def instantiate(node: dict[str, Any], **extra: Any) -> Any:
    """Builds a node, its inner nodes first; `extra` are the keywords that only the script knows.

    A ValueError or TypeError of a constructor comes back as a ConfigError that names the class: values may fit their
    types and still not each other.
    """
    try:
        factory = hydra.utils.instantiate({**node, "_partial_": True}, _convert_="all")
        return partial(factory, **extra) if node.get("_partial_") else factory(**extra)
    except (ValueError, TypeError, InstantiationException) as error:
        reason = error.__cause__ if isinstance(error, InstantiationException) else error
        if not isinstance(reason, (ValueError, TypeError)):
            raise
        raise ConfigError(f"{node['_target_'].rpartition('.')[2]}: {reason}") from error


def named_by_user(overrides: Iterable[str]) -> set[str]:
    """The groups and top-level keys that were typed: {"data", "model"} for `data.path=x model=y`."""
    return {re.split(r"[.@]", _split(argument)[0])[0] for argument in overrides}


def config_text(config: dict[str, Any]) -> str:
    """The configuration as a YAML page: what `--print` shows."""
    return yaml.safe_dump(config, sort_keys=False, allow_unicode=True)


def help_text(overrides: Sequence[str] = (), *, folder: Path = CONFIGS) -> str:
    """What can be typed: the choices there are, and every key with the value that these choices give it."""
    chosen, _ = _sort(overrides, folder)
    pages, picked = _pages(chosen, folder)
    lines = ["usage: python scripts/train.py [GROUP=CHOICE ...] [KEY=VALUE ...] [--print] [--help]", ""]
    lines.append("Groups and their choices (* is what stands now):")
    for group in _groups(folder):
        words = [f"{name}*" if name == picked[group] else name for name in _choices(group, chosen["task"], folder)]
        lines.append(textwrap.fill(" ".join(words), 110, initial_indent=f"  {group:11} ", subsequent_indent=" " * 14))
    values = dict(walk(_resolved(pages)))
    lines += ["", "Keys and their values now:"]
    lines += [f"  {key}={shown(values[key])}" for key, _ in walk(pages) if not isinstance(values[key], dict)]
    return "\n".join([*lines, "", "Examples:", EXAMPLES])


def _split(argument: str) -> tuple[str, str]:
    """Key and value. A leading + changes nothing: a key that no target takes is an error with it or without it."""
    key, equals, text = argument.partition("=")
    if not equals:
        raise ConfigError(f"{argument}: not of the form KEY=VALUE, as in seed=3 or data.path=DIR")
    key = key.lstrip("+")
    return ALIASES.get(key, key), text


def _sort(overrides: Iterable[str], folder: Path) -> tuple[dict[str, str], dict[str, str]]:
    """What was typed, as choices of pages and as values of keys; of two for one key the later wins."""
    chosen, values = {}, {}
    for key, text in map(_split, overrides):
        if re.fullmatch(r"attention(\.mechanism)+", key):  # what a wrapper holds is a page too
            key = f"attention@{key}"
        (chosen if key.partition("@")[0] in _groups(folder) else values)[key] = text
    defaults = yaml.safe_load((folder / "train.yaml").read_text(encoding="utf-8"))["defaults"]
    chosen.setdefault("task", next(entry["task"] for entry in defaults if "task" in entry))
    for key, choice in sorted(chosen.items(), key=lambda item: item[0] != "task"):
        _check_choice(key, choice, chosen["task"], folder)
    return chosen, values


def _groups(folder: Path) -> list[str]:
    return sorted(place.name for place in folder.iterdir() if place.is_dir())


def _choices(group: str, task: str, folder: Path) -> dict[str, str]:
    """Names and their pages: those for every task lie in GROUP/, those of this task in GROUP/TASK/."""
    pages = [*(folder / group).glob("*.yaml"), *(folder / group / task).glob("*.yaml")]
    return {page.stem: page.relative_to(folder / group).with_suffix("").as_posix() for page in sorted(pages)}


def _check_choice(key: str, choice: str, task: str, folder: Path) -> None:
    group = key.partition("@")[0]
    choices = _choices(group, task, folder)
    if choice in choices:
        return
    owners = sorted(page.parent.name for page in (folder / group).glob("*/*.yaml") if page.stem == choice)
    near = get_close_matches(choice, choices, n=1)
    hint = f"it belongs to task={owners[0]}" if owners else f"did you mean {near[0]}?" if near else "no such choice"
    where = "" if group == "task" else f" (task={task})"
    raise ConfigError(f"{key}={choice}: {hint}\nChoices of {group}{where}: {', '.join(choices)}")


def _pages(chosen: dict[str, str], folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """The chosen pages, merged by Hydra and with interpolations still open; and the choice at each place."""
    listed = {key: _choices(key.partition("@")[0], chosen["task"], folder) for key in chosen}
    arguments = [f"{key}={listed[key][choice]}" for key, choice in chosen.items()]
    GlobalHydra.instance().clear()  # a notebook may have left it open
    try:
        with hydra.initialize_config_dir(config_dir=str(folder.resolve()), version_base="1.3"):
            merged = hydra.compose("train", overrides=arguments, return_hydra_config=True)
    except HydraException as error:
        holders = [page.stem for page in folder.glob("*/*.yaml") if "@mechanism" in page.read_text(encoding="utf-8")]
        hint = f"\nChoices that hold a mechanism: {', '.join(sorted(holders))}" if "@" in str(error) else ""
        raise ConfigError(f"{' '.join(arguments)}: {str(error).splitlines()[0]}{hint}") from error
    pages: Any = OmegaConf.to_container(merged, resolve=False)
    picked = pages.pop("hydra")["runtime"]["choices"].items()
    return pages, {key.rpartition("@")[2]: page.rpartition("/")[2] for key, page in picked if "hydra/" not in key}


def _assemble(chosen: dict[str, str], values: dict[str, str], folder: Path) -> dict[str, Any]:
    pages, picked = _pages(chosen, folder)
    for key, text in values.items():
        _set(pages, key, text)
    config = _resolved(pages)
    check(config)
    _check_lengths(config)
    return {**config, "choices": picked}


def _check_lengths(config: dict[str, Any]) -> None:
    """Data that are longer than the model is made for would end a training at the first such example."""
    kept, taken = (config[part].get("max_length") for part in ("data", "model"))
    if kept and taken and kept > taken:
        raise ConfigError(
            f"data.max_length={kept} is more than the model takes, model.max_length={taken}: "
            f"set model.max_length={kept} as well"
        )


def _resolved(pages: dict[str, Any]) -> Any:
    try:
        return OmegaConf.to_container(OmegaConf.create(pages), resolve=True)
    except OmegaConfBaseException as error:
        raise ConfigError(f"{error.full_key}: {str(error).splitlines()[0]}") from error


def _set(pages: dict[str, Any], key: str, text: str) -> None:
    """One typed value, over its page's. The key must stand on the page or in the signature of the page's target."""
    *places, name = key.split(".")
    node: Any = pages
    for place in places:
        node = node.get(place) if isinstance(node, dict) else None
    schema = _schema(node, ".".join(places))
    if name not in schema:
        siblings = [".".join([*places, other]) for other in schema]
        unknown(key, text, siblings or list(pages), elsewhere=dict(walk(pages)))
    value = _read(text, schema[name])
    if not (isinstance(value, str) and "${" in value):
        demand(key, value, schema[name])
    node[name] = value


def _schema(node: Any, key: str) -> dict[str, Any]:
    """The keys that may be typed below a node, with their types: its target's, or else those of its present values."""
    if not isinstance(node, dict):
        return {}
    if "_target_" not in node:
        return {name: Any if value is None else type(value) for name, value in node.items()}
    types = {name: parameter.annotation for name, parameter in parameters_of(node, key).items()}
    return {name: wanted for name, wanted in types.items() if name in node or name not in supplied(node)}


def _read(text: str, wanted: Any) -> Any:
    """Numbers, true, null and lists as Hydra reads them; but where text is wanted, every character as it was typed."""
    try:
        override = OverridesParser.create().parse_override(f"key={text}")
        value = text if override.is_sweep_override() else override.value()
    except HydraException:
        value = text
    takes_text = fits("", wanted)
    if not isinstance(value, str) and (fits(value, wanted) or not takes_text):
        return value
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        text = text[1:-1]
    return re.sub(r"(\\*)\$\{", r"\1\1\\${", text) if takes_text else text  # no interpolation inside text
