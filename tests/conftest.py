"""Hypothesis draws the same examples on every run: no database, no deadline, no seed from outside.

No shrinking either: the planted faults fail on purpose, and shrinking them takes a hundred times as long as finding them.
"""

from hypothesis import Phase, settings

settings.register_profile(
    "posref",
    derandomize=True,
    deadline=None,
    max_examples=30,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    report_multiple_bugs=False,
)
settings.load_profile("posref")
