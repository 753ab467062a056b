"""``pytest --pyargs posref_conformance --posref-backend=NAME_OR_FILE``: one test per check."""

from __future__ import annotations

import pytest

from posref_conformance.backend import BackendError
from posref_conformance.runner import Runner
from posref_conformance.verdict import EXPECTED_FAILURE, FAILED, NOT_IMPLEMENTED, UNEXPECTED_PASS

_RUNNER = pytest.StashKey[Runner]()


def _runner(config: pytest.Config) -> Runner | None:
    """One worker process for the session, started when the checks are collected, ended with pytest."""
    backend = config.getoption("--posref-backend")
    if backend and _RUNNER not in config.stash:
        try:
            config.stash[_RUNNER] = Runner(backend)
        except BackendError as problem:
            raise pytest.Collector.CollectError(str(problem)) from None
        config.add_cleanup(config.stash[_RUNNER].close)
    return config.stash.get(_RUNNER, None)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test for every check of the backend that was named."""
    runner = _runner(metafunc.config)
    if "check" in metafunc.fixturenames:
        metafunc.parametrize("check", runner.checks() if runner else [])


@pytest.fixture(scope="session")
def runner(request: pytest.FixtureRequest) -> Runner:
    """The worker process."""
    running = _runner(request.config)
    if running is None:
        pytest.skip("no backend was named: give --posref-backend=NAME_OR_FILE")
    return running


def test_backend(runner: Runner, check: str) -> None:
    """The backend agrees with the reference."""
    (result,) = runner.run([check])
    details = (
        f"at {result.where}: got {result.got}, expected {result.expected}, bound {result.bound}" if result.where else ""
    )
    if result.status == NOT_IMPLEMENTED:
        pytest.skip(f"not implemented: {result.reason}")
    if result.status == EXPECTED_FAILURE:
        pytest.xfail(result.reason)
    if result.status in (FAILED, UNEXPECTED_PASS):
        pytest.fail(f"{result.reason} {details}".rstrip(), pytrace=False)


def test_expected_failures_are_known(runner: Runner) -> None:
    """Every id among the backend's expected failures is a check's."""
    assert runner.unknown_expected_failures() == []
