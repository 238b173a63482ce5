"""Beam search: against every sequence there is, by hand, and with whole models."""

import itertools
import math
from functools import partial
from typing import NamedTuple

import pytest
import torch
from torch import Tensor

from core.attention import AdditiveAttention, ScaledDotProductAttention
from core.beams import beam
from core.decode import Decoded, greedy
from tasks.translation.data import Batch
from tasks.translation.rnn import RecurrentTranslation
from tasks.translation.transformer import TransformerTranslation

START, END = 2, 3
SIZES = {"vocabulary": 13, "width": 8, "gaze_heads": 1, "encoder_layers": 1, "max_length": 20}
TRAINING = {"dropout": 0.2, "label_smoothing": 0.0, "learning_rate": 1e-3, "warmup_steps": 1, "weight_decay": 0.0}


class Nothing(NamedTuple):
    """A state with nothing in it but the number of its rows."""

    rows: Tensor

    def follow(self, rows: Tensor) -> "Nothing":
        return Nothing(self.rows[rows])

    def take(self, rows: Tensor) -> "Nothing":
        return Nothing(self.rows[rows])


def chain(shares: Tensor, asked: list[int] | None = None):
    """A step that says what follows a token by a table, whatever came before."""

    def step(tokens, state):
        assert len(tokens) == len(state.rows)
        if asked is not None:
            asked.append(len(tokens))
        return shares.log()[tokens], state

    return step


def search(step, *limits: int, **more) -> list[Decoded]:
    state = Nothing(torch.arange(len(limits)))
    return beam(step, state, start=START, end=END, limits=torch.tensor(limits, dtype=torch.long), **more)


def total(decoded: Decoded) -> float:
    return sum(decoded.log_probabilities)


TEMPTING = torch.tensor(
    [
        # pad, unk, start, end, a, b
        [1.0, 0, 0, 0, 0, 0],
        [1.0, 0, 0, 0, 0, 0],
        [0.0, 0, 0, 0, 0.6, 0.4],  # first a is the likelier one ...
        [0.0, 0, 0, 1, 0, 0],
        [0.0, 0, 0, 0.3, 0.35, 0.35],  # ... but what follows it is anybody's guess,
        [0.0, 0, 0, 0.9, 0.05, 0.05],  # and after b it ends
    ]
)


def test_two_beams_find_what_greedy_passes_by():
    (alone,) = search(chain(TEMPTING), 4, beams=1)
    (found,) = search(chain(TEMPTING), 4, beams=2)
    assert alone.tokens[0] == 4
    assert found.tokens == [5] and not found.cut
    assert found.log_probabilities == pytest.approx([math.log(0.4), math.log(0.9)])


def test_it_finds_the_best_of_all_sequences():
    generator = torch.Generator().manual_seed(5)
    shares = torch.rand(7, 7, generator=generator).softmax(dim=-1) ** 2
    shares[:, [0, 1, 2]] = 0.0
    shares /= shares.sum(dim=-1, keepdim=True)
    limit, log = 4, shares.log()
    every = {}
    for length in range(limit + 1):
        for tokens in itertools.product([4, 5, 6], repeat=length):
            path = [START, *tokens, END]
            every[tokens] = sum(float(log[a, b]) for a, b in itertools.pairwise(path))
    for penalty in (0.0, 0.6, 1.0):
        worth = {tokens: value / ((6 + len(tokens)) / 6) ** penalty for tokens, value in every.items()}
        order = sorted(worth, key=worth.__getitem__, reverse=True)
        (found,) = search(chain(shares), limit, beams=200, nbest=10, length_penalty=penalty)
        assert [tuple(each.tokens) for each in (found, *found.others)] == order[:10]
        assert total(found) == pytest.approx(every[order[0]], abs=1e-4)


def test_a_length_penalty_favours_longer_ones():
    shares = torch.tensor([[0.0] * 5] * 5)
    shares[START] = torch.tensor([0, 0, 0, 0.4, 0.6])
    shares[4] = torch.tensor([0, 0, 0, 0.6, 0.4])  # "" has 0.4, "a" 0.36
    shares[END, END] = shares[0, 0] = shares[1, 1] = 1.0
    lengths = [len(search(chain(shares), 5, beams=3, length_penalty=penalty)[0].tokens) for penalty in (0.0, 2.0)]
    assert lengths == [0, 1]


def test_a_model_that_ends_at_once_says_nothing():
    shares = torch.zeros(5, 5)
    shares[:, END] = 1.0
    (found,) = search(chain(shares), 5, beams=3, nbest=3)
    assert found == Decoded([], [0.0], cut=False)


def test_a_model_that_never_ends_is_cut_at_the_limit_and_marked():
    shares = torch.zeros(6, 6)
    shares[:, 4:] = 0.5
    (found,) = search(chain(shares), 3, beams=2, nbest=2)
    assert found.cut and len(found.tokens) == 3 == len(found.log_probabilities)
    assert found.others[0].cut and found.others[0].tokens != found.tokens


