"""What is refused says which older architecture's code would run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import banksim
from banksim.errors import UnsupportedError
from banksim.kernels.compilers import compile_cuda

CLUSTERS = Path(__file__).parent / "kernels" / "clusters.cu"


@pytest.mark.parametrize("engine", ["llvm", "numpy"])
def test_code_of_an_older_architecture_is_named(engine: str) -> None:
    kernel = banksim.load(CLUSTERS)["either"]
    out = np.zeros(32, np.int32)
    with pytest.raises(
        UnsupportedError, match=r"a cluster of blocks is not simulated .*code for sm_80 .*: --arch sm_80$"
    ):
        banksim.run(kernel, 1, 32, [out], engine=engine)
    banksim.run(kernel, 1, 32, [out], arch="sm_80", engine=engine)
    assert (out == 1).all()


def test_where_there_is_none_none_is_named() -> None:
    with pytest.raises(UnsupportedError, match=r"not simulated .*clusters\.cu:\d+\)$"):
        banksim.run(banksim.load(CLUSTERS)["only"], 1, 32, [np.zeros(32, np.int32)])


def test_a_cubin_has_no_other_code(tmp_path: Path) -> None:
    cubin = tmp_path / "clusters.cubin"
    cubin.write_bytes(compile_cuda(CLUSTERS))
    with pytest.raises(UnsupportedError, match=r"not simulated .*clusters\.cu:\d+\)$"):
        banksim.run(banksim.load(cubin)["either"], 1, 32, [np.zeros(32, np.int32)])
