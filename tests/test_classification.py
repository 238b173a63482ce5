"""Texts to labels: what is read, every mechanism that pools, what is refused, and what deciding words are."""

from collections import Counter
from functools import partial

import numpy as np
import pytest
import torch

from core import attention
from core.demo import Prediction
from core.evaluate import attention_maps, predict
from core.intervene import intervene
from core.maps.confusion import draw_confusion
from core.public import DataError
from core.text import words
from tasks.classification import own, toy
from tasks.classification.model import ENCODERS, LEAVE_ONE_OUT, Classifier
from tasks.classification.pooling import MaxPooling
from tasks.classification.scores import confusion, label_scores
from tasks.classification.sets import OwnTexts, PublicTexts, ToyTexts
from tasks.classification.words import SHAPES, Vocabulary, shape

NUMBERS = {"buckets": 50, "tokens_per_batch": 200, "max_length": 30, "seed": 1}
FITTING = {
    "unconditional": attention.UnconditionalAttention,
    "mean": attention.MeanAttention,
    "max": MaxPooling,
    "dot": attention.DotProductAttention,
    "scaled_dot": attention.ScaledDotProductAttention,
    "cosine": attention.CosineAttention,
    "general": attention.GeneralAttention,
    "additive": attention.AdditiveAttention,
    "content": attention.ContentBasedAttention,
    "position": attention.PositionBasedAttention,
    "with_position": partial(attention.WithPosition, attention.ScaledDotProductAttention),
    "multi_head": partial(attention.MultiHeadAttention, attention.ScaledDotProductAttention),
}
WINDOWS = [attention.LocalAttention, attention.PredictiveLocalAttention]


@pytest.fixture(scope="module")
def data():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(toy, "SIZES", {"train": 40, "validation": 8, "test": 8})
        made = ToyTexts(**NUMBERS)
        made.load()
    return made


def small_model(data, mechanism=attention.UnconditionalAttention, **more) -> Classifier:
    torch.manual_seed(0)
    numbers = {"buckets": 50, "encoder": "gru", "width": 16, "layers": 1, "heads": 2, "hidden": 16, "gaze_heads": 2}
    numbers |= {"dropout": 0.0, "word_dropout": 0.0, "label_smoothing": 0.0, "max_length": 30}
    numbers |= {"learning_rate": 1e-2, "warmup_steps": 1, "weight_decay": 0.0}
    return Classifier(attention=partial(mechanism), **data.supplies, **(numbers | more))


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("name", FITTING)
def test_two_steps_with_every_mechanism(data, name, encoder):
    model, batch = small_model(data, FITTING[name], encoder=encoder), data.collate(data.splits["train"])
    optimizer, before = torch.optim.Adam(model.parameters(), lr=0.01), float(model.loss(batch))
    for _ in range(2):
        optimizer.zero_grad()
        model.loss(batch).backward()
        optimizer.step()
    assert float(model.loss(batch)) < before
    (maps, *_) = attention_maps(model, data, data.splits["test"][:1])
    assert [each.name for each in maps] == ([] if name == "max" else ["pooling.attention", LEAVE_ONE_OUT])


@pytest.mark.parametrize("window", WINDOWS)
def test_windows_are_refused(data, window):
    with pytest.raises(ValueError, match="no place among the words.*unconditional"):
        small_model(data, partial(window, attention.ScaledDotProductAttention))


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("name", ["unconditional", "max", "multi_head"])
def test_padding_changes_nothing(data, name, encoder):
    model, examples = small_model(data, FITTING[name], encoder=encoder).eval(), data.splits["train"][:6]
    together = model(data.collate(examples))
    alone = torch.cat([model(data.collate([each])) for each in examples])
    torch.testing.assert_close(together, alone, atol=1e-5, rtol=1e-4)


def test_leave_one_out_is_what_is_lost_without_each_word(data):
    model, example = small_model(data).eval(), data.splits["test"][0]
    lost = model.leave_one_out(data.collate([example]))[0]
    whole = model.log_probabilities(data.collate([example]))
    each = [model.log_probabilities(data.collate([data.without(example, [n])])) for n in range(len(example.words))]
    torch.testing.assert_close(lost, (whole - torch.cat(each)).squeeze(-1), atol=1e-5, rtol=1e-4)


def test_a_forbidden_word_has_no_weight(data):
    model, (example,) = small_model(data).eval(), data.read(["The plot was dull, THE end."])
    keys = data.keys_of(example, "the")
    assert keys == [0, 5] and data.keys_of(example, "THE") == [5]
    with intervene(model, forbid=keys, modules=model.gaze):
        maps = next(attention_maps(model, data, [example]))
    assert not maps[0].weights[..., keys].any() and maps[0].keys[:2] == ("The", "plot")


@pytest.mark.parametrize("text", ["", "  \r\n", "\u200b"])
def test_nothing_gives_nothing(data, text):
    (found,) = predict(small_model(data), data, data.read([text]))
    assert found.output == "" and "empty" in found.notices[0]


@pytest.mark.parametrize("text", ["🐱", "两只狗。", "e\u0301t\u00e9", "w " * 500, "<b>&$", "x" * 3000])
def test_odd_inputs(data, text):
    (found,) = predict(small_model(data), data, data.read([text]))
    assert found.output in data.words.labels and found.notices
    assert ("the first 30 were kept" in " ".join(found.notices)) == (text.count("w ") > 30)


