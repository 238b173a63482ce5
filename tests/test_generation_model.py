"""The language model: every mechanism, all at once or step by step, past the end of its context."""

from functools import partial

import pytest
import torch
from generation import small_model
from mechanisms import ANYWHERE, PREDICTIVE

from core.attention import (
    AdditiveAttention,
    CosineAttention,
    DotProductAttention,
    LocalAttention,
    MultiHeadAttention,
    PositionBasedAttention,
    ScaledDotProductAttention,
    WithPosition,
)
from core.beams import beam
from core.decode import greedy, sample
from core.intervene import intervene
from core.record import record
from tasks.generation.characters import Characters
from tasks.generation.examples import PAD, Batch, Example, collate
from tasks.generation.layers import Rotary
from tasks.generation.muon import Muon, orthogonal

MECHANISMS = {
    **ANYWHERE,
    **PREDICTIVE,
    "position": PositionBasedAttention,
    "with_position": partial(WithPosition, mechanism=CosineAttention),
    "local": partial(LocalAttention, mechanism=ScaledDotProductAttention, before=2, after=4),
    "local of with_position": partial(LocalAttention, mechanism=partial(WithPosition, mechanism=DotProductAttention)),
    "multi_head of additive": partial(MultiHeadAttention, mechanism=AdditiveAttention),
}
VOCABULARY = 23
POSITIONS = ("rotary", "learned")


def random_batch(rows: int = 3, tokens: int = 11) -> Batch:
    ids = torch.randint(2, VOCABULARY, (rows, tokens + 1), generator=torch.Generator().manual_seed(1))
    return collate([Example(tuple(row)) for row in ids.tolist()])


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("attention", MECHANISMS)
def test_two_steps_with_each_mechanism(attention, positions):
    model = small_model(VOCABULARY, MECHANISMS[attention], positions=positions)
    batch, optimizer = random_batch(), torch.optim.SGD(model.parameters(), lr=0.01)
    losses = [float(model.loss(batch))]
    for _ in range(2):
        optimizer.zero_grad()
        model.loss(batch).backward()
        optimizer.step()
        losses.append(float(model.loss(batch)))
    assert losses[2] < losses[1] < losses[0]
    assert all(torch.isfinite(weight.grad).all() for weight in model.parameters() if weight.grad is not None)


