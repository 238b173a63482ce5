"""The hall: what every attention demo shares.

The letters below stand for axes wherever a shape is written, in signatures and in docstrings.

    B  batch                 Q  queries                T  time: tokens or frames
    H  heads                 K  keys                   V  vocabulary
    D  width of a vector     E  width of a value       C Y X  image channels and grid

Leading axes are free: `*B` is any number of them, also none.
"""
