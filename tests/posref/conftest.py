"""Makes helpers/bad_calls.py importable, which several tables of bad input share."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parent / "helpers"))
