"""Modules of Numba kernels: variables that callbacks of linked code set, and that live from launch to launch."""

import gc
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from cuda.bindings.driver import cuLibraryGetGlobal, cuMemcpyDtoH, cuMemcpyHtoD
from cuda.core import ObjectCode
from numba import cuda

import banksim
from banksim.__main__ import main
from banksim.architectures.bank_rules import architectures
from banksim.errors import InputError
from banksim.runs.programs.kernel_launches import KernelLaunches, Shape
from banksim.runs.programs.numba_hooks import simulated
from helpers.commands import out_of
from helpers.places import KERNELS

SOURCE = """
__device__ int num = 7;
__constant__ int fixed = 1;
extern "C" __device__ int next(int &result) { result = num++ * fixed; return 0; }
"""


class Callbacks:
    """Linked code whose `num` becomes 42, and `fixed` 2, once it is loaded."""

    def __init__(self) -> None:
        self.loaded: list[Any] = []
        self.gone: list[Any] = []
        self.code = cuda.CUSource(SOURCE, setup_callback=self.setup, teardown_callback=self.gone.append)

    def setup(self, code: Any) -> None:
        assert isinstance(code, ObjectCode)
        self.loaded.append(code.handle)
        for name, value in (b"num", 42), (b"fixed", 2):
            _, place, size = cuLibraryGetGlobal(code.handle, name)
            before = np.zeros(1, np.int32)
            cuMemcpyDtoH(before.ctypes.data, place, size)
            assert before[0] == (7 if name == b"num" else 1)
            cuMemcpyHtoD(place, np.array([value], np.int32).ctypes.data, size)


def kernel_of(linked: Callbacks, declared: bool) -> Any:
    function = cuda.declare_device("next", "int32()", link=[linked.code] if declared else [])

    @cuda.jit(link=[] if declared else [linked.code])
    def call(out: Any) -> None:
        out[0] = function()

    return call


@pytest.mark.parametrize("declared", [True, False], ids=["declared device function", "option of the kernel"])
@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_a_launch_finds_what_callbacks_set(engine: str, declared: bool) -> None:
    linked = Callbacks()
    call, out = kernel_of(linked, declared), np.zeros(1, np.int32)
    for _ in range(2):
        banksim.run(call, 1, 1, [out], engine=engine)
        assert out[0] == 84, "every run begins with the module as it was loaded"
    assert len(linked.loaded) == 1
    assert not linked.gone
    del call
    gc.collect()
    assert len(linked.gone) == 1


def test_variables_of_a_program_live_from_launch_to_launch() -> None:
    linked = Callbacks()
    found = []
    with simulated(architectures("sm_90")), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call, out = kernel_of(linked, True), np.zeros(1, np.int32)
        assert not linked.loaded
        for _ in range(3):
            call[1, 1](out)
            found.append(int(out[0]))
        other = np.zeros(1, np.int64)
        call[1, 1](other)
    assert found == [84, 86, 88]
    assert other[0] == 84, "another signature is another module"
    assert len(set(linked.loaded)) == 2


def test_an_unknown_variable_is_named() -> None:
    code = cuda.CUSource(SOURCE, setup_callback=lambda code: cuLibraryGetGlobal(code.handle, b"nun"))
    linked = Callbacks()
    linked.code = code
    with pytest.raises(InputError, match=r"no variable 'nun': it has .*fixed.*num"):
        banksim.run(kernel_of(linked, True), 1, 1, [np.zeros(1, np.int32)])


def test_more_than_48_kib_of_shared_memory() -> None:
    """A launch needs what numba-cuda never calls. A note says so where no program launches: one without it fails."""

    @cuda.jit
    def far(out: Any) -> None:
        s = cuda.shared.array(0, np.float32)
        s[out.size] = 1
        out[0] = s[out.size]

    out = np.zeros(12_000, np.float32)
    assert banksim.run(far, 1, 1, [out], dynamic_shared=49152).notes == ()
    asks = banksim.run(far, 1, 1, [out], dynamic_shared=49153)
    (note,) = asks.notes
    assert "cudaFuncSetAttribute(…, cudaFuncAttributeMaxDynamicSharedMemorySize, 49153)" in note
    of_program = KernelLaunches("far", (), asks.judged)
    of_program.add(asks, Shape((1, 1, 1), (1, 1, 1), 49153))
    assert of_program.notes == ()
    with simulated(architectures("sm_90")), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        far[1, 1, 0, 49152](out)
        with pytest.raises(InputError, match="CUDA_ERROR_INVALID_VALUE on a GPU"):
            far[1, 1, 0, 49153](out)


def test_every_report_tells_what_the_host_has_to_ask_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    launch = ["kernel", f"{KERNELS}/arguments.cu:grown", "--block", "32", "--arg", "float32[32]"]
    shown = " ".join(out_of(capsys, [*launch, "--dynamic-shared", "60000", "--html", str(page)]).split())
    assert "cudaFuncAttributeMaxDynamicSharedMemorySize, 60000" in shown
    assert "cudaFuncAttributeMaxDynamicSharedMemorySize, 60000" in page.read_text()
    assert main([*launch, "--dynamic-shared", "60000", "--json"]) == 0
    assert "MaxDynamicSharedMemorySize, 60000" in json.loads(capsys.readouterr().out)["notes"][0]
    assert json.loads(out_of(capsys, [*launch, "--dynamic-shared", "40000", "--json"]))["notes"] == []
