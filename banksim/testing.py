"""Bank conflicts as a test's concern: `assert_conflict_free`, and a pytest plugin for those who ask for it.

    pytest -p banksim.testing --banksim-arch kepler-4,sm_90

or `pytest_plugins = ["banksim.testing"]` in the outermost conftest.py. The plugin adds that option, the marker
`@pytest.mark.banksim_arch("kepler-8")` for the architectures of one test, and the fixture `assert_conflict_free`, which
judges by these. The function of the same name needs no plugin.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

__all__ = ["assert_conflict_free"]
DEFAULT = "sm_90"


def assert_conflict_free(
    kernel: Any,
    grid: int | Sequence[int],
    block: int | Sequence[int],
    args: Sequence[Any] = (),
    *,
    limits: str | Sequence[str] = "excess=0",
    **options: Any,
) -> Any:
    """Execute a kernel and fail if its conflicts are above the limits; the run, if they are not.

    `limits` as for `--fail-above`: `excess=0`, `degree=2`, `line-per-request=1.5`, or several of them. Everything else
    as for `banksim.run`, but for `arch`, which is sm_90 unless it is given; its errors are raised as they are. The
    failure names the lines and shows the report. A comment `banksim: allow(4, "why")` excuses its line.
    """
    __tracebackhide__ = True
    from banksim.banks.limits import Guard, check, limit
    from banksim.runs.run import run

    options.setdefault("arch", DEFAULT)
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


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "banksim_arch(*names): judge by these architectures in the place of --banksim-arch"
    )


@pytest.fixture(name="assert_conflict_free")
def fixture(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """`assert_conflict_free` with the architectures of the marker, else of the option."""
    marker = request.node.get_closest_marker("banksim_arch")
    names = marker.args if marker else str(request.config.getoption("--banksim-arch")).split(",")

    def assert_free(*args: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        return assert_conflict_free(*args, **{"arch": list(names), **options})

    return assert_free
