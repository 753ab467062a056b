"""The command line. Each command imports what it needs when it runs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}

FRAMEWORKS = ("transformers", "vllm", "sglang", "mlx", "exllamav3", "ggml")  # as posref.models.frameworks has them
DTYPES = ("float64", "float32", "float16", "bfloat16")
FRAMEWORK = click.option("--framework", type=click.Choice(FRAMEWORKS), help="Whose reading; transformers' by default.")
SEQ_LEN = click.option(
    "--seq-len",
    type=click.IntRange(min=1),
    help="Current length, for frequencies that follow it (dynamic NTK, LongRoPE).",
)


@click.group(context_settings=CONTEXT)
@click.version_option(package_name="posref", message="%(prog)s %(version)s")
def posref() -> None:
    """The correctness oracle for position encodings.

    Exit status: 0 the verdict is yes, 1 the verdict is no, 2 the question could not be answered.
    """


@posref.command()
@click.argument("backend", required=False)
@click.option(
    "--only",
    multiple=True,
    metavar="FUNCTION",
    help="A function, a check's id, its beginning, or a pattern; repeatable.",
)
@click.option("--deep", is_flag=True, help="Generated checks on top of the fixed ones (needs Hypothesis).")
@click.option(
    "--timeout", type=click.FloatRange(min=0, min_open=True), default=10.0, show_default=True, help="Seconds per check."
)
@click.option(
    "--memory",
    type=click.FloatRange(min=0, min_open=True),
    default=4.0,
    show_default=True,
    help="GiB of memory that a check may add to what the backend takes.",
)
@click.option("--family", "families", multiple=True, metavar="FAMILY", help="Of the catalogue; repeatable.")
@click.option("-j", "--jobs", type=click.IntRange(min=1), default=1, show_default=True, help="Processes at a time.")
@click.option("-x", "--exitfirst", is_flag=True, help="Stop at the first failure.")
@click.option("--json", "as_json", is_flag=True, help="The whole report as JSON.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write the report as a page, too.")
@click.option("--list", "list_only", is_flag=True, help="Print the ids of the checks, and run none.")
@click.option("--template", is_flag=True, help="Print a backend file to start from, and do nothing else.")
def check(
    backend: str | None,
    timeout: float,
    memory: float,
    exitfirst: bool,
    list_only: bool,
    template: bool,
    **asked: Any,
) -> int:
    """Hold BACKEND against the reference: numpy, torch, cupy, a file.py or a package.module.

    \b
    posref check numpy
    posref check my_backend.py --only rope_apply
    posref check --template > my_backend.py
    """  # noqa: D301, click wants the control character
    if template:
        from importlib.resources import files

        click.echo(files("posref_conformance").joinpath("template.py").read_text(encoding="utf-8"), nl=False)
        return 0
    if backend is None and not list_only:
        raise click.UsageError("BACKEND is missing: give numpy, torch, cupy, a file.py or a package.module")
    from posref_conformance.backend import BackendError
    from posref_conformance.check import Options, list_checks
    from posref_conformance.check import check as run
    from posref_conformance.contract import FAMILIES
    from posref_conformance.process import Limits

    for family in asked["families"]:
        if family not in FAMILIES:
            raise click.UsageError(f"--family must be one of {', '.join(FAMILIES)}, got {family}")
    options = Options(limits=Limits(timeout, memory), exit_first=exitfirst, **asked)
    try:
        return list_checks(backend, options) if list_only or backend is None else run(backend, options)
    except BackendError as problem:
        raise click.ClickException(str(problem)) from None


@posref.command()
@click.argument("reports", nargs=-1, required=True, metavar="REPORT.json...", type=click.Path(path_type=Path))
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write one report as a page instead.")
def report(reports: tuple[Path, ...], html: Path | None) -> int:
    """Put reports of posref check --json side by side, as a table in Markdown.

    The exit status is 0 whatever the verdicts are: they have been given where the reports were made.
    """
    from posref_conformance.matrix import html_of, matrix
    from posref_conformance.schemas import WrongFile

    try:
        if html is None:
            click.echo(matrix(reports))
        elif len(reports) == 1:
            html.write_text(html_of(reports[0]), encoding="utf-8")
        else:
            raise click.UsageError(f"--html takes one report, got {len(reports)}")
    except WrongFile as problem:
        raise click.ClickException(str(problem)) from None
    return 0


@posref.group()
def vectors() -> None:
    """Checks as files, for programs in any language."""


@vectors.command("write")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--select", multiple=True, metavar="FUNCTION", help="A function, a check's id or a pattern; repeatable.")
@click.option("--dtype", "dtypes", multiple=True, metavar="TYPE", help="float32, bfloat16, int64, ...; repeatable.")
@click.option("--gradients", is_flag=True, help="Vector-Jacobian products, too.")
def write_vectors(folder: Path, select: tuple[str, ...], dtypes: tuple[str, ...], gradients: bool) -> int:
    """Write inputs, parameters, expected outputs and their bounds into the new folder DIR."""
    from posref_conformance.schemas import WrongFile
    from posref_conformance.vectors.write import write

    try:
        count = write(folder, select=select, dtypes=dtypes, gradients=gradients)
    except WrongFile as problem:
        raise click.ClickException(str(problem)) from None
    click.echo(f"{count} vectors in {folder}")
    return 0


@vectors.command("check")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.argument("outputs", metavar="OUTPUT_DIR", type=click.Path(path_type=Path))
@click.option("--only", multiple=True, metavar="FUNCTION", help="A function, a check's id or a pattern; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="The whole report as JSON.")
@click.option("--html", type=click.Path(dir_okay=False, path_type=Path), help="Write the report as a page, too.")
def check_vectors(folder: Path, outputs: Path, only: tuple[str, ...], as_json: bool, html: Path | None) -> int:
    """Judge what a program made of the vectors in DIR and wrote into OUTPUT_DIR."""
    from posref_conformance.check import check_vectors as run
    from posref_conformance.schemas import WrongFile

    try:
        return run(folder, outputs, only=only, as_json=as_json, html=html)
    except WrongFile as problem:
        raise click.ClickException(str(problem)) from None


@posref.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--config", type=click.Path(path_type=Path), help="A model's config.json: are these its numbers?")
@click.option(
    "--positions", metavar="A:B", help="Of the rows: A:B, A:B:STEP, or integers with commas; else told from them."
)
@SEQ_LEN
@click.option("--json", "as_json", is_flag=True, help="All parameters and errors as JSON.")
def identify(file: Path, config: Path | None, positions: str | None, seq_len: int | None, as_json: bool) -> int:
    """Tell which encoding the numbers of FILE are: .npy, .npz or .safetensors.

    \b
    A table: cos and sin, in two arrays, side by side or as complex numbers; or sinusoids
    Frequencies, slopes or a bias (heads, queries, keys)
    A rotation: a tensor x (..., sequence, channels) and what became of it, y
    """  # noqa: D301, click wants the control character
    from posref_conformance.identify.command import run
    from posref_conformance.schemas import WrongFile

    try:
        return run(file, config=config, positions=positions, seq_len=seq_len, as_json=as_json)
    except WrongFile as problem:
        raise click.ClickException(str(problem)) from None


@posref.command("list")
@click.option("--disagreements", is_flag=True, help="Where implementations disagree: each reading, and how to get it.")
@click.option("--json", "as_json", is_flag=True, help="Records as JSON.")
def list_(disagreements: bool, as_json: bool) -> int:
    """List the encodings, and what each backend has of them."""
    if disagreements:
        from posref.disagreements.show import show

        show(as_json=as_json)
        return 0
    from posref_conformance.listing import listing

    listing(as_json=as_json)
    return 0


@posref.command()
@click.argument("config", metavar="CONFIG.json")
@FRAMEWORK
@click.option("--compare", "compared", is_flag=True, help="The readings of all frameworks, and how far apart they are.")
@SEQ_LEN
@click.option("--json", "as_json", is_flag=True, help="Everything, all inverse frequencies included, as JSON.")
def show(config: str, framework: str | None, compared: bool, seq_len: int | None, as_json: bool) -> int:
    """Show what a model's config means for positions.

    \b
    posref show config.json
    posref show config.json --framework vllm
    posref show config.json --compare
    """  # noqa: D301, click wants the control character
    if compared and framework is not None:
        raise click.UsageError("--compare shows all frameworks: give it or --framework")
    if compared:
        from posref.models.compare import compare

        return compare(config, as_json=as_json, seq_len=seq_len)
    from posref.models.show import show as run

    return run(config, as_json=as_json, framework=framework or "transformers", seq_len=seq_len)


@posref.command()
@click.argument("config", metavar="CONFIG.json")
@click.option("-o", "--output", required=True, metavar="FILE", help="Ends in .npz or .safetensors.")
@click.option(
    "--positions",
    default="0:4096",
    show_default=True,
    metavar="A:B",
    help="A:B, A:B:STEP, or integers with commas.",
)
@click.option("--dtype", type=click.Choice(DTYPES), default="float32", show_default=True, help="Of the tables.")
@click.option("--layer", type=click.IntRange(min=0), help="Only what this layer has.")
@FRAMEWORK
@SEQ_LEN
@click.option("--force", is_flag=True, help="Write over a file that is there already.")
def table(config: str, output: str, framework: str | None, **how: Any) -> int:
    """Write what a model's config means for positions to a file: cos and sin, frequencies, biases.

    \b
    posref table config.json -o table.npz
    posref table config.json -o table.npz --positions 0:131072:64 --dtype bfloat16
    """  # noqa: D301, click wants the control character
    from posref.models.table import table as run

    return run(config, output, framework=framework or "transformers", **how)


def main() -> None:
    """Run a command; an error is one line."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # a file's name may be anything
    try:
        status = posref(standalone_mode=False) or 0
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as help_:
        click.echo(help_.format_message())
        status = _unanswered("a command is missing")
    except click.ClickException as problem:
        status = _unanswered(" ".join(problem.format_message().split()))
    except (click.Abort, KeyboardInterrupt):
        status = _unanswered("interrupted")
    except (BrokenPipeError, SystemExit):  # SystemExit: what click makes of it
        status = _deaf()  # the reader has seen enough, but perhaps not the verdict
    except OSError as problem:  # a full disk
        _deaf()
        status = _unanswered(str(problem))
    sys.exit(status)


def _unanswered(why: str) -> int:
    click.echo(f"posref: {why}", err=True)
    return 2


def _deaf() -> int:
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody takes what is still to be flushed
    return 2
