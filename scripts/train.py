"""Train a demo, score it, draw its attention, and leave a run folder: `python scripts/train.py task=translation`."""

import platform
import re
import shlex
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console

from command import command, console, table
from compose import ConfigError, compose, config_text, help_text, instantiate, override
from pages import PAGE, write_maps

PACKAGES = ("torch", "lightning", "datasets", "sentencepiece", "sacrebleu")


def main(arguments: list[str]) -> None:
    from core.public import reachable

    wishes = [argument for argument in arguments if not argument.startswith("-")]
    if {"--help", "-h"} & set(arguments):
        print(help_text(wishes))
        return
    folder = next((Path(wish.partition("=")[2]) for wish in wishes if wish.startswith("resume=")), None)
    config = as_before(folder, wishes) if folder else compose(wishes, reachable=reachable)
    if "--print" in arguments:
        print(config_text(config), end="")
        return
    train(config, console(), resume=folder)


def as_before(folder: Path, wishes: Sequence[str]) -> dict[str, Any]:
    """The configuration of a run that is to go on; only its trainer can be told otherwise."""
    from core.run import find, read_config

    config = read_config(find(folder.expanduser()) / "config.yaml")
    return override(config, [wish for wish in wishes if not wish.startswith("resume=")], only="trainer")


def train(config: dict[str, Any], screen: Console, *, resume: Path | None = None) -> Path:
    """The whole run, in the order in which it happens. Returns its folder: a new one, or the one of `resume`."""
    import lightning as L

    from core.run import find, make_folder, mark_latest, write_yaml
    from core.training import epochs_trained, fit

    begun = time.monotonic()
    try:
        L.seed_everything(config["seed"], verbose=False)
    except ValueError as error:
        raise ConfigError(f"seed={config['seed']}: {error}") from error
    announce(config, screen)
    folder = find(resume.expanduser()).resolve() if resume else None
    training, data = instantiate(config["trainer"]), read_data(config, screen, folder)
    config["model"] |= data.supplies
    model = instantiate(config["model"])
    checkpoint = folder / "checkpoints" / "last.ckpt" if folder else None
    if checkpoint:
        epochs_trained(checkpoint, training)
    if folder is None:
        folder = make_folder(config["output"], config["task"], suffix="-toy" if config["data_used"] == "toy" else "")
        data.save(folder)
    write_yaml(config, folder / "config.yaml")
    parameters = sum(weights.numel() for weights in model.parameters())
    screen.print(f"{parameters:,} parameters, run folder {folder}; Ctrl-C keeps the best so far", highlight=False)
    spent = fit(model, data, training, folder, screen, resume=checkpoint)
    scores, tables = score_and_draw(model, data, training, folder, screen)
    spent["total_seconds"] = round(time.monotonic() - begun, 1)
    tables["sample"] = sample = data.sample(data.splits["test"][0], folder)
    write_metrics(config, folder, data, scores, tables, {"parameters": parameters, "training": spent})
    report(config, folder, mark_latest(folder), scores, spent, sample, screen)
    return folder


def score_and_draw(
    model: Any, data: Any, training: Any, folder: Path, screen: Console
) -> tuple[dict[str, Any], dict[str, list]]:
    """Scores of the test split and of its attention, tables of all readings and heads, and maps of a few examples."""
    from core.evaluate import evaluate
    from core.faithfulness import EXAMPLES, faithfulness
    from core.posterior import looks

    validation, test = (data.splits[split][: training.eval_examples] for split in ("validation", "test"))
    with screen.status("scoring the test split and its attention"):
        result = evaluate(model, data, test)
        data.draw(test, result.predictions, folder)
        attention = data.map_scores(looks(model, data), validation, test)
        faithful = faithfulness(model, data, test[:EXAMPLES])
    for name, text in data.listing(test, result.predictions).items():
        (folder / name).write_text(text, encoding="utf-8")
    with screen.status("drawing attention maps"):
        title = f"{folder.parent.name}, {folder.name}"
        heads = draw_maps(model, data, test[: training.map_examples], folder / "maps", title)
    return result.scores | attention.scores | faithful, {"attention": attention.readings, "heads": heads}


