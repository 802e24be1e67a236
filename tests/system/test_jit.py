"""What banksim has numba compile: no more than a run needs, without a cache too, and not in silence."""

import importlib
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import config

from banksim.errors import InputError
from banksim.system import jit, native_code
from banksim.system.progress import BlocksProgress, ProgressBar, duration, scaled
from helpers.fixtures import Patch, Said
from helpers.places import TRITON

RUN = """
import sys
from banksim.__main__ import main
from banksim.banks.compiled import rule_words
from banksim.machine.llvm import native_symbols
asked = []
for module in (native_symbols, rule_words):
    module.callback = lambda place, name, given=module.callback: (asked.append(name), given(place, name))[1]
rest = "--grid 4,2 --arg float32[64,128] --arg float32[128,64]=random --arg int32=128 --arg int32=64 --json".split()
assert main(["kernel", sys.argv[1], *rest]) == 0
print(*asked)
print(*(name for name in sys.modules if name in ("numba", "numba.core")))
"""


def test_a_kernel_has_only_what_it_calls_compiled_and_once(tmp_path: Path, monkeypatch: Patch) -> None:
    """What is kept is found without numba, which takes longer to import than all the rest."""
    monkeypatch.setenv("BANKSIM_CACHE", str(tmp_path))
    for number in range(2):
        command = [sys.executable, "-c", RUN, str(TRITON / "transpose.cubin")]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        asked, modules = (line.split() for line in done.stdout.splitlines()[-2:])
        assert {"schedule", "leave", "judge_new", "settle"} <= set(asked)
        assert not {"meet", "scatter", "end_collective", "sync_by_mask", "give_way"} & set(asked)
        # GPUs of compute capability 1.x, and copies from global memory, need these:
        assert not {"judge_broadcast", "judge_copy"} & set(asked)
        assert bool(modules) == (number == 0)


def one_more(number: Any) -> Any:
    return number + 1


@jit.inner
def twice(number: Any) -> Any:
    return number + number


def four_times(number: Any) -> Any:
    return twice(twice(number))


def test_machine_code_is_written_for_what_is_called_from_outside_only(monkeypatch: Patch) -> None:
    from numba import cfunc
    from numba.core import types
    from numba.core.codegen import JITCodeLibrary

    written = []
    write = JITCodeLibrary._finalize_specific

    def noted(library: Any) -> None:
        written.append(library.name)
        write(library)

    monkeypatch.setattr(JITCodeLibrary, "_finalize_specific", noted)
    assert cfunc(types.int64(types.int64), **jit.OUTER)(four_times).ctypes(3) == 12
    assert "four_times" in written
    assert "twice" not in written


def test_the_code_of_a_loop_is_optimised_once(monkeypatch: Patch) -> None:
    import llvmlite.binding as llvm
    from numba import cfunc
    from numba.core import types

    runs = []
    for passes in (llvm.ModulePassManager, llvm.FunctionPassManager):
        run = passes.run
        monkeypatch.setattr(passes, "run", lambda *given, run=run: (runs.append(1), run(*given))[1])
    assert cfunc(types.int64(types.int64), **jit.OUTER)(four_times).ctypes(4) == 16
    assert len(runs) == 1


def test_a_function_is_linked_into_the_whole_once_and_into_no_other(monkeypatch: Patch) -> None:
    """However many functions between it and what Python calls call it."""
    import llvmlite.binding as llvm
    from numba import cfunc
    from numba.core import types

    @jit.inner
    def below(number: Any) -> Any:
        return number * 3

    @jit.inner
    def left(number: Any) -> Any:
        return below(number) + 1

    @jit.inner
    def right(number: Any) -> Any:
        return below(number) + left(number)

    def top(number: Any) -> Any:
        return left(number) + right(number)

    linked = []
    link = llvm.ModuleRef.link_in

    def noted(module: Any, other: Any, preserve: bool = False) -> None:
        if preserve:
            linked.append((module.name, other.name))
        link(module, other, preserve)

    monkeypatch.setattr(llvm.ModuleRef, "link_in", noted)
    assert cfunc(types.int64(types.int64), **jit.OUTER)(top).ctypes(2) == (2 * 3 + 1) * 2 + 2 * 3
    assert len({whole for whole, _ in linked}) == 1
    parts = [name.rpartition(".")[2] for _, name in linked if ".<locals>." in name]
    assert sorted(parts) == ["below", "left", "right"]


