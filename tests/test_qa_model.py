"""Attention flow: every mechanism that fits, a batch beside single questions, windows, and what may not be seen."""

import pytest
import torch
from mechanisms import ANYWHERE, BY_PLACE, PREDICTIVE
from qa import PASSAGE, small_model, small_toy

from core.attention import LocationAttention
from core.evaluate import attention_maps, generate, predict
from core.intervene import intervene
from tasks.qa.labels import TO_PASSAGE, TO_QUESTION
from tasks.qa.model import pointing
from tasks.qa.recurrent import running_mean

FITTING = ANYWHERE | PREDICTIVE
REFUSED = BY_PLACE | {"location": LocationAttention}
LONG = " ".join([PASSAGE, "Carlos has a dog called Rex.", "Dana was born in 1976.", "Emma likes rice best."] * 2)


@pytest.fixture(scope="module")
def data():
    with pytest.MonkeyPatch.context() as patch:
        return small_toy(patch)


@pytest.mark.parametrize("attention", FITTING)
def test_two_steps_with_each_mechanism(data, attention):
    model = small_model(data, FITTING[attention])
    batch = data.collate(data.splits["train"][:6])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        model.train()
        model.loss(batch).backward()
        optimizer.step()
        model.eval()
        losses.append(model.loss(batch).item())
    assert losses[1] < losses[0]
    assert all(torch.isfinite(weight.grad).all() for weight in model.parameters() if weight.grad is not None)


@pytest.mark.parametrize("attention", REFUSED)
def test_mechanisms_by_place_are_refused(data, attention):
    with pytest.raises(ValueError, match="have no distance.*scaled_dot"):
        small_model(data, REFUSED[attention])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"longest_answer": 0}, "longest_answer is 0"),
        ({"word_dropout": 1.0}, "word_dropout"),
        ({"width": 15}, "even; got 15"),
        ({"dropout": 1.0}, "1.0"),
    ],
)
def test_numbers_that_do_not_fit(data, wrong, said):
    with pytest.raises(ValueError, match=said):
        small_model(data, **wrong)


@pytest.mark.parametrize("attention", ["scaled_dot", "additive", "multi_head"])
def test_a_batch_is_its_questions_one_by_one(data, attention):
    model = small_model(data, FITTING[attention]).eval()
    examples = [*data.splits["test"], *data.read([("Oslo", "Where?"), (LONG, "Where does Ben live?")])]
    together = model.log_probabilities(data.collate(examples))
    for row, example in zip(together, examples, strict=True):
        torch.testing.assert_close(row, model.log_probabilities(data.collate([example]))[0], atol=1e-5, rtol=1e-4)
    alone = [generate(model, data, [example])[0] for example in examples]
    for one, many in zip(alone, generate(model, data, examples), strict=True):
        assert one[:3] == many[:3] and one[3:] == pytest.approx(many[3:], abs=1e-4)


def test_probabilities_sum_to_one_and_padding_has_none(data):
    model = small_model(data).eval()
    batch = data.collate(data.splits["test"])
    found = model(batch).exp()
    torch.testing.assert_close(found.sum(dim=-1), torch.ones(found.shape[:2]))
    assert not found[:, :, 1:].masked_select(~batch.passage_mask.transpose(0, 1)).any()


def test_an_answer_is_no_longer_than_allowed_and_cut_from_the_passage(data):
    model = small_model(data, longest_answer=2)
    for example, found, told in zip(
        data.splits["test"],
        generate(model, data, data.splits["test"]),
        predict(model, data, data.splits["test"]),
        strict=True,
    ):
        assert 0 <= found.end - found.start < 2 and told.output in example.passage.text and told.output


@pytest.mark.parametrize("pair", [("", "Where?"), (PASSAGE, ""), (" \n", "\t"), ("", "")])
def test_nothing_to_read_is_an_empty_answer_with_the_reason(data, pair):
    model = small_model(data)
    empty, full = predict(model, data, data.read([pair, (PASSAGE, "Where does Anna live?")]))
    assert empty.output == "" and "is empty" in empty.notices[0] and full.output in PASSAGE
    assert list(attention_maps(model, data, data.read([pair]))) == [[]]


