"""Signatures as schema: a configuration node is bound to what its `_target_` takes, types included, and not built."""

import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, Literal, NoReturn, Union, get_args, get_origin

SUPPLIED = {"vocabulary", "shapes", "labels"}  # given to instantiate() by a script: known only once the data is there
SUPPLIED_TO_FACTORIES = {"query_dim", "key_dim", "heads"}  # given by the model to a `_partial_` node
SPECIAL = r"_\w+_"  # Hydra's own keys: _target_, _partial_


class ConfigError(ValueError):
    """A configuration that cannot run. Its message is for whoever typed it: the key, the value, what is valid."""


def check(config: dict[str, Any]) -> None:
    """Binds every node to the signature of its `_target_`, types included, and builds none of them."""
    for key, node in walk(config):
        if not isinstance(node, dict) or "_target_" not in node:
            continue
        parameters = parameters_of(node, key)
        given = {name: value for name, value in node.items() if not re.fullmatch(SPECIAL, name)}
        for name, value in given.items():
            if name not in parameters:
                unknown(f"{key}.{name}", value, [f"{key}.{other}" for other in parameters])
            demand(f"{key}.{name}", value, parameters[name].annotation)
        required = {name for name, parameter in parameters.items() if parameter.default is parameter.empty}
        if missing := required - set(given) - supplied(node):
            raise ConfigError(f"{key}: {node['_target_']} also needs {', '.join(sorted(missing))}")


def unknown(key: str, value: Any, valid: Sequence[str], elsewhere: Iterable[str] = ()) -> NoReturn:
    names = {other.rpartition(".")[2]: other for other in [*elsewhere, *valid]}
    near = get_close_matches(key.rpartition(".")[2], names, n=1)
    hint = f" Did you mean {names[near[0]]}?" if near else ""
    raise ConfigError(f"{key}={shown(value)}: no such key.{hint}\nValid: {', '.join(valid)}")


def shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def walk(tree: dict[str, Any], key: str = "") -> Iterator[tuple[str, Any]]:
    """Everything below a dict with its dotted key, an outer node before what it holds; Hydra's own keys left out."""
    for name, value in tree.items():
        if not re.fullmatch(SPECIAL, name):
            yield f"{key}{name}", value
            if isinstance(value, dict):
                yield from walk(value, f"{key}{name}.")


def parameters_of(node: dict[str, Any], key: str) -> Mapping[str, inspect.Parameter]:
    module, _, name = node["_target_"].rpartition(".")
    try:
        target = getattr(import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"{key}._target_={node['_target_']}: cannot be imported: {error}") from error
    return taken_by(target)


def taken_by(target: Any) -> dict[str, inspect.Parameter]:
    """What a class or function takes, by name. A class with a `**shared` passes the rest on to the one it inherits
    from, so it takes what that takes."""
    found = dict(inspect.signature(target, eval_str=True).parameters)
    shared = [name for name, parameter in found.items() if parameter.kind is parameter.VAR_KEYWORD]
    if not shared or not isinstance(target, type):
        return found
    own = {name: parameter for name, parameter in found.items() if name not in shared}
    return own | {name: parameter for name, parameter in taken_by(target.__mro__[1]).items() if name not in own}


def supplied(node: dict[str, Any]) -> set[str]:
    return SUPPLIED_TO_FACTORIES if node.get("_partial_") else SUPPLIED


def demand(key: str, value: Any, wanted: Any) -> None:
    if not fits(value, wanted):
        raise ConfigError(f"{key}={shown(value)}: expected {inspect.formatannotation(wanted)}")


def fits(value: Any, wanted: Any) -> bool:
    """Whether a value from YAML is of a type: an int will do as a float, a bool not as an int, a node as any object."""
    origin, inner = get_origin(wanted), get_args(wanted)
    if wanted in (Any, inspect.Parameter.empty):
        return True
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in inner)
    if origin is Literal:
        return value in inner
    if wanted is float:
        return type(value) in (int, float)
    if wanted in (int, bool, str, NoneType):
        return type(value) is wanted
    if (origin or wanted) in (list, tuple):
        return isinstance(value, list) and all(fits(each, inner[0]) for each in value if inner)
    return isinstance(value, dict)
