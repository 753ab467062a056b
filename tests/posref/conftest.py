"""Hypothesis draws the same examples on every run: no database, no deadline, no seed from outside.

No shrinking either: the planted faults fail on purpose, and shrinking them takes a hundred times as long as finding them.
"""

import sys
from pathlib import Path

from hypothesis import Phase, settings

sys.path.append(str(Path(__file__).parent / "helpers"))  # bad_calls.py, which several tables of bad input share

settings.register_profile(
    "reference",
    derandomize=True,
    deadline=None,
    max_examples=30,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    report_multiple_bugs=False,
)
settings.load_profile("reference")
