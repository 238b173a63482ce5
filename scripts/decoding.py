"""How a model chooses what it says, from the command line: greedily, by beams, or by drawing."""

import argparse
from functools import partial
from typing import Any

from compose import ConfigError

SEARCH = ("nbest", "length_penalty")
DRAWING = ("temperature", "top_k", "top_p", "seed")


def add_options(options: argparse.ArgumentParser, *, several: bool = False) -> None:
    """The options, with `--nbest` where there is a place for `several` outputs of one input."""
    group = options.add_argument_group("decoding", "greedy unless told otherwise; text that goes on is drawn")
    group.add_argument("--beam", metavar="N", type=int, help="search with N beams")
    group.add_argument("--length-penalty", metavar="A", type=float, help="of beams: 0 favours short outputs (0.6)")
    if several:
        group.add_argument("--nbest", metavar="M", type=int, help="of beams: the M best outputs (1)")
    group.add_argument("--sample", action="store_true", help="draw every token by its share")
    group.add_argument("--temperature", metavar="T", type=float, help="of draws: below 1 sharper, above it flatter (1)")
    group.add_argument("--top-k", metavar="K", type=int, help="of draws: only among the K likeliest tokens")
    group.add_argument("--top-p", metavar="P", type=float, help="of draws: only among the fewest tokens that hold P")
    group.add_argument("--seed", metavar="S", type=int, help="of draws: the same seed, the same output (0)")
    group.add_argument("--prefix", metavar="TEXT", help="what every output must begin with")
    group.add_argument("--length", metavar="N", type=int, help="of text that goes on: how many tokens of it")
    group.add_argument("--no-repeat", metavar="N", type=int, help="never the same N tokens twice in an output")


def apply(chosen: argparse.Namespace, run: Any) -> None:
    """Tells the run's model how to choose.

    Raises:
        ConfigError: for options that do not go together, values out of range, and models that do not generate.
    """
    given = {name: value for name, value in vars(chosen).items() if value is not None and value is not False}
    search, drawing = ({name: given[name] for name in names if name in given} for names in (SEARCH, DRAWING))
    rules = {"no_repeat": given["no_repeat"]} if "no_repeat" in given else {}
    check(given, search, drawing)
    if "length" in given:
        set_length(given["length"], run)
    if not any((given.get("beam"), given.get("sample"), rules, given.get("prefix"))):
        return
    if not hasattr(run.model, "decode"):
        raise ConfigError(f"{run.config['task']} generates nothing, so there is nothing to search or to draw")
    if "prefix" in given:
        rules["prefix"] = [run.data.tokenizer.encode(given["prefix"])]
    from core.beams import beam
    from core.decode import greedy, sample

    if "beam" in given:
        run.model.decode = partial(beam, beams=given["beam"], **search, **rules)
    else:
        run.model.decode = partial(sample, **drawing, **rules) if "sample" in given else partial(greedy, **rules)


def set_length(length: int, run: Any) -> None:
    if not hasattr(run.data, "length"):
        raise ConfigError(f"--length {length}: what {run.config['task']} writes ends by itself")
    if length < 1:
        raise ConfigError(f"--length {length}: at least 1 token follows")
    run.data.length = length


def check(given: dict[str, Any], search: dict[str, Any], drawing: dict[str, Any]) -> None:
    if "beam" in given and "sample" in given:
        raise ConfigError("--beam searches and --sample draws: choose one")
    if search and "beam" not in given:
        raise ConfigError(f"{option(next(iter(search)))} belongs to a search: add --beam N")
    if drawing and "sample" not in given:
        raise ConfigError(f"{option(next(iter(drawing)))} belongs to drawing: add --sample")
    if given.get("beam", 1) < 1 or not 1 <= given.get("nbest", 1) <= given.get("beam", 1):
        raise ConfigError(
            f"--beam {given['beam']} --nbest {given.get('nbest', 1)}: a search takes 1 beam or more, and gives "
            "at least 1 result and at most one a beam"
        )
    if given.get("no_repeat", 1) < 1:
        raise ConfigError(f"--no-repeat {given['no_repeat']}: runs of 1 token or more")
    if given.get("temperature", 1.0) <= 0 or given.get("top_k", 1) < 1 or not 0 < given.get("top_p", 1.0) <= 1:
        raise ConfigError("--temperature is above 0, --top-k at least 1, and --top-p above 0 and at most 1")


def option(name: str) -> str:
    return "--" + name.replace("_", "-")
