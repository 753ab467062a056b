"""Hypothesis draws the same examples on every run: no database, no deadline, no seed from outside.

No shrinking either: the planted faults fail on purpose, and shrinking them takes a hundred times as long as finding them.

What a test records as its property "measured" is printed at the end of the run.
"""

import pytest
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


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for group in terminalreporter.stats.values() for report in group]
    calls = [report for report in reports if getattr(report, "when", None) == "call"]
    lines = [text for report in calls for name, text in report.user_properties if name == "measured"]
    if lines:
        terminalreporter.section("measured")
        for line in lines:
            terminalreporter.write_line(line)
