"""Greedy decoding and draws, by hand and with a whole model."""

import itertools
import math

import pytest
import torch

from core.attention import ScaledDotProductAttention
from core.decode import Decoded, greedy, repeating, sample
from tasks.translation.data import Batch
from tasks.translation.transformer import TransformerTranslation

START, END = 2, 3


def saying(*rows: list[int], size: int = 7):
    """A step function that follows a script for each row, whatever it is told; its state is the step's number."""

    def step(tokens, number):
        assert tokens.shape == (len(rows), 1)
        logits = torch.zeros(len(rows), 1, size)
        for row, script in enumerate(rows):
            logits[row, 0, script[min(number, len(script) - 1)]] = 5.0
        return logits, number + 1

    return step


def decode(step, *limits: int, **more) -> list[Decoded]:
    return greedy(step, 0, start=START, end=END, limits=torch.tensor(limits, dtype=torch.long), **more)


def test_a_row_that_ends_at_once_is_empty():
    (row,) = decode(saying([END]), 5)
    assert row.tokens == [] and not row.cut and len(row.log_probabilities) == 1


def test_a_row_that_never_ends_is_cut_at_its_limit_and_marked():
    (row,) = decode(saying([4, 5, 6, 5]), 3)
    assert row.tokens == [4, 5, 6] and row.cut and len(row.log_probabilities) == 3


def test_a_row_may_end_right_at_its_limit():
    (row,) = decode(saying([4, 5, END]), 2)
    assert row.tokens == [4, 5] and not row.cut and len(row.log_probabilities) == 3


def test_rows_end_and_are_cut_each_on_its_own():
    rows = decode(saying([4, END, 6, 6], [5], [6, 5, 4, END], [4]), 9, 1, 3, 0)
    assert [row.tokens for row in rows] == [[4], [5], [6, 5, 4], []]
    assert [row.cut for row in rows] == [False, True, False, True]
    assert [len(row.log_probabilities) for row in rows] == [2, 1, 4, 0]


def test_an_end_past_the_limit_is_no_end():
    rows = decode(saying([4, 5, END], [6, 6, 6, END]), 1, 9)
    assert rows[0].tokens == [4] and rows[0].cut and len(rows[0].log_probabilities) == 1 and not rows[1].cut


def test_no_step_more_than_needed():
    asked = []

    def step(tokens, number):
        asked.append(tokens.squeeze(1).tolist())
        return saying([4, 5, END], [6, END])(tokens, number)

    decode(step, 9, 9)
    assert asked == [[START, START], [4, 6], [5, END]]


def test_log_probabilities_by_hand():
    shares = torch.tensor([[0.0, 0.0, 0.0, 0.1, 0.6, 0.3], [0.0, 0.0, 0.0, 0.5, 0.25, 0.25]])

    def step(tokens, number):
        return shares[number].log()[None, None], number + 1

    (row,) = decode(step, 5)
    assert row.tokens == [4]
    assert row.log_probabilities == pytest.approx([math.log(0.6), math.log(0.5)])


def test_tokens_in_never_are_not_generated_and_lend_their_share_to_nobody():
    def step(tokens, number):
        return torch.tensor([0.5, 0.1, 0.1, 0.1, 0.2]).log()[None, None], number + 1

    (row,) = decode(step, 1, never=(0,))
    assert row.tokens == [4]
    assert row.log_probabilities == pytest.approx([math.log(0.2)])


def test_of_several_logits_the_last_counts():
    def step(tokens, number):
        return torch.tensor([[[9.0, 0, 0, 0], [0, 0, 0, 9.0]]]), number + 1

    assert decode(step, 4)[0].tokens == []


def test_an_empty_batch():
    assert decode(saying()) == []


@pytest.fixture(scope="module")
def model() -> TransformerTranslation:
    torch.manual_seed(3)
    made = TransformerTranslation(
        attention=ScaledDotProductAttention,
        vocabulary=13,
        width=8,
        heads=2,
        gaze_heads=1,
        encoder_layers=1,
        decoder_layers=2,
        hidden=11,
        dropout=0.2,
        label_smoothing=0.0,
        max_length=20,
        learning_rate=1e-3,
        warmup_steps=1,
        weight_decay=0.0,
    )
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return made.eval()


def batch(*lengths: int) -> Batch:
    generator = torch.Generator().manual_seed(len(lengths))
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    source = torch.randint(4, 13, (len(lengths), max(lengths)), generator=generator) * mask
    return Batch(source, mask[:, None], torch.full((len(lengths), 2), START))


def assert_same(found: Decoded, expected: Decoded) -> None:
    assert (found.tokens, found.cut) == (expected.tokens, expected.cut)
    assert found.log_probabilities == pytest.approx(expected.log_probabilities, abs=1e-4)


