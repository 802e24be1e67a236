"""What banksim promises: its public names, and the examples in the docstrings of its functions."""

import doctest
import importlib
from pathlib import Path

import pytest

import banksim
from banksim.runs.outcome import Run
from helpers.fixtures import Patch

pytestmark = pytest.mark.usefixtures("by_nvrtc")

PROMISED = {
    "banksim": """Architecture BanksimError Conflicts Layout Range Site Struct Trace absent architecture block_cycles
        errors explain ideal layout layout_pattern load nsight_ideal pattern replay run tensor_map transactions""",
    "banksim.errors": "BanksimError CompileError Fault InputError UnknownCountError UnsupportedError",
    "banksim.testing": "assert_conflict_free",
    "banksim.storage": "open_trace write_trace",
    "banksim.report": "text",
    "banksim.distributed": "replay run",
    "banksim.kernels.compilers": "assemble compile_cuda compile_numba link",
}
"""Names that programs of others may use; all else may move."""
EXAMPLES = {
    "transactions": "banks.replay", "ideal": "banks.replay", "nsight_ideal": "banks.replay", "explain": "banks.replay",
    "replay": "banks.pieces", "pattern": "patterns", "layout": "layouts.build", "layout_pattern": "layouts.build",
    "Layout": "layouts.algebra", "Struct": "machine.structs", "Trace.from_arrays": "requests.trace",
    "load": "kernels.load", "run": "runs.run", "absent": "machine.host_memory", "block_cycles": "timing.block_cycles",
    "tensor_map": "machine.tensor_maps",
}  # fmt: skip
TRANSPOSE = """__global__ void transpose(float *out, const float *in) {
    __shared__ float tile[32][32];
    tile[threadIdx.y][threadIdx.x] = in[32 * threadIdx.y + threadIdx.x];
    __syncthreads();
    out[32 * threadIdx.y + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}
"""


@pytest.mark.parametrize("module", PROMISED)
def test_names_that_are_promised_are_there(module: str) -> None:
    found = importlib.import_module(module)
    missing = [name for name in PROMISED[module].split() if not hasattr(found, name)]
    assert not missing


def test_banksim_promises_these_names_and_no_others() -> None:
    assert sorted(banksim.__all__) == sorted(PROMISED["banksim"].split())
    assert set(banksim.__all__) <= set(dir(banksim))
    assert all(getattr(banksim, name).__doc__ for name in banksim.__all__)


METHODS = {
    "Run": "report html to_pandas conflicts judged instructions",
    "Conflicts": "report html to_pandas to_json sites transactions",
}


@pytest.mark.parametrize("name", METHODS)
def test_methods_that_are_promised_are_there_and_told_of(name: str) -> None:
    kind = {"Run": Run, "Conflicts": banksim.Conflicts}[name]
    for method in METHODS[name].split():
        assert method in kind.__annotations__ or hasattr(kind, method)
    for method in ("report", "html", "to_pandas"):
        assert getattr(kind, method).__doc__


@pytest.mark.parametrize(("name", "module"), EXAMPLES.items(), ids=list(EXAMPLES))
def test_the_examples_of_a_docstring_hold(name: str, module: str, tmp_path: Path, monkeypatch: Patch) -> None:
    (tmp_path / "transpose.cu").write_text(TRANSPOSE)
    monkeypatch.chdir(tmp_path)
    found = importlib.import_module(f"banksim.{module}")
    [example] = [
        one for one in doctest.DocTestFinder(recurse=True).find(found) if one.name == f"{found.__name__}.{name}"
    ]
    assert example.examples
    told: list[str] = []
    doctest.DocTestRunner().run(example, out=told.append)
    assert not told, "".join(told)
