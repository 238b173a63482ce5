"""The captioner: every mechanism that fits, one step or all at once, one picture or many."""

from functools import partial

import pytest
import torch
from captioning import small_model, small_toy, tiny_encoder
from mechanisms import ANYWHERE, BY_PLACE, PREDICTIVE

from core.attention import UnconditionalAttention
from core.beams import beam
from core.decode import greedy, sample
from core.evaluate import attention_maps, generate, predict
from core.intervene import intervene
from tasks.captioning import encoders
from tasks.captioning.words import Words

FITTING = ANYWHERE
REFUSED = BY_PLACE | PREDICTIVE
DECODERS = ("recurrent", "transformer")


@pytest.fixture
def data(monkeypatch):
    return small_toy(monkeypatch)


@pytest.fixture
def with_features(monkeypatch, tmp_path):
    monkeypatch.setattr(encoders, "encoder_or_packaged", lambda name: tiny_encoder())
    return small_toy(monkeypatch, encoder="tiny", features=str(tmp_path))


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("attention", FITTING)
def test_two_steps_with_each_mechanism(data, attention, decoder):
    model = small_model(data, FITTING[attention], decoder=decoder, unevenness=0.1)
    batch = data.collate(data.splits["train"][:5])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    losses = []
    for _ in range(2):
        optimizer.zero_grad()
        model.train()
        model.loss(batch).backward()
        optimizer.step()
        model.eval()
        losses.append(float(model.loss(batch)))
    assert losses[1] < losses[0]
    assert all(torch.isfinite(weight.grad).all() for weight in model.parameters() if weight.grad is not None)


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("attention", REFUSED)
def test_mechanisms_by_place_are_refused(data, attention, decoder):
    with pytest.raises(ValueError, match="no meaning over a picture.*scaled_dot"):
        small_model(data, REFUSED[attention], decoder=decoder)


@pytest.mark.parametrize("wrong", [{"decoder": "lstm"}, {"label_smoothing": 1.0}, {"unevenness": -1.0}, {"cells": 5}])
def test_numbers_that_do_not_fit(data, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        small_model(data, **wrong)


@pytest.mark.parametrize("decoder", DECODERS)
@pytest.mark.parametrize("attention", ["scaled_dot", "additive", "multi_head"])
@pytest.mark.parametrize("remembers", [True, False])
def test_step_by_step_is_all_at_once_and_in_a_batch(data, attention, decoder, remembers):
    model = small_model(data, FITTING[attention], decoder=decoder, remembers=remembers).eval()
    examples = data.splits["train"][:3]
    batch = data.collate(examples)
    together = model(batch)
    alone = model(data.collate(examples[1:2]))
    torch.testing.assert_close(together[2:4, : alone.shape[1]], alone, atol=1e-5, rtol=1e-4)
    state = model.encode(batch, batch.owner)
    for step in range(batch.target.shape[1] - 1):
        logits, state = model.step(batch.target[:, step : step + 1], state)
        torch.testing.assert_close(logits[:, 0], together[:, step], atol=1e-5, rtol=1e-4)


def test_pictures_with_different_numbers_of_captions(data):
    model = small_model(data).eval()
    one, two = data.splits["train"][:2]
    together = model(data.collate([one._replace(ids=one.ids[:1]), two]))
    torch.testing.assert_close(together[1:], model(data.collate([one, two]))[2:][:, : together.shape[1]])


@pytest.mark.parametrize("decoder", DECODERS)
def test_log_probabilities_are_of_the_first_caption(data, decoder):
    model = small_model(data, decoder=decoder).eval()
    examples = data.splits["train"][:3]
    found = model.log_probabilities(data.collate(examples))
    for row, example in zip(found, examples, strict=True):
        ids = torch.tensor([Words.START, *example.ids[0], Words.END])
        alone = model(data.collate([example._replace(ids=example.ids[:1])]))[0].log_softmax(-1)
        wanted = alone.gather(-1, ids[1:, None]).squeeze(-1)
        torch.testing.assert_close(row[: len(wanted)], wanted, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("decode", [greedy, sample, partial(beam, beams=3, nbest=2)])
@pytest.mark.parametrize("decoder", DECODERS)
def test_every_way_of_decoding(data, decode, decoder):
    model = small_model(data, decoder=decoder)
    model.decode = decode
    found = predict(model, data, data.splits["test"])
    assert len(found) == 6 and all(isinstance(each.output, str) for each in found)
    said = generate(model, data, data.splits["test"])
    assert not {Words.PAD, Words.UNKNOWN, Words.START} & {token for each in said for token in each.tokens}


@pytest.mark.parametrize("decode", [greedy, partial(beam, beams=3)])
def test_a_model_that_says_nothing_gives_an_empty_caption_and_its_map(data, decode):
    model = small_model(data)
    with torch.no_grad():
        model.embedding.weight.zero_()
        model.embedding.weight[Words.END] = 5.0
        model.decoder.combine.weight.zero_()
        model.decoder.combine.bias.fill_(1.0)
    model.decode = decode
    examples = data.splits["test"][:2]
    said = generate(model, data, examples)
    assert [each.output for each in data.predictions(examples, said)] == ["", ""]
    for (found,) in attention_maps(model, data, data.forced(examples, said)):
        assert found.queries == ("⟨end⟩",) and found.weights.shape == (1, 1, 16)


def test_prefix_is_in_words(data):
    model = small_model(data)
    model.decode = partial(greedy, prefix=[data.tokenizer.encode("A Red, circle!")])
    assert all(each.output.startswith("a red circle") for each in predict(model, data, data.splits["test"]))


@pytest.mark.parametrize("decoder", DECODERS)
def test_a_cell_that_may_not_be_seen_and_one_that_is_replaced(with_features, decoder):
    data, model = with_features, small_model(with_features, decoder=decoder).eval()
    example = data.splits["test"][0]
    keys = data.keys_of(example, "0,0,1,0.5")
    with intervene(model, forbid=keys, modules=model.gaze):
        for found in next(attention_maps(model, data, [example])):
            assert keys == list(range(8)) and not found.weights[..., :8].any()
    whole, replaced = data.collate([example]), data.collate([data.without(example, keys), example])
    assert len(replaced.pictures[0]) == 2 and whole.blank is None
    before, after = model(whole)[:2], model(replaced)
    torch.testing.assert_close(after[2:], before, atol=1e-5, rtol=1e-4)
    assert not torch.allclose(after[:2], before)


def test_even_looks_cost_nothing(data):
    model = small_model(data, UnconditionalAttention, unevenness=1.0)
    for weight in model.decoder.gaze.parameters():
        torch.nn.init.zeros_(weight)
    batch = data.collate(data.splits["train"][:2])
    model.train()
    without = small_model(data, UnconditionalAttention)
    without.load_state_dict(model.state_dict())
    torch.testing.assert_close(model.loss(batch), without.train().loss(batch))


def test_features_of_a_tiny_encoder(with_features):
    batch = with_features.collate(with_features.splits["train"][:3])
    assert [tuple(each.shape) for each in batch.pictures] == [(3, 5, 4, 4), (3, 7, 2, 2)]
    assert with_features.grid == (4, 4) and with_features.supplies["shapes"] == [[5, 4, 4], [7, 2, 2]]
