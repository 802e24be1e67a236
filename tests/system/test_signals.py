"""SIGTERM and SIGHUP end a command as Ctrl-C does: with what was done, and with nothing left behind."""

import ctypes
import gc
import os
import pty
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

import numpy as np
import pytest

import banksim
from banksim.storage import write_trace
from banksim.system import ending
from helpers.numba_programs import ENDLESS, LAUNCHES
from helpers.places import PACKAGES
from helpers.processes import until, until_it_has_worked

SIGNALS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]
"""One handler takes all three. A kernel is sent each of them; where others interrupt something else, one is enough."""
MARK = "BANKSIM_TEST_OF_SIGNALS"
ENDLESS_PTX = """
.version 8.0
.target sm_75
.address_size 64
.visible .entry endless(.param .u64 out) {
    .reg .u64 %place;
    .reg .u32 %word;
    .reg .pred %goes_on;
    ld.param.u64 %place, [out];
again:
    ld.volatile.global.u32 %word, [%place];
    setp.eq.u32 %goes_on, %word, 0;
    @%goes_on bra again;
    ret;
}
"""
LONG = """
template <int N, int M> struct F { static const long v = F<N - 1, 2 * M>::v + F<N - 1, 2 * M + 1>::v; };
template <int M> struct F<0, M> { static const long v = M; };
__global__ void k(float *out) { out[0] = F<30, 0>::v; }
"""
"""nvcc's front end works on it for minutes."""


class Command:
    """A command in a process of its own, whose temporary files and children are known."""

    def __init__(self, folder: Path, words: list[str], errors: int = subprocess.PIPE, **more: str) -> None:
        self.scratch, self.mark = folder / "scratch", str(uuid4())
        self.scratch.mkdir()
        environment = {**os.environ, "PYTHONPATH": str(PACKAGES), "TMPDIR": str(self.scratch), MARK: self.mark, **more}
        self.process = subprocess.Popen(
            [sys.executable, "-W", "ignore", "-m", "banksim", *words],
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=folder,
            env=environment,
        )

    def end(self, number: int) -> tuple[int, str, str]:
        """Exit status, standard output and standard error after a signal; nothing may be left."""
        self.process.send_signal(number)
        out, error = self.process.communicate(timeout=300)
        until(lambda: not self.alive())
        assert [path.name for path in self.scratch.rglob("*")] == []
        return self.process.returncode, out, error

    def listening(self) -> bool:
        """Whether it handles signals by now: before, Python is still starting."""
        status = (Path("/proc") / str(self.process.pid) / "status").read_text()
        caught = int(status.partition("SigCgt:")[2].split()[0], 16)
        return bool(caught >> (signal.SIGTERM - 1) & 1)

    def processes(self) -> Iterator[Path]:
        """Folders in /proc: its own and those of its children; one that has ended raises no error later."""
        for process in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if f"{MARK}={self.mark}".encode() in (process / "environ").read_bytes().split(b"\0"):
                    yield process

    def alive(self) -> list[str]:
        """The command lines of its processes."""
        found = []
        for process in self.processes():
            with suppress(OSError):
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode())
        return found

    def ended(self) -> bool:
        return self.process.poll() is not None

    def has_workers(self) -> bool:
        return self.ended() or any("banksim.system.processes" in line for line in self.alive())

    def works(self) -> bool:
        """Whether a worker reads the trace, unless all are done."""
        found = set()
        for process in self.processes():
            with suppress(OSError):
                if int(process.name) != self.process.pid:
                    found |= {os.readlink(file) for file in (process / "fd").iterdir()}
        return self.ended() or any(file.endswith("t.parquet") for file in found)


@pytest.fixture
def endless(tmp_path: Path) -> Path:
    (tmp_path / "endless.ptx").write_text(ENDLESS_PTX)
    (tmp_path / "launches.py").write_text(ENDLESS + LAUNCHES)
    return tmp_path


