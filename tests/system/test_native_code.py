"""Object code that is kept: what can be called is, and what needs more than this process has is not even linked."""

import ctypes
import importlib
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import llvmlite.binding as llvm
import pytest

from banksim.banks.compiled.rule_words import HERE
from banksim.machine.llvm import native_symbols
from banksim.system import native_code

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="objects are kept where they are ELF files")


def compiled(text: str) -> bytes:
    native_code.prepare_llvm()
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_process_triple()
    return bytes(native_code.target_machine().emit_object(module))


@LINUX
def test_a_function_is_called_by_its_address() -> None:
    code = compiled("""
        declare i32 @abs(i32)
        declare void @numba_of_errors()
        declare void @PyErr_Clear()
        define i32 @cfunc.f(i32 %x) {
            %wrong = icmp eq i32 %x, 12345
            br i1 %wrong, label %error, label %plain
        error:
            call void @numba_of_errors()
            call void @PyErr_Clear()
            ret i32 0
        plain:
            %y = call i32 @abs(i32 %x)
            ret i32 %y
        }""")
    names = dict(native_code.symbols(code))
    assert names[b"cfunc.f"]
    assert not names[b"abs"]
    found = native_code.loaded(code)
    assert found
    assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(found.address)(-7) == 7


@LINUX
def test_code_that_cannot_be_linked_is_not_taken() -> None:
    """LLVM would end the process."""
    lacking = "declare void @nobody_has_this()\ndefine void @cfunc.f() { call void @nobody_has_this()\n ret void }"
    nothing = "define void @other() { ret void }"
    for text in (lacking, nothing):
        assert native_code.loaded(compiled(text)) is None


RAISES = """
    @.const.picklebuf.12ab = internal constant i8 5
    declare void @numba_do_raise(ptr)
    define void @cfunc.f() {
        call void @numba_do_raise(ptr @.const.picklebuf.12ab)
        ret void
    }"""
RETURNS = "define void @cfunc.f() { ret void }"


@LINUX
def test_code_that_raises_an_error_is_neither_kept_nor_taken(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What stands in for numba's functions ends the process."""
    monkeypatch.setenv("BANKSIM_CACHE", str(tmp_path / "cache"))
    found = []
    for text in (RAISES, RETURNS):
        code = compiled(text)
        monkeypatch.setitem(sys.modules, "loops_of_a_test", SimpleNamespace(f=SimpleNamespace(address=1, code=code)))
        native_code.found_or_made("loops_of_a_test", "f")
        kept = [one for one in tmp_path.rglob("*") if one.is_file()]
        found.append((native_code.loaded(code) is not None, len(kept)))
    assert found == [(False, 0), (True, 1)]


@LINUX
@pytest.mark.parametrize(
    ("name", "module"), [*native_symbols.MODULES.items(), ("judge_broadcast", HERE), ("judge_copy", HERE)]
)
def test_no_loop_raises_an_error(name: str, module: str) -> None:
    code = getattr(importlib.import_module(module), name).code
    assert code
    assert not native_code.raises(native_code.symbols(code))


@LINUX
def test_what_numba_writes_for_an_error_is_known() -> None:
    from numba import types

    from banksim.system.jit import Callback

    def refuse(number: int) -> int:
        if number > 5:
            raise ValueError("more than five")
        return number

    def take(number: int) -> int:
        return number + 1

    signature = types.int64(types.int64)
    codes = [Callback(signature, function).code for function in (refuse, take)]
    assert [native_code.raises(native_code.symbols(code or b"")) for code in codes] == [True, False]


@LINUX
def test_numba_finds_its_own_functions_when_it_comes_later(tmp_path: Path) -> None:
    """What stands in for those that its code for errors needs is for the loops alone."""
    program = """
import sys
from banksim.machine.llvm.native_symbols import address
address("settle")
print("numba" in sys.modules)
from numba import njit
@njit
def root(x):
    if x < 0:
        raise ValueError("negative", x)
    return x ** 0.5
try:
    root(-2.0)
except ValueError as error:
    print(error.args)
"""
    environment = {**os.environ, "BANKSIM_CACHE": str(tmp_path)}
    command = [sys.executable, "-c", program]
    told = [subprocess.check_output(command, env=environment, text=True).split("\n")[:2] for _ in range(2)]
    assert told == [["True", "('negative', -2.0)"], ["False", "('negative', -2.0)"]]


def test_what_is_no_object_has_no_symbols() -> None:
    assert native_code.symbols(b"") == []
    assert native_code.symbols(b"MZ" + bytes(1000)) == []


def test_what_is_kept_is_of_one_version(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BANKSIM_CACHE", str(tmp_path))
    find = native_code.found_or_made
    place = native_symbols.MODULES["settle"], "settle"
    addresses = [find(*place).address for _ in range(2)]
    kept = [one for one in tmp_path.rglob("*") if one.is_file()]
    assert len(kept) == (sys.platform == "linux")
    assert (addresses[0] != addresses[1]) == bool(kept), "the second was not linked from what is kept"
    monkeypatch.setattr(native_code, "version_of_loops", lambda: "another")
    assert find(*place).address == addresses[0]


def test_what_is_kept_is_of_one_numba_and_its_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    before = native_code.version_of_loops()
    for harmless in ("NUMBA_CACHE_DIR", "NUMBA_NUM_THREADS", "NUMBA_ENABLE_CUDASIM", "NUMBA_CUDA_DRIVER"):
        monkeypatch.setenv(harmless, "1")
    found = [native_code.version_of_loops()]
    assert found == [before]
    for name, value in (("BOUNDSCHECK", "1"), ("CPU_NAME", "generic"), ("CPU_NAME", "nocona"), ("DEBUGINFO", "1")):
        monkeypatch.setenv(f"NUMBA_{name}", value)
        found.append(native_code.version_of_loops())
    for text in ("opt: 1", "opt: 2"):
        (tmp_path / ".numba_config.yaml").write_text(text)
        found.append(native_code.version_of_loops())
    package = tmp_path / "numba" / "__init__.py"
    package.parent.mkdir()
    monkeypatch.setattr(native_code, "find_spec", lambda name: SimpleNamespace(origin=str(package)))
    try:
        for version in ("0.68.0", "0.68.1"):
            (package.parent / "_version.py").write_text(version)
            native_code.compilers.cache_clear()
            found.append(native_code.version_of_loops())
    finally:
        native_code.compilers.cache_clear()
    assert len(set(found)) == len(found)


def test_the_version_of_numba_is_found_without_importing_it() -> None:
    program = """
import sys
import banksim.commands.kernel, banksim.runs.loaded_module
from banksim.system import native_code
print(native_code.compilers())
print(*(name for name in sys.modules if name in ("numba", "importlib.metadata")))
"""
    said = subprocess.check_output([sys.executable, "-c", program], text=True).splitlines()
    assert said == [native_code.compilers(), ""]


def test_threads_that_ask_at_once_are_given_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """The code of another would be gone with it, while a thread goes on with its address."""
    monkeypatch.setattr(native_code, "CALLBACKS", {})
    asked, both = [], threading.Barrier(2)

    def slow(module: str, name: str) -> native_code.Found:
        asked.append(name)
        time.sleep(0.2)
        return native_code.Found(len(asked), object())

    monkeypatch.setattr(native_code, "found_or_made", slow)

    def ask(_: int) -> native_code.Found:
        both.wait()
        return native_code.callback("m", "f")

    with ThreadPoolExecutor(2) as threads:
        one, other = threads.map(ask, range(2))
    assert one is other
    assert asked == ["f"]
