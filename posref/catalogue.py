"""One record per encoding: the list that the documentation, the command line and the conformance suite share."""

from __future__ import annotations

from posref._catalogue_additive import ADDITIVE
from posref._catalogue_axes import AXES
from posref._catalogue_bias import AUGMENTED, BIASES
from posref._catalogue_distance import DISTANCES
from posref._catalogue_logits import LOGITS
from posref._catalogue_magnitudes import MAGNITUDES
from posref._catalogue_relative import RELATIVE
from posref._catalogue_rotary import ROTARY
from posref._catalogue_use import USE
from posref._encoding import Encoding

__all__ = ["CATALOGUE", "Encoding"]


CATALOGUE: tuple[Encoding, ...] = (
    *ADDITIVE,
    *ROTARY,
    *MAGNITUDES,
    *DISTANCES,
    *USE,
    *AXES,
    *AUGMENTED,
    *BIASES,
    *RELATIVE,
    *LOGITS,
)
