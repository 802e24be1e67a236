"""Kernels that are written for tiles (cuTile), shown by what marks them; tests/languages has real ones."""

from dataclasses import replace
from pathlib import Path

import pytest

from banksim.errors import UnsupportedError
from banksim.kernels.compilers import assemble
from banksim.kernels.cubin import decode
from banksim.kernels.demangling import plain_name
from banksim.kernels.kernel import Kernel
from banksim.machine.launch import prepare
from banksim.runs.programs.executable import calls_driver
from banksim.runs.programs.standins import LibraryFunctions
from helpers.places import written_to

PTX = """
.version 8.0
.target sm_90
.address_size 64
.visible .entry tiles() .reqntid 64 { ret; }
"""


@pytest.fixture(scope="module")
def kernel() -> Kernel:
    found = decode(assemble(PTX))["tiles"]
    return replace(found, cubin=found.cubin + b"\0.nv.host\0")


def test_their_block_is_their_own(kernel: Kernel) -> None:
    assert kernel.of_tiles
    assert prepare(kernel, 2, (1, 1, 1), [], []).block == (64, 1, 1)
    assert prepare(kernel, 2, None, [], []).block == (64, 1, 1)


def test_tensor_maps_of_the_driver_are_refused_by_name(kernel: Kernel) -> None:
    copy = replace(kernel.instructions[0], name="UTMALDG")
    with pytest.raises(UnsupportedError, match=r"^tiles: on sm_90 it copies by tensor maps .* allow_tma=False"):
        prepare(replace(kernel, instructions=(copy, *kernel.instructions)), 2, None, [], [])


def test_their_names() -> None:
    assert plain_name("transpose_Kt1_A2f32_1v4l0_2t1_3i16_p16_A2f32_1v4l0_2t1_3i16_p16_I32") == "transpose"
    assert plain_name("transpose_Kite") == "transpose_Kite"


@pytest.mark.parametrize(
    ("text", "calls"),
    [("import cuda.tile as ct", True), ("def f():\n    from cuda import tile", True),
     ("from cuda.tile import kernel", True), ("# import cuda.tile", False), ("import cuda.tiles", False),
     ("from numba import cuda", False), ("import triton.language as tl", False),
     ("from cuda.bindings import driver", True), ("from cuda.core import Device", True),
     ("cuda = ctypes.CDLL('libcuda.so.1')", True)],
)  # fmt: skip
def test_programs_that_call_the_driver(text: str, calls: bool, tmp_path: Path) -> None:
    assert calls_driver(str(written_to(tmp_path / "program.py", text))) is calls
    assert not calls_driver(str(tmp_path / "none.py"))


def test_functions_are_found_by_their_newest_names(tmp_path: Path) -> None:
    """As cuTile asks for them, where cuda.h gives a function another name."""
    (tmp_path / "cuda.h").write_text(
        "#define cuGraphInstantiate cuGraphInstantiateWithFlags\nCUresult CUDAAPI cuGraphInstantiate(CUgraph graph);\n"
    )
    assert "cuGraphInstantiateWithFlags" in LibraryFunctions.of_driver(tmp_path).versions
