"""The collector of garbage waits while a kernel is translated, and goes on behind it."""

import gc
from pathlib import Path
from typing import Any

import pytest

import banksim
from banksim.errors import UnsupportedError
from banksim.machine.llvm import compile
from banksim.system import jit
from banksim.system.collector import paused
from helpers.places import TRITON


def test_it_goes_on_as_before() -> None:
    assert gc.isenabled()
    with paused():
        assert not gc.isenabled()
        with paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_goes_on_behind_an_error() -> None:
    with pytest.raises(UnsupportedError), paused():
        raise UnsupportedError("unknown")
    assert gc.isenabled()


def test_it_waits_while_a_kernel_is_made(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("BANKSIM_CACHE", str(tmp_path))
    kernel = banksim.load(TRITON / "transpose.cubin")["transpose"]
    seen = []

    def make() -> compile.Built:
        seen.append(gc.isenabled())
        return compile.build(kernel, traced=False, stepwise=False, watched=False, clustered=False)

    compile.loaded(kernel, "as this test asks", make)
    assert seen == [False]
    assert gc.isenabled()


def test_it_waits_while_a_loop_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    from numba.core import types

    from banksim.system import compiler

    seen = []
    run_pass = compiler.Read.run_pass

    def noted(one: Any, state: Any) -> bool:
        seen.append(gc.isenabled())
        return bool(run_pass(one, state))

    def one_more(number: Any) -> Any:
        return number + 1

    monkeypatch.setattr(compiler.Read, "run_pass", noted)
    monkeypatch.setattr(jit, "trusted", lambda *_: False)  # it is not kept
    assert jit.callback(types.int64(types.int64))(one_more).address
    assert jit.outer(one_more)(2) == 3
    assert seen == [False, False]
    assert gc.isenabled()
