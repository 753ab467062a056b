"""The suite on code that nobody here wrote: transformers' Llama rotary embedding, BLOOM's ALiBi, T5's buckets."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.peers
if find_spec("transformers") is None:  # and not importorskip: only the worker has to import it
    pytest.skip("needs the peers extra: pip install 'posref[torch,peers]'", allow_module_level=True)

BACKENDS = Path(__file__).parents[1] / "data" / "backends"


def test_transformers_is_right_at_its_precision(report: Callable[..., dict[str, Any]]) -> None:
    """float32 tables and products in the model's type; no expected failures, nothing that fails."""
    got = report(str(BACKENDS / "transformers_backend.py"))
    assert (got["status"], got["verdict"]) == (0, "pass"), [c for c in got["checks"] if c["status"] == "failed"]
    by_function = {line["function"]: line for line in got["functions"] if line["passed"]}
    assert set(by_function) == {
        *("rope_inv_freq", "rope_attention_factor", "rope_cos_sin", "rope_table", "rope_apply", "rope"),
        *("alibi_slopes", "t5_bucket"),
    }
    assert by_function["rope_apply"]["profile"] == "native"
    assert by_function["rope"]["profile"] in (
        "table",
        "native",
    )  # the bound of a fused rotation hardly tells them apart
    assert all(line["worst"] <= 0.8 for line in by_function.values() if line["profile"] is None)
    passed = {c["id"] for c in got["checks"] if c["status"] == "passed"}
    for case in ("half", "far", "per-row", "fractions", "yarn", "llama3", "dynamic-ntk", "longrope-long", "steps"):
        assert {f"rope/{case}/{t}" for t in ("float32", "float16", "bfloat16") if case != "fractions"} <= passed, case
    for name in ("llama3", "llama3-step", "yarn-deepseek", "yarn-untruncated", "longrope-long", "dynamic-ntk-beyond"):
        assert f"rope_inv_freq/{name}/default" in passed
    assert {f"alibi_slopes/heads-{n}/default" for n in (1, 3, 8, 12, 71, 112)} <= passed


CHANGED = """
import transformers_backend as right
arrays = "torch"

def rope(x, positions, *, base=10000.0):
    return right.rope(x, positions + 1, base=base)  # positions from 1

def rope_inv_freq(dim):
    return right.rope_inv_freq(dim).bfloat16().float()

def alibi_slopes(num_heads):
    return right.alibi_slopes(128)[:num_heads]  # BLOOM's, whatever the number of heads

def t5_bucket(relative_position):
    return right.t5_bucket(-relative_position)
"""
WRONG = {
    *(f"rope/half/{t}" for t in ("float32", "float16", "bfloat16")),
    *("rope_inv_freq/plain/default", "rope_inv_freq/dim-96/default"),
    *("alibi_slopes/heads-12/default", "alibi_slopes/heads-112/default"),
    *("t5_bucket/encoder/int64", "t5_bucket/matrix/int32"),
}
# in float64, transformers' frequencies and angles are float32 still
FLOAT64 = "from transformers_backend import rope, rope_apply\narrays, dtypes = 'torch', ['float64']\n"


@pytest.mark.parametrize(
    ("source", "wrong", "right"),
    [(CHANGED, WRONG, set()), (FLOAT64, {"rope/half/float64", "rope/far/float64"}, {"rope_apply/half/float64"})],
    ids=["changed", "float64"],
)
def test_the_verdict_is_no_where_it_is_wrong(
    report: Callable[..., dict[str, Any]],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    wrong: set[str],
    right: set[str],
) -> None:
    monkeypatch.setenv("PYTHONPATH", os.fspath(BACKENDS))
    (tmp_path / "changed.py").write_text(source)
    got = report("changed.py")
    assert got["status"] == 1
    assert wrong <= {c["id"] for c in got["checks"] if c["status"] == "failed"}
    assert right <= {c["id"] for c in got["checks"] if c["status"] == "passed"}