def test_a11_a_batch_says_what_each_row_says_alone(model):
    together = batch(2, 11, 5, 1)
    rows = model.generate(together)
    assert len({tuple(row.tokens) for row in rows}) > 1, "rows that all say the same would prove nothing"
    for number, row in enumerate(rows):
        length = int(together.source_mask[number].sum())
        (alone,) = model.generate(
            batch(1)._replace(
                source=together.source[number : number + 1, :length],
                source_mask=together.source_mask[number : number + 1, :, :length],
            )
        )
        assert_same(row, alone)


def test_the_limit_is_twice_the_source_and_ten_and_never_past_the_longest(model):
    rows = model.generate(batch(1, 3, 7))
    for length, row in zip((1, 3, 7), rows, strict=True):
        assert len(row.tokens) <= min(2 * length + 10, 19) and (
            not row.cut or len(row.tokens) == min(2 * length + 10, 19)
        )
    assert not {0, 1, 2, 3} & {token for row in rows for token in row.tokens}


def test_cached_is_uncached(model):
    source = batch(6, 4)
    begun = model.encode(source.source, source.source_mask)

    def uncached(tokens, before):
        seen = tokens if before is None else torch.cat([before, tokens], dim=1)
        return model.step(seen, begun)[0], seen

    limits = torch.tensor([15, 15])
    cached = greedy(model.step, begun, start=START, end=END, limits=limits, never=(0, 1, 2))
    for row, expected in zip(
        cached, greedy(uncached, None, start=START, end=END, limits=limits, never=(0, 1, 2)), strict=True
    ):
        assert row.tokens == expected.tokens
        assert row.log_probabilities == pytest.approx(expected.log_probabilities, abs=1e-5)


def test_no_repeat_by_hand():
    assert repeating([4, 5, 6, 4, 5], 3) == {6}
    assert repeating([4, 5], 3) == set()
    assert repeating([4, 5, 4], 1) == {4, 5}
    (row,) = decode(saying([4, 5, 4, 5, 4, 5]), 6, no_repeat=2)
    assert (4, 5) in list(itertools.pairwise(row.tokens))
    assert len(set(itertools.pairwise(row.tokens))) == len(row.tokens) - 1


def test_a_prefix_is_said_first_and_costs_what_it_costs():
    rows = decode(saying([5, END], [5, 6, END]), 5, 5, prefix=[[4], []])
    assert rows[0].tokens[0] == 4 and rows[1].tokens == [5, 6]
    assert rows[0].log_probabilities[0] == pytest.approx(-math.log(6 + math.exp(5.0)), abs=1e-5)
    assert [row.tokens[0] for row in decode(saying([5, END], [5, END]), 5, 5, prefix=[[4]])] == [4, 4]


def draws(seed: int, **more) -> list[list[int]]:
    shares = torch.tensor([0.0, 0.0, 0.0, 0.2, 0.4, 0.3, 0.1])

    def step(tokens, number):
        return shares.log().expand(len(tokens), 1, -1), number + 1

    limits = torch.full((500,), 1)
    return [row.tokens for row in sample(step, 0, start=START, end=END, limits=limits, seed=seed, **more)]


def test_draws_follow_the_shares_and_the_seed():
    assert draws(1) == draws(1) != draws(2)
    first = [tokens[0] if tokens else END for tokens in draws(1)]
    for token, share in {3: 0.2, 4: 0.4, 5: 0.3, 6: 0.1}.items():
        assert first.count(token) / 500 == pytest.approx(share, abs=0.07)


def test_top_k_top_p_and_temperature():
    said = {tuple(tokens) for tokens in draws(1, top_k=2)}
    assert said == {(4,), (5,)}
    assert {tuple(tokens) for tokens in draws(1, top_p=0.7)} == {(4,), (5,)}
    assert {tuple(tokens) for tokens in draws(1, top_p=0.75)} == {(4,), (5,), ()}
    assert {tuple(tokens) for tokens in draws(1, top_p=0.01)} == {(4,)}
    assert draws(1, temperature=0.01) == [[4]] * 500


def test_the_log_probabilities_of_draws_are_the_models_own():
    shares = torch.tensor([0.0, 0.0, 0.0, 0.0, 0.75, 0.25])

    def step(tokens, number):
        return shares.log()[None, None], number + 1

    (row,) = sample(step, 0, start=START, end=END, limits=torch.tensor([2]), top_k=1, temperature=3.0)
    assert row.log_probabilities == pytest.approx([math.log(0.75)] * 2)


@pytest.mark.parametrize("wrong", [{"temperature": 0.0}, {"top_k": -1}, {"top_p": 0.0}, {"top_p": 1.5}])
def test_draws_that_cannot_be(wrong):
    with pytest.raises(ValueError, match="temperature above 0"):
        draws(1, **wrong)
