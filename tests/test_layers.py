"""Positions, dropout, and a transformer that says the same alone, in a batch, at once and step by step."""

from functools import partial

import pytest
import torch
from torch import nn

from core.attention import (
    AdditiveAttention,
    LocalAttention,
    PositionBasedAttention,
    PredictiveLocalAttention,
    ScaledDotProductAttention,
    UnconditionalAttention,
)
from core.layers import Dropout, Encoder, SinusoidalPositions, ambient
from core.masks import padding
from core.record import record
from tasks.translation.transformer import TransformerTranslation

GAZES = {
    "scaled dot": ScaledDotProductAttention,
    "additive": AdditiveAttention,
    "position": partial(PositionBasedAttention, max_distance=3),
    "local": partial(LocalAttention, ScaledDotProductAttention, before=1, after=2),
    "predictive local": partial(PredictiveLocalAttention, ScaledDotProductAttention, window=2),
    "unconditional": UnconditionalAttention,
}


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(0)


def translator(gaze) -> TransformerTranslation:
    """A small model with no parameter at its initial zero or one, where two mechanisms could look alike."""
    model = TransformerTranslation(
        attention=gaze,
        vocabulary=23,
        width=12,
        heads=2,
        gaze_heads=3,
        encoder_layers=2,
        decoder_layers=2,
        hidden=19,
        dropout=0.3,
        label_smoothing=0.1,
        max_length=40,
        learning_rate=1e-3,
        warmup_steps=1,
        weight_decay=0.0,
    )
    for parameter in model.parameters():
        nn.init.normal_(parameter, std=0.4)
    return model.eval()


