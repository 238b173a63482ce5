"""The members of a comparison: lists on the command line, multiplied out; all are checked before the first trains."""

import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from itertools import product
from math import prod
from typing import Any, NamedTuple

from compose import ConfigError, compose, instantiate, named_by_user
from signatures import SUPPLIED, fits, parameters_of

OWN = ("output", "fallback")
"""Keys that a comparison gives its members itself; `output` is where all of them go."""
CHANGES_NOTHING = {*OWN, "resume", "typed", "notice", "choices", "data_requested", "data_used"}
"""What a configuration remembers that no weight and no score depends on."""
MOST = 200
VOCABULARY = 1000
"""Of the models that are built to see whether their numbers go together; the true one comes with the data."""


class Member(NamedTuple):
    """One training of a comparison."""

    choice: dict[str, str]
    """What sets it apart: the value of each key that had a list."""
    words: list[str]
    """What train.py gets, all but `output=`."""
    config: dict[str, Any]

    @property
    def name(self) -> str:
        return spelled(self.choice) or f"attention={self.config['choices']['attention']}"

    @property
    def group(self) -> dict[str, str]:
        """The choice without the seed: what its scores are averaged within."""
        return {key: value for key, value in self.choice.items() if key != "seed"}

    @property
    def key(self) -> str:
        return key_of(self.config)


class Members(NamedTuple):
    """The members in the order of the lists, where they go, and what a person should know before they are trained."""

    members: list[Member]
    output: str
    notices: list[str]


def members_of(wishes: Sequence[str], *, reachable: Callable[[str], bool]) -> Members:
    """Multiplies the lists out, the last one fastest, and checks every member.

    `reachable(path)` says whether a public set can be had. It is asked once, and every member keeps to the answer.
    Two choices of one configuration are one member, with a notice.

    Raises:
        ConfigError: if any member cannot be, with the member's name; or if there is no list.
    """
    lists = lists_of(wishes)
    varied = [key for key, values in lists.items() if len(values) > 1]
    probe, found, notices = cache(reachable), {}, {}
    for values in product(*lists.values()):
        typed = dict(zip(lists, values, strict=True))
        choice = {key: typed[key] for key in varied}
        config = checked([f"{key}={value}" for key, value in typed.items()], spelled(choice), probe)
        member = Member(choice, told(typed, config), config)
        if notice := config.get("notice"):
            notices[notice.replace("this run uses", "every member uses")] = None
        if (first := found.setdefault(member.key, member)) is not member:
            how = "is given twice" if member.name == first.name else f"is the same as {first.name}"
            notices[f"{member.name} {how}: trained once"] = None
    members = list(found.values())
    return Members(members, members[0].config["output"], [*notices, *mixed(members)])


def lists_of(wishes: Sequence[str]) -> dict[str, list[str]]:
    """Each key with the values to compare, in the order in which they were typed; most keys have one."""
    named_by_user(wishes)  # each is of the form KEY=VALUE, or an error
    lists: dict[str, list[str]] = {}
    for key, _, text in (wish.partition("=") for wish in wishes):
        key = key.lstrip("+")
        if key in lists:
            raise ConfigError(f"{key}={text}: {key} is given twice; to compare values, give a list: {key}=A,B")
        lists[key] = split(text)
        if len(lists[key]) > 1 and not all(lists[key]):
            raise ConfigError(f"{key}={text}: the list has an empty place")
        if len(lists[key]) > 1 and key in OWN:
            raise ConfigError(f"{key}={text}: {key} is one for all members (a text with commas goes in quotes)")
    if "resume" in lists:
        raise ConfigError("resume=: a comparison takes up what is not finished by itself; give the same command again")
    number = prod(map(len, lists.values()))
    if not 1 < number <= MOST:
        hint = "at least one list, such as attention=dot,additive or seed=1,2,3"
        raise ConfigError(f"these are {number} trainings: a comparison takes 2 to {MOST}, so give {hint}")
    return lists


def split(text: str) -> list[str]:
    """The items between commas; a comma inside brackets, braces or quotes is part of its item."""
    items, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "'\"" and items[-1].strip()[-1:] in ("", *"[{:,"):
            quote = character
        elif character in "[{":
            depth += 1
        elif character in "]}":
            depth = max(0, depth - 1)
        elif character == "," and not depth:
            items.append("")
            continue
        items[-1] += character
    return [item.strip() for item in items] if len(items) > 1 else [text]


def checked(words: list[str], name: str, reachable: Callable[[str], bool]) -> dict[str, Any]:
    """The composed configuration of a member, every value of it tried."""
    try:
        config = compose(words, reachable=reachable)
        for part in ("trainer", "data"):
            instantiate(config[part])
        parameters = parameters_of(config["model"], "model")
        supplied = {each: VOCABULARY for each in parameters if each in SUPPLIED}
        if all(fits(VOCABULARY, parameters[each].annotation) for each in supplied):
            instantiate(config["model"], **supplied)
    except ConfigError as error:
        raise ConfigError(f"{error}\n(the member {name})") from error
    return config


def told(typed: dict[str, str], config: dict[str, Any]) -> list[str]:
    """What train.py gets: what was typed, and the data as decided here, which it must not decide otherwise."""
    words = [f"{key}={value}" for key, value in typed.items() if key not in (*OWN, "data.fallback")]
    return [*words, *([f"data={config['data_used']}"] if "notice" in config else []), "fallback=false"]


def mixed(members: Iterable[Member]) -> list[str]:
    used = sorted({member.config["data_used"] for member in members})
    return [f"the members have different data: {', '.join(used)}"] if len(used) > 1 else []


def key_of(config: dict[str, Any]) -> str:
    """The hash of what decides a training's result; the same for a composed configuration and its run's own."""
    kept = {name: value for name, value in config.items() if name not in CHANGES_NOTHING}
    kept["model"] = {name: value for name, value in kept["model"].items() if name not in SUPPLIED}
    return hashlib.sha256(json.dumps(kept, sort_keys=True).encode()).hexdigest()[:16]


def spelled(choice: dict[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in choice.items())
