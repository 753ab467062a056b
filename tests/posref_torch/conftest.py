"""Makes the helpers of tests/posref_array importable, and torch.compile clean between tests."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

sys.path.append(str(Path(__file__).parents[1] / "posref_array" / "helpers"))


@pytest.fixture
def compiler() -> Iterator[str]:
    """Torch's own compiler for the CPU, and nothing left behind."""
    names = (os.environ.get("CXX", "g++"), "g++", "clang++", "cl")
    if not any(shutil.which(name) for name in names):
        pytest.skip("torch.compile needs a C++ compiler: none of CXX, g++, clang++, cl is here")
    torch._dynamo.reset()
    yield "inductor"
    torch._dynamo.reset()


@pytest.fixture
def traced() -> Iterator[str]:
    """The tracing half of torch.compile alone: it finds graph breaks and recompilations without a C++ compiler."""
    torch._dynamo.reset()
    yield "eager"
    torch._dynamo.reset()
