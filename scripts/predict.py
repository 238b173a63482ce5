"""What a trained model makes of your own inputs: `python scripts/predict.py outputs/translation/latest "Ein Hund."`"""

import json
import sys

from command import command
from inputs import inputs, parser


def main(arguments: list[str]) -> None:
    """Predictions go to standard output, a line each; what is to be known about them goes to standard error."""
    options = parser("Predict from your own inputs.")
    options.add_argument("--json", action="store_true", help="an object a line, with the mean log-probability")
    chosen = options.parse_intermixed_args(arguments)
    texts = inputs(chosen)

    from core.run import load

    for number, prediction in enumerate(load(chosen.run).predict(texts), start=1):
        if chosen.json:
            print(json.dumps(prediction._asdict(), ensure_ascii=False))
            continue
        print(prediction.output, flush=True)
        if prediction.mean_log_probability is not None:
            print(f"  {number}: mean log-probability {prediction.mean_log_probability:.3f}", file=sys.stderr)
        for notice in prediction.notices:
            print(f"  {number}: {notice}", file=sys.stderr)


if __name__ == "__main__":
    command(main)
