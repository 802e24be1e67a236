"""Runs a Python program as Python itself does: its own `__main__`, `sys.argv` and `sys.path[0]`, its exit status."""

import ast
import importlib.util
import os
import runpy
import sys
import threading
import traceback
import weakref
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType, TracebackType

from banksim.errors import BanksimError, InputError
from banksim.kernels.load import SOURCES
from banksim.system import ending

EXECUTABLE = (b"\x7fELF", b"MZ", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
"""The first bytes of executables of Linux, Windows and macOS."""
LAUNCHING = ("numba", "numba.cuda", "torch", "triton", "warp")
"""The packages that stand between a program's launch and banksim."""
HERE = str(Path(__file__).parents[2])


@dataclass(frozen=True)
class Ended:
    """How a program ended: its exit status; `error` if banksim could not go on with it."""

    status: int
    error: str | None = None


def run_file(path: str, words: Sequence[str]) -> Ended:
    """Run a Python file (`-`: standard input) with arguments. InputError if it is not there, or not Python."""
    source = sys.stdin.buffer.read() if path == "-" else read(path)
    whole = "<stdin>" if path == "-" else os.path.abspath(path)
    main = ModuleType("__main__")
    main.__dict__.update(__file__=whole, __builtins__=__builtins__, __cached__=None)

    def execute() -> None:
        code: CodeType = compile(source, whole, "exec", dont_inherit=True)
        exec(code, main.__dict__)

    with as_main([path, *words], "" if path == "-" else os.path.dirname(os.path.realpath(path)), main):
        return ended(execute)


def read(path: str) -> bytes:
    """The text of a Python file; empty for standard input. InputError if there is no such file, or it is not Python."""
    if not path:
        raise InputError("an empty name: give a Python file, or -m with a module")
    if os.path.isdir(path):
        raise InputError(f"{path} is a folder: give a Python file, or -m with a module")
    try:
        source = b"" if path == "-" else Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    require_python(path, source)
    return source


def require_module(name: str) -> None:
    """InputError if there is no such module, or no such package around it. Nothing is imported to find out."""
    package, _, inside = name.partition(".")
    with as_main([name], os.getcwd(), sys.modules["__main__"]):
        try:
            found = importlib.util.find_spec(package)
        except (ImportError, ValueError) as error:
            raise InputError(f"-m {name}: {error}") from error
    if found is None:
        raise InputError(f"-m {name}: " + (f"No module named {package!r}" if inside else "no such module"))


def require_python(path: str, source: bytes) -> None:
    """InputError for a file that is clearly not Python, with what to do with it. An error inside a Python file is left
    to Python, which shows it."""
    suffix = Path(path).suffix.lower()
    if suffix in (*SOURCES, ".ptx", ".cubin", ".fatbin"):
        raise InputError(f"{path} is no Python program: banksim kernel {path}:NAME executes a kernel of it")
    shebang = source.partition(b"\n")[0] if source.startswith(b"#!") else b"python"
    if source.startswith(EXECUTABLE[0]) or (b"python" not in shebang and not os.access(path, os.X_OK)):
        raise InputError(f"{path} is a program, and its mode does not let it be executed: chmod +x {path}")
    if source.startswith(EXECUTABLE):
        raise InputError(f"{path} is a program for another operating system: banksim run runs those of Linux")
    if b"\0" in source:
        raise InputError(f"{path} is no Python program: it is no text")
    if suffix not in ("", ".py", ".pyw"):
        try:
            ast.parse(source)
        except SyntaxError as error:
            raise InputError(f"{path} is no Python program: line {error.lineno}: {error.msg}") from None


def run_module(name: str, words: Sequence[str]) -> Ended:
    """Run a module, or a package's `__main__`, as `python -m` does. InputError if there is none."""
    with as_main([name, *words], os.getcwd(), sys.modules["__main__"]):
        try:
            found = importlib.util.find_spec(name)
        except (ImportError, ValueError) as error:
            raise InputError(f"-m {name}: {error}") from error
        if found is None:
            raise InputError(f"-m {name}: no such module")
        return ended(lambda: runpy.run_module(name, run_name="__main__", alter_sys=True))


@contextmanager
def as_main(argv: list[str], folder: str, main: ModuleType) -> Iterator[None]:
    """Within, `sys` is as the program expects it; afterwards as before. Modules that it imported stay."""
    before = sys.argv, sys.path[:], sys.modules["__main__"]
    sys.argv, sys.modules["__main__"] = argv, main
    if not sys.flags.safe_path:
        started_from = {"", os.getcwd(), os.path.dirname(os.path.realpath(before[0][0] or "."))}
        if sys.path and sys.path[0] in started_from:  # what Python put there for banksim
            del sys.path[0]
        sys.path.insert(0, folder)
    try:
        yield
    finally:
        sys.argv, sys.path[:], sys.modules["__main__"] = before


def ended(execute: Callable[[], object]) -> Ended:
    """Run a program until it and its threads have ended. An uncaught exception's traceback goes to standard error."""
    others = set(threading.enumerate())
    try:
        try:
            execute()
        finally:
            wait_for_threads(others)
    except SystemExit as leaving:
        return Ended(status_of(leaving.code))
    except BanksimError as error:
        return Ended(2, " ".join(filter(None, (place(error.__traceback__), str(error)))))
    except KeyboardInterrupt as error:
        show(error)
        return Ended(ending.interrupted())
    except BaseException as error:
        show(error)
        return Ended(1)
    return Ended(0)


def wait_for_threads(others: set[threading.Thread]) -> None:
    """Wait as Python does before it ends: pools of threads finish their work, other threads run to their end."""
    for thread in threading.enumerate():
        if thread in others or thread.daemon or thread.name.startswith(ending.OWN_THREADS):
            continue
        pool = next((place() for place in getattr(thread, "_args", ()) if isinstance(place, weakref.ref)), None)
        if isinstance(pool, Executor):
            pool.shutdown()
        thread.join()


def status_of(code: object) -> int:
    """The exit status that sys.exit(code) gives a process; a text is printed."""
    if code is None:
        return 0
    if isinstance(code, int):
        return code & 0xFF
    print(code, file=sys.stderr)
    return 1


def show(error: BaseException) -> None:
    """The traceback, from the program's first frame to the last that is not banksim's."""
    sys.stdout.flush()
    own = error.with_traceback(own_frames(error.__traceback__))
    last = frame = own.__traceback__
    while frame is not None:
        last = last if belongs_to_banksim(frame.tb_frame.f_code.co_filename) else frame
        frame = frame.tb_next
    if last is not None:
        last.tb_next = None
    plain = sys.excepthook is sys.__excepthook__  # in Python 3.11 it finds lines only in files, not in notebooks
    (traceback.print_exception if plain else sys.excepthook)(type(own), own, own.__traceback__)


def own_frames(trace: TracebackType | None) -> TracebackType | None:
    """The frames from the program's first one on; None for a program that could not even be compiled."""
    while trace is not None and belongs_to_banksim(trace.tb_frame.f_code.co_filename):
        trace = trace.tb_next
    return trace


def belongs_to_banksim(file: str) -> bool:
    return file.startswith((HERE, "<frozen runpy>")) or file == runpy.__file__


def place(trace: TracebackType | None) -> str:
    """The program's line that led to an error in banksim or in packages that launch kernels, as `program.py:12:`."""
    files = (getattr(sys.modules.get(name), "__file__", None) for name in LAUNCHING)
    packages = tuple(os.path.join(os.path.dirname(file), "") for file in files if file)
    frames = [f for f in traceback.extract_tb(own_frames(trace)) if not belongs_to_banksim(f.filename)]
    own = [f for f in frames if not f.filename.startswith((*packages, "<frozen importlib"))]
    return f"{own[-1].filename}:{own[-1].lineno}:" if own else ""
