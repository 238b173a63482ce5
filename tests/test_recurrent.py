"""The recurrent translator: every mechanism at its gaze, one call over all steps, and padding that changes nothing."""

import pytest
import torch

from compose import CONFIGS, compose, instantiate
from core.attention import MultiHeadAttention
from core.masks import padding
from core.record import record
from core.recurrent import RecurrentEncoder
from tasks.translation.data import Batch
from tasks.translation.rnn import RecurrentTranslation

MECHANISMS = sorted(page.stem for page in (CONFIGS / "attention").glob("*.yaml"))
START, END = 2, 3


def model_with(mechanism: str, **more) -> RecurrentTranslation:
    torch.manual_seed(1)
    words = [f"{key}={value}" for key, value in ({"model.width": 12, "model.dropout": 0.0} | more).items()]
    config = compose(["data=toy", "model=rnn", f"attention={mechanism}", *words])
    return instantiate(config["model"], vocabulary=17)


def batch(*lengths: int, target: int = 6) -> Batch:
    generator = torch.Generator().manual_seed(4)
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    source = torch.randint(4, 17, (len(lengths), max(lengths)), generator=generator) * mask
    said = torch.randint(4, 17, (len(lengths), target), generator=generator)
    marks = torch.full((len(lengths), 1), START), torch.full((len(lengths), 1), END)
    return Batch(source, mask[:, None], torch.cat([marks[0], said, marks[1]], dim=1))


@pytest.mark.parametrize("mechanism", MECHANISMS)
class TestEveryMechanism:
    def test_it_learns(self, mechanism):
        model, rows = model_with(mechanism), batch(7, 3, 5)
        optimizer, losses = torch.optim.AdamW(model.parameters(), lr=3e-3), []
        for _ in range(3):
            losses.append(model.loss(rows))
            optimizer.zero_grad()
            losses[-1].backward()
            optimizer.step()
        assert losses[0] > losses[1] > losses[2] > 0

    def test_all_steps_in_one_call_are_the_steps_one_by_one(self, mechanism):
        model, rows = model_with(mechanism).eval(), batch(7, 3, 5)
        with record(model, modules=model.gaze) as whole:
            expected = model(rows.source, rows.source_mask, rows.target)
        state, found = model.encode(rows.source, rows.source_mask), []
        with record(model, modules=model.gaze) as steps:
            for token in rows.target.split(1, dim=1):
                logits, state = model.step(token, state)
                found.append(logits)
        assert torch.allclose(torch.cat(found, dim=1), expected, atol=1e-5)
        assert torch.allclose(steps["decoder.gaze"], whole["decoder.gaze"], atol=1e-5)

    def test_a11_padding_changes_nothing(self, mechanism):
        model, rows = model_with(mechanism).eval(), batch(3, 15)
        with record(model, modules=model.gaze) as together:
            expected = model(rows.source, rows.source_mask, rows.target)[:1]
        with record(model, modules=model.gaze) as alone:
            found = model(rows.source[:1, :3], rows.source_mask[:1, :, :3], rows.target[:1])
        assert torch.allclose(found, expected, atol=1e-5)
        weights = together["decoder.gaze"][0]
        assert torch.allclose(alone["decoder.gaze"][0], weights[..., :3], atol=1e-5) and not weights[..., 3:].any()


def test_the_gaze_stands_bare_but_for_multi_head():
    assert not isinstance(model_with("cosine").decoder.gaze, MultiHeadAttention)
    heads = model_with("multi_head", **{"model.gaze_heads": 3}).decoder.gaze
    assert isinstance(heads, MultiHeadAttention) and heads.heads == 3


def test_neither_direction_reads_padding():
    torch.manual_seed(2)
    encoder = RecurrentEncoder(width=6, layers=2, dropout=0.3).eval()
    inputs = torch.randn(2, 9, 6)
    states, last = encoder(inputs, padding(torch.tensor([4, 9]), 9))
    inputs[0, 4:] = 1e3
    again, still = encoder(inputs, padding(torch.tensor([4, 9]), 9))
    assert torch.equal(states[0, :4], again[0, :4]) and torch.equal(last, still)


def test_without_an_end_or_with_one_at_once():
    model = model_with("additive").eval()
    with torch.no_grad():
        model.decoder.combine.weight.zero_()
        model.decoder.combine.bias.fill_(1.0)
        model.embedding.weight.zero_()
        model.embedding.weight[END] = 5.0
    assert [row.tokens for row in model.generate(batch(4, 2))] == [[], []]
    with torch.no_grad():
        model.embedding.weight[END] = -5.0
        model.embedding.weight[7] = 5.0
    rows = model.generate(batch(4, 2))
    assert [(len(row.tokens), row.cut) for row in rows] == [(18, True), (14, True)]