def test_toy_words_that_decide_are_at_their_places():
    for each in toy.reviews(seed=1)["test"]:
        said = [each.text[start:end] for start, end in words(each.text)]
        decide = [said[place] for place in each.deciding]
        praise = set()
        for place, word in enumerate(decide):
            if word in toy.GOOD + toy.BAD:
                praise.add((word in toy.GOOD) != (decide[place - 1] in toy.NOT))
        assert each.label == ("mixed" if len(praise) == 2 else "positive" if True in praise else "negative")


def test_scores_by_hand(tmp_path):
    truths, said = ["a", "a", "b", "b"], [("a", 0.8), ("b", 0.8), ("b", 0.8), ("", None)]
    predictions = [Prediction("x", label, p and float(np.log(p))) for label, p in said]
    found = label_scores(truths, predictions, ["a", "b"])
    assert found["accuracy"].value == pytest.approx(50) and found["calibration error"].value == pytest.approx(0.1)
    assert confusion(truths, predictions, ["a", "b"]).tolist() == [[1, 1], [0, 1]]
    path = draw_confusion(confusion(truths, predictions, ["a", "b"]), ["$a$", "狗"], tmp_path / "c.png")
    assert path.stat().st_size > 3000


def test_whole_texts_are_set_apart_without_their_parts():
    texts = [f"film {n} was good and long" for n in range(20)] + [f"{n} was good" for n in range(20)] + ["good"]
    counts = Counter()
    rows = [own.Labelled(each, "yes") for each in texts]
    found = own.with_held_out({"train": rows, "test": rows[:1]}, 3, seed=0, counts=counts, whole=True)
    apart = [each.text for each in found["validation"]]
    assert len(apart) == 3 and all(each.startswith("film") for each in apart)
    assert not any(each.text in held for each in found["train"] for held in apart if each.text != "good")
    assert counts["train.left_out_as_parts"] == 3


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", "text\tlabel\none two\tx\nthree\ty\n"),
        ("a.csv", '\ufefflabel,id,text\r\nx,1,"one two"\r\ny,2,three\r\n'),
        ("a.jsonl", '{"text": "one two", "label": "x"}\n\n{"text": "three", "label": "y"}\n'),
    ],
)
def test_own_tables(tmp_path, name, content):
    (tmp_path / name).write_bytes(content.encode())
    assert own.read_texts(str(tmp_path / name), "text", "label")["train"] == [("one two", "x"), ("three", "y")]


@pytest.mark.parametrize("content", ["", "a\n", '"open\n', "text,label,split\na,b,dev\n"])
def test_own_tables_that_are_refused(tmp_path, content):
    (tmp_path / "a.csv").write_text(content)
    with pytest.raises(DataError, match=r"a\.csv"):
        own.read_texts(str(tmp_path / "a.csv"), "text", "label")


def test_a_test_label_that_training_lacks(tmp_path):
    rows = [f"text {n}\t{n % 2}\ttrain" for n in range(20)] + ["a\t0\tvalidation", "b\tzebra\ttest"]
    (tmp_path / "a.tsv").write_text("\n".join(["text\tlabel\tsplit", *rows]))
    with pytest.raises(DataError, match="zebra"):
        OwnTexts(path=str(tmp_path / "a.tsv"), text="text", label="label", **NUMBERS).load()


@pytest.mark.parametrize("hub", ["sst2", "trec", "ag_news"])
def test_the_hubs_layouts(tmp_path, hub):
    from datasets import ClassLabel, Dataset, Features, Value

    columns = {"sst2": ("sentence", "label"), "trec": ("text", "label_coarse"), "ag_news": ("text", "label")}[hub]
    for split in ("train", "validation", "test") if hub == "sst2" else ("train", "test"):
        rows = [{columns[0]: f"{split} text {n}", columns[1]: n % 2} for n in range(30)]
        features = Features({columns[0]: Value("string"), columns[1]: ClassLabel(names=["no", "yes"])})
        if hub == "trec":
            rows = [{**row, "label": 7, "label_coarse_original": ["no", "yes"][row["label_coarse"]]} for row in rows]
            features = None
        if hub == "sst2" and split == "test":
            rows = [{**row, "label": -1} for row in rows]
        Dataset.from_list(rows, features=features).to_parquet(tmp_path / f"{split}.parquet")
    test = "validation" if hub == "sst2" else "test"
    data = PublicTexts(path=str(tmp_path), text=columns[0], label=columns[1], test=test, held_out=3, **NUMBERS)
    data.load()
    assert data.words.labels == ("no", "yes")
    assert [len(data.splits[split]) for split in ("train", "validation", "test")] == [27, 3, 30]


@pytest.mark.parametrize(
    ("word", "expected"),
    [("it", 1), ("It", 2), ("IT", 3), ("McGee", 3), ("B2", 4), ("1990", 4), ("?", 5), ("狗", 1), ("É", 2), ("ÉTÉ", 3)],
)
def test_shapes_of_words(word, expected):
    assert shape(word) == expected < SHAPES


def test_capitals_are_told_apart_by_their_shape_alone(data):
    batch = data.collate(data.read(["us US"]))
    assert batch.ids[1] == batch.ids[2] and batch.parts[1].equal(batch.parts[2])
    assert batch.shapes.tolist() == [0, 1, 3]


def test_a_vocabulary_comes_back_and_damage_is_told(tmp_path):
    made = Vocabulary.learn([["a", "b"], ["a"]], ["x", "y"], min_count=2, buckets=9)
    made.save(tmp_path / "v.json")
    assert Vocabulary.load(tmp_path / "v.json").digest == made.digest and made.words == ("a",)
    (tmp_path / "v.json").write_text("{")
    with pytest.raises(ValueError, match="damaged"):
        Vocabulary.load(tmp_path / "v.json")
