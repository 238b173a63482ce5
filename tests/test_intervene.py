"""intervene(): exact for every mechanism, on both roads, and gone afterwards."""

import pytest
import torch
from attentions import FIRST, B, D, H, K, Q, build, close, close_to, each_mechanism, mixed, tensors
from torch import nn

from core import masks
from core.attention import Attention, DotProductAttention, LocalAttention, MultiHeadAttention, ScaledDotProductAttention
from core.intervene import intervene
from core.record import record

PADDING = masks.padding(torch.tensor([K, 4, 2]), K)


def renormalised(weights: torch.Tensor, forbidden: torch.Tensor) -> torch.Tensor:
    left = weights.double().masked_fill(forbidden, 0.0)
    sums = left.sum(-1, keepdim=True)
    return (left / sums.where(sums > 0, 1.0)).to(weights.dtype)


def per_row() -> torch.Tensor:
    forbidden = torch.rand(B, Q, K, generator=torch.Generator().manual_seed(5)) > 0.6
    forbidden[0, 1] = True
    return forbidden


def own_rows(attention: Attention, weights: torch.Tensor) -> torch.Tensor:
    """The rows that depend on no other: all, or the first where each follows the one before it."""
    return weights[..., :1, :] if attention.looks_back else weights


@each_mechanism
@pytest.mark.parametrize("mask", [None, PADDING], ids=["no mask", "padding"])
class TestEveryMechanism:
    def test_what_forbidden_keys_had_goes_to_the_others(self, name, mask):
        attention, (query, keys) = build(name).eval(), tensors(Q, K)
        before = attention.weights(query, keys, mask, first=FIRST)
        with intervene(attention, forbid=[0, 3]):
            found = attention.weights(query, keys, mask, first=FIRST)
        assert not found[..., [0, 3]].any()
        expected = renormalised(before, torch.isin(torch.arange(K), torch.tensor([0, 3])))
        close(own_rows(attention, found), own_rows(attention, expected), 1e-5)

    def test_a_predicted_centre_stays_where_it_was(self, name, mask):
        """The last key is the one by which local attention knows the length."""
        attention, (query, keys) = build(name).eval(), tensors(Q, K)
        before = attention.weights(query, keys, mask)
        last = torch.zeros(B, 1, K, dtype=torch.bool)
        last[0, 0, K - 1] = last[1, 0, 3] = last[2, 0, 1] = True
        with intervene(attention, forbid=last):
            found = attention.weights(query, keys, mask)
        last = last.unsqueeze(1) if name.startswith("multi_head") else last
        close(own_rows(attention, found), own_rows(attention, renormalised(before, last)), 1e-5)

    def test_both_roads_agree(self, name, mask):
        attention, (query, keys, values) = build(name).eval(), tensors(Q, K, K)
        with intervene(attention, forbid=per_row()):
            weights = attention.weights(query, keys, mask)
            close(attention(query, keys, values, mask), mixed(attention, weights, values), 1e-5)
        assert not (weights[0, 1] if weights.dim() == 3 else weights[0, :, 1]).any()

    def test_steps_meet_their_own_rows(self, name, mask):
        attention, (query, keys, values) = build(name).eval(), tensors(Q, K, K)
        with intervene(attention, forbid=per_row()):
            at_once = attention(query, keys, values, mask)
            prepared, steps = attention.prepare(keys, values), []
            for q in range(Q):
                steps.append(attention(query[:, [q]], prepared, mask=mask, first=q))
                prepared = attention.onward(query[:, [q]], prepared, mask, first=q)
        close(torch.cat(steps, dim=1), at_once, 1e-5)

    def test_afterwards_it_is_what_it_was(self, name, mask):
        attention, (query, keys, values) = build(name).eval(), tensors(Q, K, K)
        before = attention(query, keys, values, mask), attention.weights(query, keys, mask)
        methods = {part: dict(part.__dict__) for part in attention.modules()}
        with pytest.raises(ZeroDivisionError), intervene(attention, forbid=[1]):
            raise ZeroDivisionError
        after = attention(query, keys, values, mask), attention.weights(query, keys, mask)
        assert all(torch.equal(one, other) for one, other in zip(before, after, strict=True))
        assert all(part.__dict__.keys() == kept.keys() for part, kept in methods.items())

    def test_nothing_forbidden_changes_nothing(self, name, mask):
        attention, (query, keys, values) = build(name).eval(), tensors(Q, K, K)
        before = attention(query, keys, values, mask)
        with intervene(attention, forbid=[]):
            close(attention(query, keys, values, mask), before, 1e-5)

    def test_blocks_add_up(self, name, mask):
        attention, (query, keys) = build(name).eval(), tensors(Q, K)
        with intervene(attention, forbid=[0, 3]):
            both = attention.weights(query, keys, mask)
        with intervene(attention, forbid=[0]):
            outer = attention.weights(query, keys, mask)
            with intervene(attention, forbid=[3]):
                close(attention.weights(query, keys, mask), both, 1e-6)
            assert torch.equal(attention.weights(query, keys, mask), outer)


