"""Attention maps: weights with their labels, kept, scored and drawn.

Pictures are in `core.maps.png`, `overlay` and `spectrogram`, which are not imported here: a training run never loads
matplotlib. Scores are in `core.maps.scores`, `pointing`, `evidence` and `monotonicity`, their intervals in `bootstrap`.
"""

from core.maps.attention_map import AttentionMap, save_all
from core.maps.inputs import Picture, Sound

__all__ = ["AttentionMap", "Picture", "Sound", "save_all"]