def sources(*lengths: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Random sources with padding behind, and their mask."""
    longest = max(lengths)
    mask = padding(torch.tensor(lengths), longest)
    return torch.randint(4, 23, (len(lengths), longest)) * mask.squeeze(1), mask


class TestPositions:
    def test_an_odd_width_by_hand(self):
        waves = SinusoidalPositions(width=3, max_length=2)(torch.zeros(2, 3))
        slow = torch.tensor(1 / 10_000 ** (2 / 3))
        expected = torch.tensor([[0.0, 1.0, 0.0], [torch.tensor(1.0).sin(), torch.tensor(1.0).cos(), slow.sin()]])
        torch.testing.assert_close(waves, expected)

    @pytest.mark.parametrize("width", [1, 2, 5])
    def test_first_continues_where_a_longer_input_would(self, width):
        positions, inputs = SinusoidalPositions(width=width, max_length=7), torch.randn(2, 7, width)
        assert torch.equal(positions(inputs)[:, 3:], positions(inputs[:, 3:], first=3))

    def test_too_long_names_both_numbers(self):
        positions = SinusoidalPositions(width=4, max_length=7)
        for inputs, first in ((torch.zeros(1, 8, 4), 0), (torch.zeros(1, 1, 4), 7)):
            with pytest.raises(ValueError, match="sequence of 8 tokens is longer than max_length=7"):
                positions(inputs, first=first)

    def test_waves_are_not_saved_with_the_weights(self):
        assert not SinusoidalPositions(width=4, max_length=7).state_dict()


class TestDropout:
    def test_the_rate_comes_in_256ths_and_the_expectation_is_kept(self):
        dropped = Dropout(0.25)(torch.ones(300, 1000))
        assert set(dropped.unique().tolist()) == {0.0, torch.tensor(256 / 192).item()}
        assert (dropped == 0).float().mean().item() == pytest.approx(0.25, abs=0.005)
        assert dropped.mean().item() == pytest.approx(1.0, abs=0.005)

    def test_places_are_dropped_independently(self):
        kept = (Dropout(0.5)(torch.ones(50_000, 8)) > 0).float()
        assert torch.allclose(kept.T @ kept / 50_000, torch.full((8, 8), 0.25).fill_diagonal_(0.5), atol=0.02)

    @pytest.mark.parametrize("rate", [0.0, 0.001])
    def test_next_to_nothing_is_nothing(self, rate):
        inputs = torch.randn(3, 5)
        assert Dropout(rate)(inputs) is inputs

    def test_off_in_eval(self):
        inputs = torch.randn(3, 5)
        assert Dropout(0.9).eval()(inputs) is inputs

    def test_the_highest_rate_still_lets_something_through(self):
        assert (Dropout(0.9999)(torch.ones(100_000)) == 256).any()

    def test_the_seed_decides(self):
        drop, inputs = Dropout(0.5), torch.ones(7, 11)
        runs = []
        for seed in (1, 1, 2):
            torch.manual_seed(seed)
            runs.append(drop(inputs))
        assert torch.equal(runs[0], runs[1]) and not torch.equal(runs[0], runs[2])

    def test_the_gradient_is_the_mask(self):
        inputs = torch.ones(3, 5, 7, requires_grad=True)
        dropped = Dropout(0.5)(inputs)
        dropped.sum().backward()
        assert torch.equal(inputs.grad, dropped) and 0 < (dropped == 0).sum() < dropped.numel()

    @pytest.mark.parametrize("shape", [(0,), (1,), (3, 5, 7), (2, 0, 3)])
    @pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
    def test_any_shape_and_precision(self, shape, dtype):
        dropped = Dropout(0.5)(torch.ones(shape, dtype=dtype))
        assert (dropped.shape, dropped.dtype) == (shape, dtype)

    @pytest.mark.parametrize("rate", [-0.1, 1.0, 1.5])
    def test_an_impossible_rate(self, rate):
        with pytest.raises(ValueError, match=f"between 0 and 1, without 1; got {rate}"):
            Dropout(rate)


def test_ambient_is_the_precision_that_autocast_multiplies_in():
    inputs = torch.randn(3, 5)
    assert ambient(inputs) is inputs
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert ambient(inputs).dtype == torch.bfloat16


def test_a11_an_encoder_ignores_padding():
    encoder = Encoder(layers=2, width=10, heads=2, hidden=7, dropout=0.5).eval()
    inputs = torch.randn(2, 15, 10)
    inputs[0, 3:] = 1e3  # whatever padding holds
    together = encoder(inputs, padding(torch.tensor([3, 15]), 15))
    alone = encoder(inputs[:1, :3], padding(torch.tensor([3]), 3))
    torch.testing.assert_close(together[:1, :3], alone, atol=1e-4, rtol=0)


@pytest.mark.parametrize("gaze", GAZES.values(), ids=GAZES)
def test_a11_alone_is_the_same_as_beside_an_item_five_times_as_long(gaze):
    model = translator(gaze)
    source, mask = sources(4, 20)
    target = torch.randint(4, 23, (2, 15))
    with torch.no_grad(), record(model, modules=model.gaze) as together:
        logits = model(source, mask, target)
    with torch.no_grad(), record(model, modules=model.gaze) as alone:
        expected = model(source[:1, :4], mask[:1, :, :4], target[:1, :3])
    torch.testing.assert_close(logits[:1, :3], expected, atol=1e-4, rtol=0)
    for name in model.gaze:
        torch.testing.assert_close(together[name][:1, :, :3, :4], alone[name], atol=1e-4, rtol=0)
        assert not together[name][0, ..., 4:].any()


@pytest.mark.parametrize("gaze", GAZES.values(), ids=GAZES)
def test_a08_teacher_forced_is_step_by_step(gaze):
    model, (source, mask) = translator(gaze), sources(7, 4)
    target = torch.tensor([[7, 3, 9, 4], [5, 11, 2, 8]])

    @torch.no_grad()
    def logits(*parts: int, ids: torch.Tensor = target) -> torch.Tensor:
        state, found = model.encode(source, mask), []
        for part in ids.split(parts, dim=1):
            after, state = model.step(part, state)
            found.append(after)
        assert state.first == 4
        return torch.cat(found, dim=1)

    whole = logits(4)
    for parts in ((3, 1), (1, 1, 1, 1), (2, 2)):
        torch.testing.assert_close(logits(*parts), whole, atol=1e-5, rtol=0)
    other = logits(4, ids=torch.cat([target[:, :3], target[:, 3:] + 1], dim=1))
    assert torch.equal(other[:, :3], whole[:, :3]) and not torch.allclose(other[:, 3], whole[:, 3])