@pytest.mark.parametrize("cut", [(1,) * 11, (3, 8), (10, 1), (9, 1, 1)])
@pytest.mark.parametrize("attention", MECHANISMS)
def test_step_by_step_is_all_at_once(attention, cut):
    model = small_model(VOCABULARY, MECHANISMS[attention], neighbours=len(cut) % 3).eval()
    tokens = random_batch().tokens
    past, found = model.begin(len(tokens)), []
    for part in tokens.split(cut, dim=1):
        logits, past = model.step(part, past)
        found.append(logits)
    torch.testing.assert_close(torch.cat(found, dim=1), model(tokens), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("positions", POSITIONS)
@pytest.mark.parametrize("attention", MECHANISMS)
def test_nothing_is_seen_before_it_is_written(attention, positions):
    model, tokens = small_model(VOCABULARY, MECHANISMS[attention], positions=positions).eval(), random_batch().tokens
    other = tokens.clone()
    other[:, 7:] = 2 + (other[:, 7:] - 1) % (VOCABULARY - 2)
    before, after = model(tokens), model(other)
    torch.testing.assert_close(before[:, :7], after[:, :7], atol=1e-6, rtol=1e-5)
    assert not torch.allclose(before[:, 7:], after[:, 7:])


@pytest.mark.parametrize("attention", MECHANISMS)
def test_maps_are_causal_and_of_every_layer(attention):
    model, batch = small_model(VOCABULARY, MECHANISMS[attention]).eval(), random_batch()
    with record(model, modules=model.gaze) as maps:
        plain = model(batch.tokens)
    assert [*maps] == ["layers.0.attention", "layers.1.attention"]
    for weights in maps.values():
        assert weights.shape == (3, 2, 11, 11)
        assert not weights.triu(1).any()
        torch.testing.assert_close(weights.sum(-1), torch.ones(3, 2, 11))
    with intervene(model, forbid=[2], modules=model.gaze), record(model, modules=model.gaze) as maps:
        assert not torch.allclose(model(batch.tokens)[:, 3:], plain[:, 3:])
    assert not any(weights[..., 2].any() for weights in maps.values())


def test_padding_at_the_end_changes_nothing():
    model = small_model(VOCABULARY).eval()
    short, long = Example((3, 4, 5, 6)), Example((7, 8, 9, 10, 11, 12, 13))
    together = collate([short, long])
    torch.testing.assert_close(model(together.tokens)[0, :3], model(collate([short]).tokens)[0], atol=1e-6, rtol=1e-5)
    count = [model.tokens(collate([each])) for each in (short, long)]
    apart = sum(model.loss(collate([each])) * n for each, n in zip((short, long), count, strict=True)) / sum(count)
    torch.testing.assert_close(model.loss(together), apart)
    assert count == [3, 6] and model.tokens(together) == 9


def test_tokens_that_are_only_read_do_not_count():
    model = small_model(VOCABULARY).eval()
    batch = collate([Example((3, 4, 5, 6, 7), scored=3)])
    shares = model(batch.tokens).log_softmax(-1)[0]
    torch.testing.assert_close(model.loss(batch), -(shares[2, 6] + shares[3, 7]) / 2)
    (found,) = model.generate(batch)
    assert found.log_probabilities == pytest.approx([float(shares[2, 6]), float(shares[3, 7])], abs=1e-5)
    assert found.tokens == [int(shares[2].argmax()), int(shares[3].argmax())]
    torch.testing.assert_close(model.log_probabilities(batch)[0, 0], shares[0, 4])


@pytest.mark.parametrize("positions", POSITIONS)
def test_past_the_context_its_later_half_is_read_again(positions):
    model = small_model(VOCABULARY, positions=positions, context=8).eval()
    ids = torch.randint(2, VOCABULARY, (1, 20), generator=torch.Generator().manual_seed(2))
    past, found = model.begin(1), []
    for token in ids.split(1, dim=1):
        logits, past = model.step(token, past)
        found.append(logits[0, 0])
    for place, begin in [(7, 0), (8, 5), (11, 5), (12, 5), (13, 10), (18, 15)]:
        torch.testing.assert_close(found[place], model(ids[:, begin : place + 1])[0, -1], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("decode", [greedy, sample, partial(sample, temperature=0.5, top_k=3, top_p=0.9, seed=4)])
def test_generation_with_caches_is_generation_without(decode):
    model = small_model(VOCABULARY).eval()
    model.decode = decode
    batch = Batch(*random_batch(2, 4)[:3], length=9)
    found, again = model.generate(batch), model.generate(batch)
    assert found == again and all(len(each.tokens) == 9 for each in found)
    for row, each in zip(batch.tokens.tolist(), found, strict=True):
        whole = torch.tensor([row + each.tokens])
        shares = model(whole).log_softmax(-1)[0]
        shares[:, [PAD, Characters.UNKNOWN]] = -torch.inf
        wanted = [float(shares[3 + n, token]) for n, token in enumerate(each.tokens)]
        assert each.log_probabilities == pytest.approx(wanted, abs=1e-4)
        if decode is greedy:
            assert each.tokens == shares[3:-1].argmax(-1).tolist()


def test_seeds_temperature_and_the_likeliest_alone():
    model = small_model(VOCABULARY).eval()
    batch = Batch(*random_batch(1, 4)[:3], length=12)

    def said(decode) -> list[int]:
        model.decode = decode
        return model.generate(batch)[0].tokens

    assert said(partial(sample, seed=1)) != said(partial(sample, seed=2))
    best = said(greedy)
    assert said(partial(sample, top_k=1)) == said(partial(sample, temperature=1e-4)) == best
    assert said(partial(sample, top_p=1e-6)) == best


def test_beams_and_rules():
    model = small_model(VOCABULARY).eval()
    batch = Batch(*random_batch(2, 4)[:3], length=4)
    model.decode = partial(beam, beams=3, nbest=2, length_penalty=0.0)
    for each in model.generate(batch):
        assert len(each.tokens) == 4 and len(each.others) == 1
        assert sum(each.log_probabilities) >= sum(each.others[0].log_probabilities)
    model.decode = partial(greedy, prefix=[[5, 6]], no_repeat=1)
    for each in model.generate(batch):
        assert each.tokens[:2] == [5, 6] and len(set(each.tokens)) == 4


def test_neighbours_and_unknown_tokens_by_hand():
    model = small_model(VOCABULARY, neighbours=2)
    here, one, two = model.embedding.weight, model.neighbours[0].weight, model.neighbours[1].weight
    found = model.embed(torch.tensor([[1, 4]]), torch.tensor([[7]]))[0]
    torch.testing.assert_close(found[0], here[2:].mean(0) + one[7] + two[PAD])
    torch.testing.assert_close(found[1], here[4] + one[2:].mean(0) + two[7])


def test_rotary_places_by_hand():
    rotary = Rotary(width=2, places=4)
    turned = rotary(torch.tensor([[1.0, 0.0], [0.0, 2.0]]), first=1)
    cos, sin = torch.cos(torch.tensor([1.0, 2.0])), torch.sin(torch.tensor([1.0, 2.0]))
    torch.testing.assert_close(turned, torch.stack([torch.stack([cos[0], sin[0]]), 2 * torch.stack([-sin[1], cos[1]])]))
    one, other = torch.randn(5, 6), torch.randn(5, 6)
    long = Rotary(width=6, places=50)
    near, far = (long(one, first=first) @ long(other, first=first).transpose(0, 1) for first in (0, 30))
    torch.testing.assert_close(near, far, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(
    "wrong",
    [{"positions": "none"}, {"activation": "tanh"}, {"context": 1}, {"layers": 0}, {"width": 18, "heads": 6}],
)
def test_numbers_that_do_not_fit(wrong):
    with pytest.raises(ValueError, match="even" if "width" in wrong else next(iter(wrong)).removesuffix("s")):
        small_model(VOCABULARY, **wrong)


@pytest.mark.parametrize("shape", [(3, 8, 8), (2, 12, 5), (2, 5, 12)])
def test_orthogonal_steps(shape):
    """All singular values come near to 1, and the directions stay."""
    matrices = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    before, after = (torch.linalg.svd(each, full_matrices=False) for each in (matrices, orthogonal(matrices)))
    assert ((after.S > 0.5) & (after.S < 1.4)).all()
    polar = before.U @ before.Vh
    cosine = (polar * orthogonal(matrices)).sum((-2, -1)) / (polar.norm(dim=(-2, -1)) * after.S.norm(dim=-1))
    assert (cosine > 0.95).all()


def test_the_rest_of_muon_is_adamw():
    weights = torch.randn(3, 4, generator=torch.Generator().manual_seed(0))
    ours, theirs = (torch.nn.Parameter(weights.clone()) for _ in range(2))
    numbers = {"lr": 0.01, "weight_decay": 0.1, "betas": (0.9, 0.98)}
    optimizers = Muon([{"params": [ours], **numbers}]), torch.optim.AdamW([theirs], **numbers)
    for step in range(5):
        for weight, optimizer in zip((ours, theirs), optimizers, strict=True):
            weight.grad = torch.sin(weights * (step + 1)).clone()
            optimizer.step()
    torch.testing.assert_close(ours, theirs)


def test_muon_moves_each_matrix_by_its_rate_and_is_read_back():
    model = small_model(VOCABULARY, matrix_rate=0.1, weight_decay=0.0)
    optimizer = Muon([{"params": [model.layers[0].feed_forward.widen.weight], "lr": 0.1, "orthogonal": True}])
    before = model.layers[0].feed_forward.widen.weight.detach().clone()
    model.loss(random_batch()).backward()
    optimizer.step()
    moved = (before - model.layers[0].feed_forward.widen.weight.detach()).norm()
    assert float(moved) == pytest.approx(0.1 * 16**0.5, rel=0.3)
    again = Muon([{"params": [model.layers[0].feed_forward.widen.weight], "lr": 0.1, "orthogonal": True}])
    again.load_state_dict(optimizer.state_dict())
    assert again.state_dict()["state"][0]["average"].shape == (16, 16)