def test_a_limit_of_nothing():
    assert search(chain(TEMPTING), 0, beams=2)[0] == Decoded([], [], cut=True)


def test_what_ended_comes_before_what_was_cut():
    shares = torch.zeros(6, 6)
    shares[:, 4], shares[:, END] = 0.99, 0.01
    (found,) = search(chain(shares), 3, beams=2, nbest=2)
    assert not found.cut
    (alone,) = search(chain(shares), 3, beams=1)
    assert alone.cut


def test_rows_that_are_done_leave_the_batch():
    shares = torch.zeros(6, 6)
    shares[START, 4:], shares[4, END], shares[5, 5] = 0.5, 1.0, 1.0
    asked: list[int] = []
    rows = search(chain(shares, asked), 1, 6, beams=1)
    assert asked == [2, 2, 1, 1, 1, 1, 1]
    assert len(rows) == 2


def test_an_empty_batch():
    assert search(chain(TEMPTING)) == []


def test_rules_hold_for_beams():
    shares = torch.full((7, 7), 1 / 7)
    shares[4, 4] = 0.9
    (found,) = search(chain(shares), 5, beams=3, nbest=3, never=(0, 1, 2), prefix=[[6, 4]], no_repeat=1)
    for each in (found, *found.others):
        assert (
            each.tokens[:2] == [6, 4] and len(set(each.tokens)) == len(each.tokens) and not {0, 1, 2} & {*each.tokens}
        )
        assert each.log_probabilities[1] == pytest.approx(math.log(float(shares[6, 4] / shares[6].sum())), abs=1e-5)


@pytest.mark.parametrize("wrong", [{"beams": 0}, {"beams": 2, "nbest": 3}, {"beams": 2, "nbest": 0}])
def test_searches_that_cannot_be(wrong):
    with pytest.raises(ValueError, match=f"beams={wrong['beams']}"):
        search(chain(TEMPTING), 3, **wrong)


def transformer() -> TransformerTranslation:
    return TransformerTranslation(
        attention=ScaledDotProductAttention, heads=2, decoder_layers=2, hidden=11, **SIZES, **TRAINING
    )


def recurrent() -> RecurrentTranslation:
    return RecurrentTranslation(attention=AdditiveAttention, **SIZES, **TRAINING)


@pytest.fixture(scope="module", params=[transformer, recurrent])
def model(request):
    torch.manual_seed(3)
    made = request.param()
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return made.eval()


def batch(*lengths: int) -> Batch:
    generator = torch.Generator().manual_seed(len(lengths))
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    source = torch.randint(4, 13, (len(lengths), max(lengths)), generator=generator) * mask
    return Batch(source, mask[:, None], torch.full((len(lengths), 2), START))


def alone(whole: Batch, row: int) -> Batch:
    length = int(whole.source_mask[row].sum())
    return Batch(whole.source[row, None, :length], whole.source_mask[row, None, :, :length], whole.target[row, None])


def generate(model, rows: Batch, decode) -> list[Decoded]:
    model.decode = decode
    return model.generate(rows)


def assert_same(found: Decoded, expected: Decoded) -> None:
    assert (found.tokens, found.cut) == (expected.tokens, expected.cut)
    assert found.log_probabilities == pytest.approx(expected.log_probabilities, abs=1e-4)


def test_one_beam_is_greedy(model):
    rows = batch(2, 11, 5, 1)
    found, expected = (generate(model, rows, decode) for decode in (partial(beam, beams=1), greedy))
    for one, other in zip(found, expected, strict=True):
        assert_same(one, other)


def test_a11_beams_in_a_batch_find_what_they_find_alone(model):
    rows, decode = batch(2, 11, 5, 1), partial(beam, beams=4, nbest=3)
    for row, together in enumerate(generate(model, rows, decode)):
        (by_itself,) = generate(model, alone(rows, row), decode)
        assert_same(together, by_itself)
        for one, other in zip(together.others, by_itself.others, strict=True):
            assert_same(one, other)


def test_what_beams_found_has_the_likelihood_that_teacher_forcing_gives_it(model):
    """Caches and hidden states went along with the sequences that they belong to."""
    rows = batch(3, 7)
    for row, found in enumerate(generate(model, rows, partial(beam, beams=4, nbest=4))):
        one = alone(rows, row)
        for each in (found, *found.others):
            target = torch.tensor([[START, *each.tokens, END]])
            log = model(one.source, one.source_mask, target[:, :-1]).float()
            picked = log.log_softmax(-1).gather(-1, target[:, 1:, None]).flatten().tolist()
            assert each.log_probabilities == pytest.approx(picked[: len(each.log_probabilities)], abs=1e-4)