def test_no_function_of_the_scheduler_is_compiled_twice() -> None:
    """Neither for callers with other flags nor for integers of other widths."""
    program = """
from banksim.system import compiler, jit
jit.kept = lambda function, compiled: compiled()  # not from the cache
compiled = []
extra = compiler.Passes.compile_extra
compiler.Passes.compile_extra = lambda passes, function: compiled.append(function.__name__) or extra(passes, function)
from banksim.machine.llvm.scheduler import schedule
assert schedule.address
print(*compiled)
"""
    compiled = subprocess.check_output([sys.executable, "-c", program], text=True).split()
    assert {"schedule", "release", "remove", "waits_at_bsync"} <= set(compiled)
    assert len(compiled) == len(set(compiled))


def test_code_that_was_kept_is_loaded_without_all_that_numba_knows() -> None:
    """Numba's `refresh` registers that, and takes longer than loading the code."""
    program = """
import sys
from numba.core.base import BaseContext
refreshed = []
refresh = BaseContext.refresh
BaseContext.refresh = lambda context: refreshed.append(refresh(context))
from banksim.machine.llvm.request_counts import settle
assert settle.address
print(len(refreshed))
"""
    counts = [int(subprocess.check_output([sys.executable, "-c", program])) for _ in range(2)]
    assert counts[1] == 0


def test_where_no_code_can_be_kept_it_is_compiled_and_said_once(monkeypatch: Patch, capfd: Said) -> None:
    from numba.core import caching, types

    monkeypatch.setattr(caching.CacheImpl, "_locator_classes", [])
    monkeypatch.delenv("NUMBA_CACHE_LOCATOR_CLASSES", raising=False)
    jit.tell_once.cache_clear()
    assert jit.outer(one_more)(2) == 3
    assert jit.callback(types.int64(types.int64))(one_more).address
    said = capfd.readouterr().err
    assert said.count("\n") == 1
    assert "every run compiles anew" in said


@pytest.mark.skipif(os.name != "posix", reason="folders below a file of POSIX")
def test_a_user_without_a_home_can_run() -> None:
    """Below a device not even root can make a folder."""
    env = {name: value for name, value in os.environ.items() if name not in ("BANKSIM_CACHE", "XDG_CACHE_HOME")}
    env |= {"HOME": f"{os.devnull}/home", "NUMBA_CACHE_DIR": f"{os.devnull}/cache"}
    subprocess.run([sys.executable, "-c", RUN, str(TRITON / "transpose.cubin")], env=env, check=True)


TABLE = np.arange(1 << 20)
"""Of more bytes than numba writes into code: it writes the address instead."""


def from_table(number: Any) -> Any:
    return TABLE[number]


def test_code_that_names_addresses_of_this_process_is_not_kept() -> None:
    from numba import types
    from numba.core.errors import NumbaWarning

    function = jit.callback(types.int64(types.int64))(from_table)
    with pytest.warns(NumbaWarning, match="dynamic globals"):
        assert function.made.ctypes(77) == 77
    assert function.code is None


@pytest.fixture
def kept(monkeypatch: Patch, tmp_path: Path) -> tuple[jit.KeptCode, Any, Any]:
    """numba's cache with the code of a function, with what it is found by."""
    from numba import types
    from numba.core import config

    monkeypatch.setattr(config, "CACHE_DIR", str(tmp_path))
    function = jit.callback(types.int64(types.int64))(one_more).made
    return function._cache, function._sig, function._targetdescr.target_context


def test_numbas_cache_can_be_turned_off(kept: tuple[jit.KeptCode, Any, Any]) -> None:
    cache, *place = kept
    assert cache.load_overload(*place) is not None
    cache.disable()  # type: ignore[no-untyped-call]
    assert cache.load_overload(*place) is None


def test_records_of_another_numba_are_left_to_numba(kept: tuple[jit.KeptCode, Any, Any], monkeypatch: Patch) -> None:
    cache, *place = kept
    cache.load_overload(*place)
    assert cache.code
    rebuilt: list[Any] = []
    monkeypatch.setattr(cache._impl, "rebuild", lambda context, data: rebuilt.append(data) or data)
    layouts = [(), ("one",), (("name", "object"),), (("name", "bitcode", (b"code",)),), {"library": b"code"}]
    for data in layouts:
        monkeypatch.setattr(cache._cache_file, "load", lambda key, data=data: data)
        cache.load_overload(*place)
        assert cache.code is None
    assert rebuilt == layouts


