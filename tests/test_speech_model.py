"""The recogniser: every mechanism that fits, one step or all at once, one sound or many, beams and single rows."""

from functools import partial

import pytest
import torch
from mechanisms import ANYWHERE, BY_PLACE, PREDICTIVE
from speech import small_model, small_toy

from core.attention import LocationAttention, MultiHeadAttention
from core.beams import beam
from core.decode import greedy, sample
from core.evaluate import attention_maps, generate, predict
from core.intervene import intervene
from core.record import record
from tasks.speech.characters import Characters

LOCATION = partial(LocationAttention, filters=3, reach=2)
FITTING = (
    ANYWHERE
    | PREDICTIVE
    | {
        "location": LOCATION,
        "multi_head of location": partial(MultiHeadAttention, mechanism=LOCATION),
    }
)
ENCODERS = ("recurrent", "transformer")
WAYS = {"greedy": greedy, "sample": sample, "beam": partial(beam, beams=3, nbest=2)}


@pytest.fixture
def data(monkeypatch):
    return small_toy(monkeypatch)


@pytest.mark.parametrize("attention", FITTING)
def test_two_steps_with_each_mechanism(data, attention):
    model = small_model(data.vocabulary, FITTING[attention])
    batch = data.collate([each._replace(varied=False) for each in data.splits["train"][:4]])
    optimizer, losses = torch.optim.AdamW(model.train().parameters(), lr=1e-2), []
    for _ in range(3):
        losses.append(model.loss(batch))
        optimizer.zero_grad()
        losses[-1].backward()
        optimizer.step()
    assert losses[0] > losses[1] > losses[2]
    assert all(weight.grad is None or weight.grad.isfinite().all() for weight in model.parameters())


@pytest.mark.parametrize("attention", BY_PLACE)
def test_mechanisms_by_place_are_refused(attention):
    with pytest.raises(ValueError, match="no meaning over speech.*location, local_predictive"):
        small_model(9, BY_PLACE[attention])


@pytest.mark.parametrize("wrong", [{"encoder": "lstm"}, {"ctc": 1.0}, {"character_dropout": -0.1}])
def test_numbers_that_do_not_fit(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        small_model(9, **wrong)


@pytest.mark.parametrize("encoder", ENCODERS)
@pytest.mark.parametrize("attention", ["scaled_dot", "location", "local_predictive", "multi_head of location"])
def test_step_by_step_is_all_at_once_and_in_a_batch(data, attention, encoder):
    model = small_model(data.vocabulary, FITTING[attention], encoder=encoder).eval()
    examples = data.splits["test"][:3]
    batch = data.collate(examples)
    with record(model, modules=model.gaze) as whole:
        together = model(batch)
    alone = model(data.collate(examples[1:2]))
    torch.testing.assert_close(together[1:2, : alone.shape[1]], alone, atol=1e-5, rtol=1e-4)
    state = model.encode(batch)
    with record(model, modules=model.gaze) as steps:
        for step in range(batch.target.shape[1] - 1):
            logits, state = model.step(batch.target[:, step : step + 1], state)
            torch.testing.assert_close(logits[:, 0], together[:, step], atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(steps["decoder.gaze"], whole["decoder.gaze"], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("attention", ["location", "scaled_dot"])
def test_beams_carry_what_they_looked_at(data, attention):
    """What a beam is worth is what its tokens are worth when they are forced."""
    model = small_model(data.vocabulary, FITTING[attention])
    model.decode = partial(beam, beams=3, nbest=3)
    examples = data.splits["test"][:2]
    for example, found in zip(examples, generate(model, data, examples), strict=True):
        for each in (found, *found.others):
            forced = data.collate(data.forced([example], [each]))
            with torch.no_grad():
                wanted = model.log_probabilities(forced)[0, : len(each.log_probabilities)]
            torch.testing.assert_close(torch.tensor(each.log_probabilities), wanted, atol=1e-3, rtol=1e-3)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_decoding(data, way):
    model = small_model(data.vocabulary)
    model.decode = WAYS[way]
    assert len(predict(model, data, data.splits["test"])) == 6
    said = generate(model, data, data.splits["test"])
    never = {Characters.PAD, Characters.UNKNOWN, Characters.START}
    assert not never & {token for each in said for token in each.tokens}


def test_a_model_that_says_nothing_gives_an_empty_transcript_and_its_map(data):
    model = small_model(data.vocabulary)
    with torch.no_grad():
        model.embedding.weight.zero_()
        model.embedding.weight[Characters.END] = 5.0
        model.decoder.combine.weight.zero_()
        model.decoder.combine.bias.fill_(1.0)
    examples = data.splits["test"][:2]
    said = generate(model, data, examples)
    assert [each.output for each in data.predictions(examples, said)] == ["", ""]
    for (found,) in attention_maps(model, data, data.forced(examples, said)):
        assert found.queries == ("⟨end⟩",) and found.weights.shape[:2] == (1, 1)


def test_frames_that_may_not_be_heard_and_ones_that_are_replaced(data):
    model = small_model(data.vocabulary).eval()
    example = data.splits["test"][0]
    keys = data.keys_of(example, "0.1-0.3 s")
    assert keys == [3, 4, 5, 6, 7]
    with intervene(model, forbid=keys, modules=model.gaze):
        (found,) = next(attention_maps(model, data, [example]))
        assert not found.weights[..., keys].any() and found.weights.sum(-1) == pytest.approx(1.0, abs=1e-4)
    before = data.features(example)
    after = data.features(data.without(example, [3]))
    assert (after[10:14] == 0).all() and torch.equal(after[:10], before[:10]) and torch.equal(after[14:], before[14:])
    for wrong in ("ma", "0.3-0.1", "90-91", "-1-2"):
        with pytest.raises(ValueError, match="START-END"):
            data.keys_of(example, wrong)


def test_features_and_outputs_are_in_single_precision_also_where_a_run_is_not(data):
    model = small_model(data.vocabulary).eval()
    with torch.no_grad():
        alone = model.log_probabilities(data.collate(data.splits["test"][:2]))
        with torch.autocast("cpu", torch.bfloat16):
            within = model.log_probabilities(data.collate(data.splits["test"][:2]))
            generate(model, data, data.splits["test"][:2])
    assert within.dtype == torch.float32 and torch.equal(alone, within)


def test_prefix_is_in_characters(data):
    model = small_model(data.vocabulary)
    model.decode = partial(greedy, prefix=[data.tokenizer.encode("Ma, la!")])
    assert all(each.output.startswith("ma la") for each in predict(model, data, data.splits["test"]))


def test_some_characters_are_not_told_in_training(data):
    model = small_model(data.vocabulary, character_dropout=0.5)
    tokens = torch.tensor([[Characters.START, *[5] * 200]])
    assert torch.equal(model.eval().some_unknown(tokens), tokens)
    found = model.train().some_unknown(tokens)[0]
    assert found[0] == Characters.START and 60 < (found == Characters.UNKNOWN).sum() < 140
