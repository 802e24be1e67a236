"""What is refused says which older architecture's code would run."""

from pathlib import Path

import numpy as np
import pytest
from numba import cuda

import banksim
from banksim.errors import BanksimError, UnsupportedError
from banksim.kernels.compilers import assemble, compile_cuda
from banksim.kernels.compilers.numba_arguments import argument_type
from banksim.kernels.compilers.ptx import link
from banksim.kernels.cubin import decode_ahead
from banksim.machine.operations import OPERATIONS
from banksim.runs.resolve import numba_kernel
from helpers.places import KERNELS

REFUSED = KERNELS / "refused.cu"


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_code_of_an_older_architecture_is_named(engine: str) -> None:
    kernel = banksim.load(REFUSED)["either"]
    out = np.zeros(32, np.int32)
    with pytest.raises(
        UnsupportedError, match=r"the memory of several GPUs .* is not simulated .*code for sm_80 .*: --arch sm_80$"
    ):
        banksim.run(kernel, 1, 32, [out], engine=engine)
    banksim.run(kernel, 1, 32, [out], arch="sm_80", engine=engine)
    assert (out == 1).all()


def test_for_a_numba_function_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """An opcode that only the newer code has is taken from the table, as if nobody knew it."""

    @cuda.jit  # type: ignore[untyped-decorator]
    def rotated(out):  # type: ignore[no-untyped-def]
        i = cuda.threadIdx.x
        out[i] = cuda.shfl_sync(0xFFFFFFFF, out[i], (i + 1) % 32)

    kernel, _ = numba_kernel(rotated, (argument_type(np.zeros(32, np.int32)),), "sm_90")
    assert kernel.for_arch is not None
    older = {i.name for i in kernel.for_arch("sm_75").instructions}
    newer = next(i.name for i in kernel.instructions if i.name not in older and i.name in OPERATIONS)
    monkeypatch.delitem(OPERATIONS, newer)
    with pytest.raises(UnsupportedError, match=rf"rotated: instruction {newer} is not known .*: --arch sm_\d+$"):
        banksim.run(rotated, 1, 32, [np.zeros(32, np.int32)], engine="numpy")


def test_where_there_is_none_none_is_named() -> None:
    with pytest.raises(UnsupportedError, match=r"not simulated .*refused\.cu:\d+\)$"):
        banksim.run(banksim.load(REFUSED)["only"], 1, 32, [np.zeros(32, np.int32)])


def test_a_cubin_has_no_other_code(tmp_path: Path) -> None:
    cubin = tmp_path / "refused.cubin"
    cubin.write_bytes(compile_cuda(REFUSED))
    with pytest.raises(UnsupportedError, match=r"not simulated .*refused\.cu:\d+\)$"):
        banksim.run(banksim.load(cubin)["either"], 1, 32, [np.zeros(32, np.int32)])


LAUNCHING = """
.version 9.0
.target sm_90
.address_size 64
.extern .func (.param .b64 made) {call} (.param .b64 function, .param .b64 sizes, .param .b64 shared);
.visible .entry child() {{ ret; }}
.visible .entry parent() {{
    .reg .b64 %r<4>;
    mov.u64 %r1, {kernel};
    mov.u64 %r2, 1;
    {{ .param .b64 a, b, c, made;
      st.param.b64 [a], %r1; st.param.b64 [b], %r2; st.param.b64 [c], %r2;
      call (made), {call}, (a, b, c); }}
    ret;
}}
"""


@pytest.fixture(scope="module")
def launching(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Path]]:
    """By the kernel that is launched: as ptxas makes it, and linked, which names the other kernel in another way."""
    folder = tmp_path_factory.mktemp("launching")
    found: dict[str, list[Path]] = {}
    for kernel in ("child", "parent"):
        text = LAUNCHING.format(kernel=kernel, call="__cuda_syscall_cnpv2GetParameterBufferV2")
        found[kernel] = [folder / f"{kernel}.cubin", folder / f"{kernel}.linked.cubin"]
        for file, made in zip(found[kernel], (assemble(text), link([assemble(text, "sm_90", ["-c"])])), strict=True):
            file.write_bytes(made)
    decode_ahead(file.read_bytes() for files in found.values() for file in files)
    return found


@pytest.mark.parametrize("kernel", ["child", "parent"])
def test_kernels_that_launch_kernels_are_refused_by_name(launching: dict[str, list[Path]], kernel: str) -> None:
    """Another kernel, which lies nowhere in this one's code, and the kernel itself."""
    for file in launching[kernel]:
        with pytest.raises(BanksimError, match=r"\(dynamic parallelism\).* not simulated"):
            banksim.run(banksim.load(file)["parent"], 1, 32, [])