@pytest.mark.parametrize("number", SIGNALS)
def test_a_kernel_tells_what_was_done(endless: Path, number: int) -> None:
    words = ["kernel", "endless.ptx", "--arg", "int32[2]", "--trace", "t.parquet", "--html", "page.html"]
    words += ["--max-instructions", "0"]
    terminal, inner = pty.openpty()
    command = Command(endless, words, errors=inner)
    os.close(inner)
    shown = b""
    while b"0 of 1 blocks" not in shown:
        shown += os.read(terminal, 4096)
    assert len(list(endless.glob(".*.part"))) == 1  # of the trace
    status, out, _ = command.end(number)
    shown = os.read(terminal, 4096)
    os.close(terminal)
    assert status == 128 + number
    assert "PARTIAL: interrupted after 0 of 1 block" in out
    assert b"banksim: t.parquet was not written: the trace is incomplete\r\n" in shown
    assert "PARTIAL" in (endless / "page.html").read_text()
    assert not [path for path in endless.iterdir() if path.suffix in (".part", ".parquet")]


def test_a_program_is_ended_and_its_launches_told(endless: Path) -> None:
    command = Command(endless, ["run", "--output", "report.txt", "launches.py"])
    assert command.process.stdout is not None
    assert command.process.stdout.readline() == "launching\n"
    until_it_has_worked(command.process.pid)
    status, _, error = command.end(signal.SIGTERM)
    assert status == 128 + signal.SIGTERM
    assert error.endswith("KeyboardInterrupt\n")
    assert "PARTIAL: 1 launch interrupted before the end" in (endless / "report.txt").read_text()


def test_a_compiler_ends_too(tmp_path: Path) -> None:
    (tmp_path / "long.cu").write_text(LONG)
    command = Command(tmp_path, ["kernel", "long.cu", "--arg", "float32[1]"])
    until(lambda: any("cudafe" in line or "cicc" in line for line in command.alive()))
    until_it_has_worked(command.process.pid, 0.1)
    assert command.end(signal.SIGHUP) == (128 + signal.SIGHUP, "", "banksim: interrupted\n")