def write_metrics(
    config: dict[str, Any],
    folder: Path,
    data: Any,
    scores: dict[str, Any],
    tables: dict[str, list],
    cost: dict[str, Any],
) -> None:
    """What came of the run, and with what it was made."""
    from core.run import write_json

    record = {
        "task": config["task"],
        "data": {"requested": config["data_requested"], "used": config["data_used"], "counts": dict(data.counts)},
        "test": {name: score._asdict() for name, score in scores.items()},
        **tables,
        **cost,
        "versions": {name: version(name) for name in PACKAGES} | {"python": platform.python_version()},
    }
    write_json(record, folder / "metrics.json")


def announce(config: dict[str, Any], screen: Console) -> None:
    """What will be done, and first of all, if it is so, that the data are not what was asked for."""
    if notice := config.get("notice"):
        screen.print(notice, style="bold yellow", markup=False, highlight=False)
    choices = [f"{group}={choice}" for group, choice in config["choices"].items()]
    screen.print(" ".join([*choices, f"seed={config['seed']}"]), style="bold", markup=False, highlight=False)


def read_data(config: dict[str, Any], screen: Console, folder: Path | None) -> Any:
    """The data module with its data read, by the vocabulary of the run in `folder` if there is one; what does not fit
    is an error now, before anything is made."""
    data = instantiate(config["data"])
    if folder:
        data.restore(folder)
    with screen.status("reading the data"):
        try:
            data.load()
        except ValueError as error:
            raise ConfigError(f"data={config['data_used']}: {error}") from error
    for line in data.report():
        screen.print(line, highlight=False, markup=False)
    return data


def draw_maps(model: Any, data: Any, examples: Sequence[Any], folder: Path, title: str) -> list[dict[str, Any]]:
    """Maps of a few test examples, while the model's own prediction is forced: npz with labels, pictures, and one page
    of them all, which also has the validation examples whose maps were kept during training. Returns the measures of
    every head."""
    from core.evaluate import attention_maps, generate
    from core.forming import kept, reference_maps
    from core.maps.html import Step
    from core.maps.measures import measured, table

    forced = data.forced(examples, generate(model, data, examples))
    maps = [[measured(map) for map in found] for found in attention_maps(model, data, forced)]
    watched = [[measured(map) for map in found] for found in reference_maps(model, data)]
    timeline = [Step(*step) for step in kept(folder / "forming")]
    write_maps(maps, folder, title=title, first=watched, timeline=timeline)
    return table(maps)


def report(
    config: dict[str, Any],
    folder: Path,
    latest: Path,
    scores: dict[str, Any],
    spent: dict[str, Any],
    sample: Sequence[str],
    screen: Console,
) -> None:
    """The table that a run ends with, where its files are, and what to try next, on a `sample` of an input."""
    used, asked = config["data_used"], config["data_requested"]
    if used != asked:
        screen.print(f"TOY DATA, not {asked}", style="bold yellow")
    screen.print()
    screen.print(table(f"{config['task']}, {used}, test split", scores))
    screen.print(
        f"\n{spent['epochs']} epochs in {spent['seconds']:.0f} s, {spent['total_seconds']:.0f} s in all "
        f"({spent['precision']}); best epoch {spent['best_epoch']}",
        highlight=False,
    )
    words = shlex.join(sample)
    page = folder / "maps" / PAGE
    screen.print(
        f"\nfiles      {folder}\n"
        + (f"maps       {page}  (open it in a browser)\n" if page.is_file() else "no maps    it has no attention\n")
        + "\nnext\n"
        f"  python scripts/predict.py {latest} {words}\n"
        f"  python scripts/maps.py {latest} {words}\n"
        f"  python scripts/train.py {shlex.join(with_another_mechanism(config))}",
        markup=False,
        highlight=False,
        soft_wrap=True,
    )


def with_another_mechanism(config: dict[str, Any]) -> list[str]:
    """What was typed, with another attention; and with the data that were used, where others were asked for."""
    fell_back = config["data_used"] != config["data_requested"]
    typed = [word for word in config.get("typed", []) if not re.match(r"\+*attention\b", word)]
    other = "cosine" if config["choices"]["attention"] == "additive" else "additive"
    return [*typed, *([f"data={config['data_used']}"] if fell_back else []), f"attention={other}"]


if __name__ == "__main__":
    command(main)
