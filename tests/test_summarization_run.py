"""A small summarization run from the configuration to its folder, and what is then asked of it."""

import io
import json
from functools import partial

import pytest
import torch
from rich.console import Console

from core.attention import (
    AdditiveAttention,
    ContentBasedAttention,
    CosineAttention,
    DotProductAttention,
    GeneralAttention,
    LocalAttention,
    MultiHeadAttention,
    PositionBasedAttention,
    PredictiveLocalAttention,
    ScaledDotProductAttention,
    UnconditionalAttention,
    WithPosition,
)
from core.run import load
from tasks.summarization import toy
from tasks.summarization.model import Summarization
from tasks.summarization.sets import ToyArticles

SIZES = {"train": 40, "validation": 8, "test": 8}
NUMBERS = {"tokens_per_batch": 512, "known_words": 100, "max_sentences": 9, "max_words": 80, "seed": 1}
FITTING = [
    AdditiveAttention,
    ContentBasedAttention,
    CosineAttention,
    DotProductAttention,
    GeneralAttention,
    ScaledDotProductAttention,
    UnconditionalAttention,
    partial(MultiHeadAttention, ScaledDotProductAttention),
    partial(PredictiveLocalAttention, ScaledDotProductAttention),
]
NOT_FITTING = [
    partial(LocalAttention, ScaledDotProductAttention, before=1, after=1),
    PositionBasedAttention,
    partial(WithPosition, ScaledDotProductAttention),
]


def small_model(data, attention=ScaledDotProductAttention, **more) -> Summarization:
    torch.manual_seed(0)
    numbers = dict(
        width=16, gaze_heads=2, layers=1, heads=2, hidden=16, dropout=0.0, word_dropout=0.0, learning_rate=1e-2,
        warmup_steps=1, weight_decay=0.0,
    )  # fmt: skip
    return Summarization(attention=attention, **data.supplies, **(numbers | more))


@pytest.fixture(scope="module")
def data():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toy, "SIZES", SIZES)
        data = ToyArticles(**NUMBERS, sentences=3)
        data.load()
    return data


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    from train import train

    from compose import compose

    screen = Console(file=io.StringIO(), width=200)
    wishes = (
        "task=summarization data=toy trainer=smoke model.width=16 model.hidden=16 trainer.precision=32-true".split()
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toy, "SIZES", SIZES)
        folder = train(compose([*wishes, f"output={tmp_path_factory.mktemp('runs')}"]), screen)
    return folder, screen.file.getvalue()


@pytest.mark.parametrize("attention", FITTING, ids=str)
def test_two_steps_with_each_mechanism(data, attention):
    model = small_model(data, attention)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batch = data.collate(data.splits["train"][:4])
    for _ in range(2):
        optimizer.zero_grad()
        loss = model.loss(batch)
        loss.backward()
        optimizer.step()
    assert torch.isfinite(loss) and all(torch.isfinite(weights).all() for weights in model.parameters())
    assert model.log_probabilities(batch).shape == (4, 1)


@pytest.mark.parametrize("attention", NOT_FITTING, ids=str)
def test_a_mechanism_by_place_is_refused(data, attention):
    with pytest.raises(ValueError, match="stands nowhere"):
        small_model(data, attention)


def test_a_gaze_that_looks_everywhere_alike_prefers_no_sentence(data):
    model = small_model(data, UnconditionalAttention).eval()
    model.gaze_over_sentences.weight.data.zero_()
    for scored in model.generate(data.collate(data.splits["test"][:3])):
        assert scored.logits == pytest.approx([scored.logits[0]] * len(scored.logits), abs=1e-5)


def test_a_row_does_not_depend_on_its_batch(data):
    model = small_model(data).eval()
    examples = sorted(data.splits["test"], key=data.size)
    (alone,) = model.generate(data.collate(examples[:1]))
    together = model.generate(data.collate([examples[0], examples[-1]]))[0]
    assert together.logits == pytest.approx(alone.logits, abs=1e-5)


def test_fewer_sentences_than_asked_or_none(data):
    examples = data.read(["One. Two.", "Only one here.", "", "...", "\n\n"])
    generated = small_model(data).eval().generate(data.collate(examples))
    assert all(torch.isfinite(torch.from_numpy(each.logits)).all() for each in generated)
    found = data.predictions(examples, [each if len(each.logits) else None for each in generated])
    assert [each.output for each in found] == ["One. Two.", "Only one here.", "", "", ""]
    assert [bool(each.notices) for each in found] == [False, False, True, True, True]
    assert data.scores(examples, found)["ROUGE-1"].value == 0


def test_long_articles_are_cut_with_a_notice(data):
    (example,) = data.read([" ".join(f"Sentence {n} is here." for n in range(20))])
    assert len(example.article.words) == 9 and "first 9 of 20" in example.notices[0]


def test_what_a_run_leaves(finished):
    folder, told = finished
    test = json.loads((folder / "metrics.json").read_text(encoding="utf-8"))["test"]
    rows = {
        f"{kind}{row}" for kind in ("ROUGE-1", "ROUGE-2", "ROUGE-L") for row in ("", ", lead", ", random", ", oracle")
    }
    assert rows | {"gap closed", "average precision", "average precision, random"} <= test.keys()
    assert any("faithfulness, replaced" in name for name in test)
    assert (folder / "maps" / "maps.html").is_file() and "sample.txt" in told


def test_own_texts_and_files(finished, tmp_path):
    run = load(finished[0])
    text = "The harbour in Oslo won two prizes. It rained. The zoo in Lima is quiet on most days. Nobody came."
    (tmp_path / "mine.txt").write_text(text, encoding="utf-8")
    one, other, empty = run.predict([text, str(tmp_path / "mine.txt"), ""])
    assert one.output == other.output and one.output and not empty.output
    sentences, words = run.maps(text)[0]
    assert sentences.weights.shape[1:] == (1, 4) and len(words.queries) == 3
    assert sentences.text["prediction"] == one.output
    with pytest.raises(ValueError, match="no such file"):
        run.predict(str(tmp_path / "missing.txt"))
    (tmp_path / "latin.txt").write_bytes(b"caf\xe9.")
    with pytest.raises(ValueError, match="UTF-8"):
        run.predict(str(tmp_path / "latin.txt"))


def test_a_forbidden_word_takes_its_sentences_from_the_gaze(finished):
    run = load(finished[0])
    text = "The harbour won. It rained. The Harbour is quiet. Nobody came."
    maps = run.maps(text, forbid=["harbour"])[0]
    assert maps[0].weights[0, 0, [0, 2]].tolist() == [0, 0] and maps[0].weights.sum() == pytest.approx(1, abs=1e-4)
    with pytest.raises(ValueError, match="no sentence"):
        run.maps(text, forbid=["volcano"])
