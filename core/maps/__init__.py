"""Attention maps: weights with their labels, kept, scored and drawn.

Pictures are in `core.maps.png`, which is not imported here: a training run never loads matplotlib.
"""

from core.maps.attention_map import AttentionMap, save_all
from core.maps.inputs import Picture, Sound

__all__ = ["AttentionMap", "Picture", "Sound", "save_all"]