class TestByHand:
    def test_half_of_the_rest_each(self):
        """Scores 0, ln 2, 0 give 1/4, 1/2, 1/4: without the middle one, half and half."""
        attention = DotProductAttention()
        query, keys = torch.tensor([[1.0]]), torch.tensor([[0.0], [torch.tensor(2.0).log()], [0.0]])
        close_to(attention.weights(query, keys), [[0.25, 0.5, 0.25]])
        with intervene(attention, forbid=[1]):
            close_to(attention.weights(query, keys), [[0.5, 0.0, 0.5]])
            close_to(attention(query, keys, torch.tensor([[2.0], [9.0], [4.0]])), [[3.0]])

    def test_a_key_that_had_all_leaves_a_distribution(self):
        """Zeroing and dividing would give 0 / 0: the others underflow beside it."""
        attention = DotProductAttention()
        with intervene(attention, forbid=[0]):
            close_to(attention.weights(torch.ones(1, 1), torch.tensor([[500.0], [1.0], [1.0]])), [[0.0, 0.5, 0.5]])

    def test_window_of_local_attention_keeps_its_fast_road(self):
        attention = LocalAttention(ScaledDotProductAttention, before=1, after=1)
        query, keys, values = torch.randn(1, 90, 4), torch.randn(1, 90, 4), torch.randn(1, 90, 4)
        with intervene(attention, forbid=[0, 44]):
            weights = attention.weights(query, keys)
            close(attention(query, keys, values), weights @ values, 1e-5)
        assert weights[0, 45].nonzero().flatten().tolist() == [45, 46]


class TestHeads:
    def test_one_head_of_two(self):
        attention, (query, keys, values) = build("multi_head"), tensors(Q, K, K)
        before = attention.weights(query, keys)
        with intervene(attention, forbid=[2], heads=[1]):
            found = attention.weights(query, keys)
            close(attention(query, keys, values), mixed(attention, found, values), 1e-5)
        assert torch.equal(found[:, 0], before[:, 0]) and not found[:, 1, :, 2].any()

    def test_b_equals_h(self):
        """A mask of shape (B, 1, K) must not be taken for one by head."""
        attention, (query, keys) = build("multi_head"), tensors(Q, K, leading=(H,))
        forbidden = torch.zeros(H, 1, K, dtype=torch.bool)
        forbidden[0, 0, 4] = True
        with intervene(attention, forbid=forbidden):
            found = attention.weights(query, keys)
        assert not found[0, ..., 4].any() and found[1, ..., 4].all()

    @pytest.mark.parametrize(("name", "says"), [("multi_head", "has 2 heads, 0 to 1"), ("dot", "has no heads")])
    def test_heads_that_are_not_there(self, name, says):
        with pytest.raises(ValueError, match=says), intervene(build(name), forbid=[0], heads=[2]):
            pass


class TestRefusals:
    def test_unknown_module(self):
        model = nn.ModuleDict({"gaze": build("dot")})
        with pytest.raises(ValueError, match=r"\['look'\] is no attention of this model; it has \['gaze'\]"):
            with intervene(model, forbid=[0], modules=["look"]):
                pass

    def test_a_place_that_no_call_had(self):
        attention = build("dot")
        with pytest.raises(ValueError, match="key 11 is forbidden, but no call inside the block had more than 11 keys"):
            with intervene(attention, forbid=[K]):
                attention.weights(*tensors(Q, K))

    def test_negative_place(self):
        with pytest.raises(ValueError, match="count from 0"), intervene(build("dot"), forbid=[-1]):
            pass

    def test_a_mask_of_numbers(self):
        with pytest.raises(TypeError, match="bool tensor with True = forbidden"):
            with intervene(build("dot"), forbid=torch.zeros(K)):
                pass


class TestModules:
    def test_only_the_named_one(self):
        model = nn.ModuleDict({"one": build("dot"), "two": build("dot")})
        query, keys = tensors(Q, K)
        with intervene(model, forbid=[0], modules=["two"]):
            assert model["one"].weights(query, keys)[..., 0].all()
            assert not model["two"].weights(query, keys)[..., 0].any()

    def test_record_shows_the_change(self):
        attention, (query, keys, values) = build("multi_head of local"), tensors(Q, K, K)
        with intervene(attention, forbid=[1]), record(attention) as maps:
            attention(query, keys, values)
        assert not maps[""][..., 1].any() and maps[""].any()


class TestForeign:
    @pytest.mark.parametrize("batch_first", [True, False])
    @pytest.mark.parametrize("given", [None, "bool", "float"])
    def test_torchs_own(self, batch_first, given):
        attention = nn.MultiheadAttention(D, H, batch_first=batch_first).eval()
        query, keys = tensors(Q, K)
        forbidden = torch.arange(K) == 5
        hidden = (torch.arange(K) == 7).expand(Q, K)
        if given == "float":
            hidden = torch.zeros(Q, K).masked_fill(hidden, -torch.inf)
        inputs = [part if batch_first else part.transpose(0, 1) for part in (query, keys, keys)]
        options = {} if given is None else {"attn_mask": hidden}
        _, before = attention(*inputs, **options, average_attn_weights=False)
        with torch.inference_mode(), intervene(attention, forbid=[5]):
            _, found = attention(*inputs, **options, average_attn_weights=False)
            with record(attention) as maps:
                attention(*inputs, need_weights=False, **options)
        close(found, renormalised(before, forbidden), 1e-5)
        close(maps[""], found, 1e-5)

    def test_inside_torchs_encoder(self):
        encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(D, H, 16, batch_first=True), 1).eval()
        (inputs,) = tensors(K)
        other = inputs.clone()
        other[:, 4] += 1.0
        with torch.inference_mode(), intervene(encoder, forbid=[4]):
            close(encoder(inputs)[:, :4], encoder(other)[:, :4], 1e-6)

    def test_one_head(self):
        attention = MultiHeadAttention(ScaledDotProductAttention, query_dim=D, heads=H)
        assert heads_forbidden(attention) == heads_forbidden(nn.MultiheadAttention(D, H, batch_first=True)) == [0]


def heads_forbidden(attention: nn.Module) -> list[int]:
    query, keys = tensors(Q, K)
    with intervene(attention, forbid=[3], heads=[0]), record(attention) as maps:
        attention(query, keys, keys)
    return [head for head in range(H) if not maps[""][:, head, :, 3].any()]
