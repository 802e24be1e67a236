"""Options of the whole suite.

pytest --hypothesis-profile=deep tests/banks/test_rule.py   searches anew and for long; `ci`, the default, is the same
                                                            in every run
pytest --rewrite-goldens                                    puts what is printed now into tests/goldens and the pages,
                                                            and says which files that changed
pytest -n auto                                              runs side by side, on each worker what shares work
"""

import atexit
import gc
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from banksim.system.processes import cores
from helpers import goldens
from helpers.places import TESTS

settings.register_profile("ci", deadline=None, derandomize=True, max_examples=50)
settings.register_profile("deep", deadline=None, max_examples=5000)
settings.load_profile("ci")


LAUNCH = re.compile(r"tests/machine/test_hardware(_numpy)?\.py::.*\[(?P<source>\w+)\.")
"""A test of a recorded launch, which several files run again."""
SAME_CODE = re.compile(r"tests/kernels/test_(cubin|listing)\.py::")
"""A test of files that compile the same sources, some of which take seconds."""
BEFORE = pytest.StashKey[dict[Path, bytes]]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--rewrite-goldens",
        action="store_true",
        help="rewrite tests/goldens, and what README.md and the pages under examples show",
    )


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, "workerinput"):  # a worker, which has reported all by then: freeing its memory takes seconds
        atexit.register(os._exit, 0)
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:  # as a shell has it for what runs in the background
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if signal.getsignal(signal.SIGHUP) == signal.SIG_IGN:  # under nohup: what tests start would inherit that
        signal.signal(signal.SIGHUP, lambda number, frame: None)
    goldens.rewriting = config.getoption("rewrite_goldens")
    if goldens.rewriting:
        config.stash[BEFORE] = goldens.contents()


def pytest_collection() -> None:
    gc.disable()


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(collector: pytest.Collector) -> Iterator[None]:
    """Each worker begins with other rooms: the first that imports a file compiles it, and its asserts, for all."""
    report: pytest.CollectReport = yield
    if collector.path == TESTS and (worker := getattr(collector.config, "workerinput", None)):
        first = int(worker["workerid"].removeprefix("gw")) * len(report.result) // worker["workercount"]
        report.result = [*report.result[first:], *report.result[:first]]
    return report


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):  # which has to have the order of all others
        items.sort(key=lambda item: item.path.parts)


def pytest_collection_finish() -> None:
    """Have the collector of garbage leave alone what is there now, of which nearly all stays to the end, and look at
    the rest seldom: it would take a fifth of the time."""
    gc.enable()
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        gc.unfreeze()  # or modules that count what is left at the end would tell it


@pytest.fixture(scope="module")
def listed_once() -> Iterator[None]:
    """nvdisasm is slow to start: it lists the same code once, though tests have own caches."""
    from banksim.kernels import disassembly
    from banksim.kernels.elf import Elf

    print_listing, found = disassembly.printed, dict[str | bytes, bytes]()

    def once(cubin: bytes) -> bytes:
        code = disassembly.kept_as(Elf(cubin)) or cubin
        if code not in found:
            found[code] = print_listing(cubin)
        return found[code]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(disassembly, "printed", once)
        yield


@pytest.fixture(scope="module")
def by_nvrtc() -> Iterator[None]:
    """CUDA C++ is compiled within the process, as where there is no host compiler: to the same code in a tenth of the
    time, since nvcc reads headers of its own. What nvcc does, tests of tests/kernels and of programs show."""
    from banksim.kernels.compilers import tools

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tools, "host_compiler", lambda: None)
        yield


@pytest.fixture
def by_nvcc_for_cpp_14(monkeypatch: pytest.MonkeyPatch) -> None:
    """nvcc compiles programs a fifth faster for C++14, whose standard library has shorter headers."""
    monkeypatch.setenv("NVCC_PREPEND_FLAGS", "-std=c++14")


@pytest.fixture(scope="module", autouse=True)
def compiled_by_room(request: pytest.FixtureRequest) -> None:
    """In rooms that execute machine code and do not ask which compiler made it, by NVRTC."""
    if request.path.relative_to(TESTS).parts[0] in ("advise", "classes", "machine", "timing"):
        request.getfixturevalue("by_nvrtc")


@pytest.fixture
def by_classes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Launches whose results nobody wants are counted by classes of blocks, small ones too, which would be executed."""
    monkeypatch.setattr("banksim.runs.by_classes.is_small", lambda launch: False)


@pytest.fixture
def compiled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """Functions of tests are compiled in every run. Numba's cache does not see where only the way in which banksim
    compiles has changed: of banksim's own functions banksim tells it, but not of others."""
    from banksim.system import jit

    monkeypatch.setattr(jit, "trusted", lambda source, function: False)


@pytest.hookimpl(wrapper=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> Iterator[None]:
    yield
    if goldens.rewriting:
        changed = goldens.changed(config.stash[BEFORE])
        terminalreporter.section("rewritten")
        terminalreporter.write_line("\n".join(changed) or "nothing: every golden was as it is printed now")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: with one to a core, these are idle while tests wait for processes."""
    return cores() + 1


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """One that gives all tests of a file to one worker, so that it compiles and runs once what several of them need;
    tests of recorded launches go by the source of the kernel, and pages, which share nothing, one by one."""
    from xdist.scheduler import LoadScopeScheduling

    class BySharedWork(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if nodeid.startswith("tests/test_readme.py"):
                return nodeid
            if SAME_CODE.match(nodeid):
                return SAME_CODE.pattern
            launch = LAUNCH.match(nodeid)
            return launch["source"] if launch else nodeid.partition("::")[0]

    return BySharedWork(config, log)
