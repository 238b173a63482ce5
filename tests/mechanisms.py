"""The mechanisms that the tests of every task's model go through, as a configuration would name them."""

from functools import partial

from core.attention import (
    AdditiveAttention,
    AttentionFactory,
    ContentBasedAttention,
    CosineAttention,
    DotProductAttention,
    GeneralAttention,
    LocalAttention,
    MeanAttention,
    MultiHeadAttention,
    PositionBasedAttention,
    PredictiveLocalAttention,
    ScaledDotProductAttention,
    UnconditionalAttention,
    WithPosition,
)

ANYWHERE: dict[str, AttentionFactory] = {
    "dot": DotProductAttention,
    "scaled_dot": ScaledDotProductAttention,
    "cosine": CosineAttention,
    "content": ContentBasedAttention,
    "general": GeneralAttention,
    "additive": AdditiveAttention,
    "unconditional": UnconditionalAttention,
    "mean": MeanAttention,
    "multi_head": partial(MultiHeadAttention, mechanism=ScaledDotProductAttention),
}
"""Those that have a meaning wherever one thing looks at another."""
PREDICTIVE: dict[str, AttentionFactory] = {
    "local_predictive": partial(PredictiveLocalAttention, mechanism=ScaledDotProductAttention),
}
BY_PLACE: dict[str, AttentionFactory] = {
    "local": partial(LocalAttention, mechanism=ScaledDotProductAttention),
    "position": PositionBasedAttention,
    "with_position": partial(WithPosition, mechanism=CosineAttention),
    "multi_head of local": partial(
        MultiHeadAttention, mechanism=partial(LocalAttention, mechanism=ScaledDotProductAttention)
    ),
}
"""Those that need a distance between what looks and what is looked at."""
