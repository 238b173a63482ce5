"""Attention mechanisms with one contract: `weights(query, keys, mask)` to look at, `forward(query, keys, values, mask)`
to go on with. README.md beside this file says which is which, and when to use it."""

from core.attention.additive import AdditiveAttention
from core.attention.base import Attention, AttentionFactory, Prepared, ScoreAttention
from core.attention.content import ContentBasedAttention
from core.attention.cosine import CosineAttention
from core.attention.dot import DotProductAttention
from core.attention.general import GeneralAttention
from core.attention.local import LocalAttention
from core.attention.local_predictive import PredictiveLocalAttention
from core.attention.location import LocationAttention
from core.attention.mean import MeanAttention
from core.attention.multi_head import MultiHeadAttention, bare, multi_head
from core.attention.pooling import AttentionPooling
from core.attention.position import PositionBasedAttention, WithPosition
from core.attention.scaled_dot import ScaledDotProductAttention
from core.attention.unconditional import UnconditionalAttention

__all__ = [
    "AdditiveAttention",
    "Attention",
    "AttentionFactory",
    "AttentionPooling",
    "ContentBasedAttention",
    "CosineAttention",
    "DotProductAttention",
    "GeneralAttention",
    "LocalAttention",
    "LocationAttention",
    "MeanAttention",
    "MultiHeadAttention",
    "PositionBasedAttention",
    "Prepared",
    "PredictiveLocalAttention",
    "ScaledDotProductAttention",
    "ScoreAttention",
    "UnconditionalAttention",
    "WithPosition",
    "bare",
    "multi_head",
]
