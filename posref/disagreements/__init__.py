"""Where public implementations disagree: every reading by name, how to compute it, and which one posref has by default.

A record lives in the file of its family. To add one, write it there; a new file's records are one line in ``REGISTER``.
"""

from __future__ import annotations

from posref.disagreements._record import Disagreement, Reading
from posref.disagreements.additive import ADDITIVE
from posref.disagreements.axes import AXES
from posref.disagreements.biases import BIASES
from posref.disagreements.relative import RELATIVE
from posref.disagreements.rotation import ROTATION
from posref.disagreements.scores import SCORES
from posref.disagreements.stretching import STRETCHING
from posref.disagreements.yarn import YARN

__all__ = ["REGISTER", "Disagreement", "Reading"]

REGISTER: tuple[Disagreement, ...] = (*ROTATION, *STRETCHING, *YARN, *AXES, *SCORES, *ADDITIVE, *BIASES, *RELATIVE)