@pytest.mark.parametrize(("number", "check"), [(signal.SIGINT, []), (signal.SIGTERM, ["--check", "races"])])
def test_native_code_that_takes_long_is_not_waited_for(endless: Path, number: int, check: list[str]) -> None:
    """LLVM writes the code of a long kernel, and answers to nothing before it has."""
    slow = (
        "import hashlib\nfrom llvmlite.binding import TargetMachine\n"
        "def slow(*_):\n    print('compiling', flush=True)\n"
        "    hashlib.pbkdf2_hmac('sha256', b'', b'', 10**8)\n    print('compiled', flush=True)\n"
        "TargetMachine.emit_object = slow\n"
    )
    (endless / "sitecustomize.py").write_text(slow)
    path = os.pathsep.join([str(endless), str(PACKAGES)])
    words = ["kernel", "endless.ptx", "--arg", "int32[2]", *check]
    command = Command(endless, words, PYTHONPATH=path, BANKSIM_CACHE=str(endless / "cache"))
    assert command.process.stdout is not None
    assert command.process.stdout.readline() == "compiling\n"
    assert command.end(number) == (128 + number, "", "banksim: interrupted\n")


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One that two workers share."""
    file = tmp_path_factory.mktemp("trace") / "t.parquet"
    piece = banksim.Trace.from_arrays("ld", 4, 1, np.zeros((1 << 18, 32), np.uint32))
    with write_trace(file) as writer:
        for _ in range(8):
            writer.write(piece)
    return file


@pytest.mark.parametrize(
    ("number", "begun"), [*zip(SIGNALS, [Command.listening, Command.has_workers, Command.works], strict=True)]
)
def test_workers_end_too(tmp_path: Path, trace: Path, number: int, begun: Callable[[Command], bool]) -> None:
    command = Command(tmp_path, ["replay", str(trace), "--workers", "2"])
    until(lambda: begun(command))
    status, _, error = command.end(number)
    assert (status, error) in ((128 + number, "banksim: interrupted\n"), (0, ""))


IN_A_TEXT = """
import sys
from banksim.system import ending
sys.exit(ending.run("banksim", lambda: exec("import os; os.kill(os.getpid(), {number})"), last=True))
"""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_in_a_text_that_is_executed_is_like_any_other(tmp_path: Path, number: int) -> None:
    """The standard library executes texts while banksim is imported."""
    (tmp_path / "in_a_text.py").write_text(IN_A_TEXT.format(number=int(number)))
    command = [sys.executable, "-m", "in_a_text"]
    ended = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (ended.returncode, ended.stderr) == (128 + number, "banksim: interrupted\n")


def test_nothing_is_left_to_end_behind_the_report(tmp_path: Path) -> None:
    slow = "import atexit, time\n@atexit.register\ndef slow():\n    print('ending', flush=True)\n    time.sleep(1)\n"
    (tmp_path / "sitecustomize.py").write_text(slow)
    path = os.pathsep.join([str(tmp_path), str(PACKAGES)])
    command = Command(tmp_path, ["--version"], PYTHONPATH=path)
    assert command.process.stdout is not None
    while command.process.stdout.readline() != "ending\n":
        pass
    status, _, error = command.end(signal.SIGTERM)
    assert (status, error) == (0, "")


def test_imports_are_interrupted_with_one_line(tmp_path: Path) -> None:
    (tmp_path / "numpy").mkdir()
    (tmp_path / "numpy" / "__init__.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(60)\n")
    command = Command(
        tmp_path, ["pattern", "a[threadIdx.x]"], PYTHONPATH=os.pathsep.join([str(tmp_path), str(PACKAGES)])
    )
    assert command.process.stdout is not None
    assert command.process.stdout.readline() == "importing\n"
    assert command.end(signal.SIGINT) == (128 + signal.SIGINT, "", "banksim: interrupted\n")


def test_what_a_signal_makes_of_an_import_is_an_interrupt() -> None:
    """An extension module that is interrupted fails with an error of its own."""

    def fails() -> int:
        try:
            signal.raise_signal(signal.SIGTERM)
        except KeyboardInterrupt:
            raise ImportError("numpy._core.multiarray failed to import") from None
        return 0

    assert ending.run("banksim", fails) == 128 + signal.SIGTERM


def test_no_interrupt_is_lost_in_what_compiled_code_calls() -> None:
    slept = []

    def command() -> int:
        called = ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(signal.SIGINT))
        called()
        time.sleep(20)
        slept.append(True)
        return 0

    assert ending.run("banksim", command) == 130
    assert not slept


@pytest.mark.parametrize("hook_takes", [0, 0.1])
def test_no_interrupt_is_lost_in_a_finalizer(hook_takes: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor where the hook that sends it again is so slow, on a busy machine, that it comes while that still runs."""
    slept = []

    class SlowThread(threading.Thread):
        def start(self) -> None:
            super().start()
            time.sleep(hook_takes)

    monkeypatch.setattr(threading, "Thread", SlowThread)

    class Finalized:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    def command() -> int:
        Finalized()
        gc.collect()
        time.sleep(20)
        slept.append(True)
        return 0

    assert ending.run("banksim", command) == 130
    assert not slept


def test_what_an_interrupt_left_half_made_is_no_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of compilers, whose objects are finalized at the end."""
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", told.append)

    class HalfMade:
        def __init__(self) -> None:
            signal.raise_signal(signal.SIGTERM)
            self.handle = 1

        def __del__(self) -> None:
            print(self.handle)

    assert ending.run("banksim", lambda: HalfMade() and 0) == 143
    gc.collect()
    assert told == []
    monkeypatch.setattr(ending, "received", 0)
    HalfMade.__init__ = lambda self: None  # type: ignore[method-assign]
    assert ending.run("banksim", lambda: bool(HalfMade()) - 1) == 0
    assert len(told) == 1


def test_what_was_started_to_be_ignored_stays_so() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert ending.run("banksim", lambda: signal.raise_signal(signal.SIGHUP) or 0) == 0
    finally:
        signal.signal(signal.SIGHUP, before)


def test_handlers_are_given_back() -> None:
    before = [signal.getsignal(number) for number in SIGNALS]
    assert ending.run("banksim", lambda: 0) == 0
    assert [signal.getsignal(number) for number in SIGNALS] == before
