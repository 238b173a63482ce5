"""What a trained model makes of your own inputs: `python scripts/predict.py outputs/translation/latest "Ein Hund."`"""

import json
import sys

from decoding import add_options, apply

from command import command
from inputs import inputs, parser


def main(arguments: list[str]) -> None:
    """Predictions go to standard output, a line each or as many as --nbest says; what is to be known about them goes
    to standard error."""
    options = parser("Predict from your own inputs.")
    options.add_argument("--json", action="store_true", help="an object a line, with the mean log-probability")
    add_options(options, several=True)
    chosen = options.parse_intermixed_args(arguments)

    from core.run import load

    run = load(chosen.run)
    texts = inputs(chosen, run.data.asks)
    apply(chosen, run)
    aloud = run.data.aloud and not chosen.json and not chosen.beam
    predictions = (run.aloud(text, say) for text in texts) if aloud else run.predict(texts)
    for number, prediction in enumerate(predictions, start=1):
        if chosen.json:
            alternatives = [each._asdict() for each in prediction.alternatives]
            print(json.dumps({**prediction._asdict(), "alternatives": alternatives}, ensure_ascii=False))
            continue
        outputs = [] if aloud else [prediction.output, *(each.output for each in prediction.alternatives)]
        print(*outputs, sep="\n", flush=True)
        if prediction.mean_log_probability is not None:
            print(f"  {number}: mean log-probability {prediction.mean_log_probability:.3f}", file=sys.stderr)
        for notice in prediction.notices:
            print(f"  {number}: {notice}", file=sys.stderr)


def say(text: str) -> None:
    print(text, end="", flush=True)


if __name__ == "__main__":
    command(main)
