"""Bank conflicts as a test's concern: `assert_conflict_free`, and a pytest plugin for those who ask for it.

    pytest -p banksim.testing --banksim-arch kepler-4,sm_90

or `pytest_plugins = ["banksim.testing"]` in the outermost conftest.py. The plugin adds that option, the marker
`@pytest.mark.banksim_arch("kepler-8")` for the architectures of one test, and the fixture `assert_conflict_free`, which
judges by these. The function of the same name needs no plugin.

With `--banksim-project=pyproject.toml`, or `banksim_project = "pyproject.toml"` in pytest's own configuration, each
kernel and program that the project's file lists (see `banksim check --help`) is a test too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from banksim.errors import InputError

if TYPE_CHECKING:
    from banksim.project.file import Entry, Project
    from banksim.project.verdicts import Verdict
    from banksim.runs.outcome import Run

__all__ = ["assert_conflict_free"]
DEFAULT = "sm_90"


def assert_conflict_free(
    kernel: object,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[object] = (),
    *,
    limits: str | Sequence[str] = "excess=0",
    **options: Any,
) -> Run:
    """Count a kernel's conflicts and fail if they are above the limits; the run, if they are not.

    `limits` as for `--fail-above`: `excess=0`, `degree=2`, `line-per-request=1.5`, or several of them. Everything else
    as for `banksim.run`, but for `arch`, which is sm_90, and `values`, which is False, unless they are given: arrays
    are left as they are, and large launches counted by classes of blocks; with `values=True` every block is executed,
    and the arrays hold the results. Errors are raised as they are. The failure names the lines and shows the report. A
    comment `banksim: allow(4, "why")` excuses its line.
    """
    __tracebackhide__ = True
    from banksim.banks.limits import Guard, check, limit
    from banksim.runs.run import run

    options = {"arch": DEFAULT, "values": False, **options}
    wanted = tuple(limit(text) for text in ([limits] if isinstance(limits, str) else limits))
    done = run(kernel, grid, block, args, **options)
    found = check(done.judged, Guard(wanted))
    if found.above:
        from banksim.report.text.kernel import report

        named = "\n".join(map(str, found.above))
        raise AssertionError(f"{named}\n\n{report(done, 100, pictures='none').plain}")
    return done


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("banksim").addoption(
        "--banksim-arch",
        metavar="NAME,…",
        default=DEFAULT,
        help=f"architectures by which assert_conflict_free judges (default {DEFAULT})",
    )

    what = "collect the entries of this project's file too (banksim.toml or pyproject.toml), each as a test"
    parser.getgroup("banksim").addoption("--banksim-project", metavar="FILE", help=what)
    parser.addini("banksim_project", what)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "banksim_arch(*names): judge by these architectures in the place of --banksim-arch"
    )
    file = project_file(config)
    everything = config.args_source is not pytest.Config.ArgsSource.ARGS or config.getoption("--banksim-project")
    if file and everything and str(file) not in config.args:
        config.args.append(str(file))


@pytest.fixture(name="assert_conflict_free")
def fixture(request: pytest.FixtureRequest) -> Callable[..., Run]:
    """`assert_conflict_free` with the architectures of the marker, else of the option."""
    marker = request.node.get_closest_marker("banksim_arch")
    names = marker.args if marker else str(request.config.getoption("--banksim-arch")).split(",")

    def assert_free(*args: Any, **options: Any) -> Run:
        __tracebackhide__ = True
        return assert_conflict_free(*args, **{"arch": list(names), **options})

    return assert_free


# ---- the entries of a project's file
def project_file(config: pytest.Config) -> Path | None:
    """The file of the option, else that of pytest's configuration, from the folder where this lies."""
    given = config.getoption("--banksim-project")
    if given:
        return Path(config.invocation_params.dir, given)
    return config.rootpath / config.getini("banksim_project") if config.getini("banksim_project") else None


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> ProjectFile | None:
    file = project_file(parent.config)
    return ProjectFile.from_parent(parent, path=file_path) if file and file_path == file.resolve() else None


class ProjectFile(pytest.File):
    """A project's file; each of its entries is a test."""

    def collect(self) -> Iterator[EntryTest]:
        from banksim.project.file import read

        try:
            project = read(self.path)
        except InputError as error:
            raise self.CollectError(str(error)) from None
        for entry in project.entries:
            yield EntryTest.from_parent(self, name=entry.name, entry=entry, project=project)


class NotPassed(Exception):
    """An entry is above its limits, or could not be judged."""


class EntryTest(pytest.Item):
    """An entry of a project's file, judged as `banksim check` does."""

    def __init__(self, *, entry: Entry, project: Project, **more: Any) -> None:
        super().__init__(**more)
        self.entry, self.project = entry, project

    def runtest(self) -> None:
        from banksim.project.execute import Commands
        from banksim.project.verdicts import judge, read_baseline

        project = self.project
        accepted = read_baseline(project.folder / project.baseline) if project.baseline else None
        commands = Commands(project)
        try:
            found: Verdict = judge(commands, self.entry, accepted)
        finally:
            commands.end()
        if found.outcome != "passed":
            raise NotPassed("\n".join(found.reasons) or found.error)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, NotPassed | InputError):
            return str(excinfo.value)
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, self.entry.line and self.entry.line - 1, self.name
