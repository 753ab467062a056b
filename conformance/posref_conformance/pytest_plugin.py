"""Options of ``pytest --pyargs posref_conformance --posref-backend=NAME_OR_FILE``.

pytest loads this module in every session of everyone who has posref installed, so it imports nothing but pytest.
"""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names the backend."""
    parser.getgroup("posref").addoption(
        "--posref-backend",
        metavar="NAME_OR_FILE",
        help="backend to hold against posref's reference: a registered name, a file.py or a package.module",
    )
