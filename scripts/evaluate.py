"""Score a trained model again, or on other data: `python scripts/evaluate.py outputs/translation/latest`"""

import argparse
import json
import time

from decoding import add_options, apply

from command import command, console, table
from compose import ConfigError, instantiate, override


def main(arguments: list[str]) -> None:
    options = argparse.ArgumentParser(description="Score a run on a split of its data, or of other data.")
    options.add_argument("run", metavar="RUN", help="a run folder, such as outputs/translation/latest")
    options.add_argument("overrides", metavar="data.KEY=VALUE", nargs="*", help="other data, such as data.path=DIR")
    options.add_argument("--split", default="test", help="train, validation or test (default: test)")
    options.add_argument("--json", action="store_true", help="print scores and predictions as JSON")
    add_options(options)
    chosen = options.parse_intermixed_args(arguments)

    from core.evaluate import evaluate
    from core.faithfulness import EXAMPLES, faithfulness
    from core.posterior import looks
    from core.run import load

    run = load(chosen.run)
    apply(chosen, run)
    config = override(run.config, chosen.overrides, only="data")
    data = instantiate(config["data"])
    data.restore(run.folder)
    screen = console()
    with screen.status("reading the data"):
        data.load()
    if chosen.split not in data.splits:
        raise ConfigError(f"--split {chosen.split}: the data have {', '.join(data.splits)}")
    examples = data.splits[chosen.split]
    with screen.status(f"scoring {len(examples):,} examples"):
        begun = time.monotonic()
        scores, predictions = evaluate(run.model, data, examples)
        seconds = time.monotonic() - begun
        if chosen.split == "test":
            maps = data.map_scores(looks(run.model, data), data.splits["validation"], examples)
            scores = scores | maps.scores | faithfulness(run.model, data, examples[:EXAMPLES])
    if chosen.json:
        result = {"scores": {name: score._asdict() for name, score in scores.items()}}
        print(json.dumps(result | {"predictions": [each._asdict() for each in predictions]}, ensure_ascii=False))
        return
    screen.print(table(f"{run.folder}, {chosen.split} split, {len(examples):,} examples", scores))
    screen.print(f"\n{seconds:.1f} s to generate and score them", highlight=False)


if __name__ == "__main__":
    command(main)