def test_compiling_is_told_on_a_terminal(monkeypatch: Patch, capfd: Said) -> None:
    from numba import njit
    from numba.core import event

    monkeypatch.setattr("banksim.system.progress.AFTER", 0)
    monkeypatch.setattr("banksim.system.progress.EVERY", 0)
    told = jit.Told()
    event.register(jit.COMPILE, told)  # type: ignore[no-untyped-call]
    try:

        def mine(number: Any) -> Any:
            return number + 1

        mine.__module__ = "banksim.test"
        njit(mine)(2)
        mine.__module__ = "users"
        njit(mine)(2)
    finally:
        event.unregister(jit.COMPILE, told)  # type: ignore[no-untyped-call]
    said = capfd.readouterr().err
    assert said == "\rcompiling banksim's own loops for this machine, once: 1 functions\x1b[K\r\x1b[K"


def test_progress_has_a_speed_and_a_rest() -> None:
    progress = ProgressBar("requests", 200_000_000)
    progress.done = 50_000_000
    assert progress.text(4.0).endswith("50,000,000 of 200,000,000 requests, 12.5 M/s, 12 s left")
    slow = BlocksProgress(40)
    slow.done, slow.instructions = 1, 52_000
    assert slow.text(10.0).endswith("1 of 40 blocks, 52.0 k thread instructions, 5.20 k/s, 6 min 30 s left")
    slow.done = 0
    assert slow.text(10.0).endswith("0 of 40 blocks, 52.0 k thread instructions, 5.20 k/s")
    endless = ProgressBar("lines")
    endless.done = 7
    assert endless.text(10.0) == "7 lines, 0.7/s"


def test_numbers_are_scaled() -> None:
    assert [scaled(n) for n in (0, 0.5, 12, 999.6, 1250, 47_300, 1e6, 999_950_000, 2.5e9, 1.23e13)] == [
        *("0", "0.5", "12", "1.00 k", "1.25 k", "47.3 k", "1.00 M", "1.00 G", "2.50 G", "12,300 G")
    ]
    assert [duration(s) for s in (0.2, 45, 200, 7500)] == ["1 s", "45 s", "3 min 20 s", "2 h 5 min"]


def test_code_of_another_version_of_the_package_is_not_taken(monkeypatch: Patch, tmp_path: Path) -> None:
    """A function holds code of functions of other files, which numba does not look at."""
    from numba.core.caching import FunctionCache

    from banksim.banks.compiled import site_sums

    function = site_sums._tally.py_func
    locator = FunctionCache(function)._impl.locator
    assert isinstance(locator, jit.OfOneVersion)
    before = locator.get_source_stamp()
    copied = tmp_path / "banksim"
    shutil.copytree(native_code.PACKAGE, copied, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(native_code, "PACKAGE", copied)
    native_code.sources_of_loops.cache_clear()
    assert locator.get_source_stamp() == before
    (copied / "banks" / "compiled" / "one_request.py").write_text("")  # not the function's own file
    native_code.sources_of_loops.cache_clear()
    assert locator.get_source_stamp() != before
    assert jit.OfOneVersion.from_function(one_more, __file__) is None
    native_code.sources_of_loops.cache_clear()


def test_without_compiled_code_it_is_said_what_is_switched_off(monkeypatch: Patch) -> None:
    monkeypatch.setattr(config, "DISABLE_JIT", 1)
    with pytest.raises(InputError, match="unset it"):
        importlib.reload(jit)


def test_code_of_another_process_s_types_is_not_taken(tmp_path: Path) -> None:
    """Two processes that compile one function at once may write the index of one and the code of the other."""
    source = "from banksim.system.jit import outer\n@outer\ndef twice(number):\n    return number + number\n"
    (tmp_path / "loop.py").write_text(source)
    for call, printed in (("twice(3), loop.twice(0.25)", "6 0.5\n"), ("twice(0.25), loop.twice(3)", "0.5 6\n")):
        command = [sys.executable, "-c", f"import loop; print(loop.{call})"]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert done.stdout == printed
        one, other = sorted(tmp_path.rglob("loop.twice-*.nbc"))
        kept = one.read_bytes()
        one.write_bytes(other.read_bytes())
        other.write_bytes(kept)
