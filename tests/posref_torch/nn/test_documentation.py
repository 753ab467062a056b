"""Every module has a documented example that does what it says."""

from __future__ import annotations

import doctest

import pytest
import torch

from posref_torch import nn


@pytest.mark.parametrize("name", nn.__all__)
def test_examples(name: str) -> None:
    module = getattr(nn, name)
    (test, *_) = doctest.DocTestFinder(recurse=False).find(module, name, globs={"torch": torch, **vars(nn)})
    assert test.examples
    said: list[str] = []
    failed, _ = doctest.DocTestRunner().run(test, out=said.append)
    assert not failed, "".join(said)


@pytest.mark.parametrize("name", nn.__all__)
def test_public_methods_are_documented(name: str) -> None:
    own = {n: m for n, m in vars(getattr(nn, name)).items() if callable(m) and not n.startswith("_")}
    assert "forward" in own
    assert all(m.__doc__ for m in own.values())


def test_all_is_complete() -> None:
    modules = {n for n, m in vars(nn).items() if isinstance(m, type) and issubclass(m, torch.nn.Module)}
    assert nn.__all__ == sorted(modules)