@pytest.mark.parametrize(
    "passage", ["安娜住在奥斯陆。", "😀 Oslo 😀", "a\r\nOslo\r\n", "e\u0301te\u0301", "x" * 5000, "w " * 900]
)
def test_hard_passages(data, passage):
    model = small_model(data)
    (found,) = predict(model, data, data.read([(passage, "哪里 where 😀?")]))
    assert found.output in passage and found.output


def test_q05_a_long_passage_is_read_in_windows(data):
    model = small_model(data)
    (example,) = data.read([(LONG, "Where does Ben live?")])
    assert len(example.windows) > 1
    (found,) = predict(model, data, [example])
    assert any("was read in windows of 30" in notice for notice in found.notices)
    (forced,) = data.forced([example], generate(model, data, [example]))
    to_question, to_passage = next(attention_maps(model, data, [forced]))
    assert len(forced.windows) == 1 and len(to_passage.keys) == 30 == len(to_question.queries)


def test_maps_have_the_words_and_rows_sum_to_one(data):
    model = small_model(data, FITTING["multi_head"])
    (example,) = data.read([(PASSAGE, "Where does Anna live?")])
    maps = {map.name: map for map in next(attention_maps(model, data, [example]))}
    assert maps[TO_QUESTION].keys == ("Where", "does", "Anna", "live", "?") and maps[TO_PASSAGE].keys[3] == "Oslo"
    assert maps[TO_QUESTION].queries == maps[TO_PASSAGE].keys and len(maps[TO_PASSAGE].queries) == 1
    for map in maps.values():
        assert map.weights.shape[0] == 2 and map.weights.sum(-1) == pytest.approx(1, abs=1e-4)


def test_maps_do_not_know_the_answer(data):
    model = small_model(data)
    example = data.splits["test"][0]
    told, untold = attention_maps(model, data, [example, example._replace(answer=None)])
    assert example.answer and all((a.weights == b.weights).all() for a, b in zip(told, untold, strict=True))


def test_starts_and_ends_far_from_the_look_are_held_back():
    look = torch.tensor([[[0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]])
    found = pointing(look).exp().flatten()
    torch.testing.assert_close(found, torch.tensor([0.001, 0.001, 1.001, 1.001, 1.001, 1.001, 1.001, 0.001]))
    torch.testing.assert_close(pointing(torch.stack([look, look.flip(-1)], dim=1)).exp()[0, 0, 0], torch.tensor(0.001))


def test_what_may_not_be_seen_has_no_weight(data):
    model = small_model(data)
    (example,) = data.read([(PASSAGE, "Where does Anna live?")])
    keys = data.forbidden(example, ["anna", "?"], model.explains)
    assert keys == {TO_PASSAGE: [0, 10], TO_QUESTION: [2, 4]}
    with intervene(model, forbid=keys[TO_PASSAGE], modules=[TO_PASSAGE]):
        maps = {map.name: map for map in next(attention_maps(model, data, [example]))}
    assert not maps[TO_PASSAGE].weights[..., [0, 10]].any() and maps[TO_QUESTION].weights[..., 2].any()
    with pytest.raises(ValueError, match="'Rex' is no word of the passage"):
        data.keys_of(example, "Rex")


def test_words_that_say_nothing_take_the_place_of_others(data):
    (example,) = data.read([(PASSAGE, "Where does Anna live?")])
    without = data.without(example, [0])
    assert without.passage.numbers[0] != example.passage.numbers[0] and without.passage.text == PASSAGE
    assert (without.passage.numbers[1:] == example.passage.numbers[1:]).all()
    assert example.passage.features[0, 0] == 1 and without.passage.features[0, 0] == 0


class TestRunningMean:
    def test_by_hand_forwards_and_backwards(self):
        keep = torch.full((3, 1, 2), 0.5)
        new = torch.tensor([[[8.0, 8.0]], [[4.0, 4.0]], [[2.0, 2.0]]])
        assert running_mean(keep, new)[:, 0].tolist() == [[4.0, 5.25], [4.0, 2.5], [3.0, 1.0]]

    def test_its_gradient_is_that_of_its_steps(self):
        torch.manual_seed(0)
        keep, new = torch.rand(5, 2, 4, dtype=torch.float64), torch.randn(5, 2, 4, dtype=torch.float64)
        assert torch.autograd.gradcheck(running_mean, (keep.requires_grad_(), new.requires_grad_()))
