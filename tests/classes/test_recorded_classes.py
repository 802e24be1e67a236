"""Recorded launches and the kernels of the catalogue, by classes and with every block executed: equal in every number.

The suite takes some of both; all of them, in some twenty minutes:

    python tests/classes/test_recorded_classes.py
"""

import sys
from pathlib import Path

import pytest

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parent.parent), str(Path(__file__).parent.parent / "hardware")]

import banksim
from banksim.errors import BanksimError
from banksim.kernels.cubin import decode
from banksim.runs.outcome import Run
from cuda_kernels import evidence_records
from cuda_kernels.catalogue import entries
from cuda_kernels.predict import own_copy, parameters
from helpers.recorded_launches import ENDING, launched

pytestmark = pytest.mark.usefixtures("by_classes")

EVIDENCE = evidence_records.load(evidence_records.EVIDENCE)
FEW = [name for name in ENDING if name.split(".")[0] in ("order", "copies")][::16]
FEW += ["sums.reduce_ballot<int, 128, false>", "warp.group_tiles"]  # with calls, and regions of all threads of a warp
PRODUCTS = ("products.gemm_stages<half, 2>", "products.gemm_doubles", "triton_kernels.warpgroup_product")
"""Whose results are not needed, as classes see."""
CLASSED = ("transposeDiagonal", "reduceShared", "blockScan128", "productTransposedAPad16")
EXECUTED = ("histogramShared",)


def of_catalogue(name: str) -> tuple[Run, Run]:
    """A kernel of the catalogue, as a GPU ran it: by classes, and block by block."""
    record = EVIDENCE.record(name)
    assert record
    launch, kernel = entries()[name].launch(), next(iter(decode(record.cubin).values()))
    runs = [
        banksim.run(
            kernel,
            launch.grid,
            launch.block,
            [part for one in own_copy(launch) for part in parameters(one)],
            dynamic_shared=launch.dynamic_shared,
            values=values,
        )
        for values in (False, True)
    ]
    return runs[0], runs[1]


def of_recorded(name: str) -> tuple[Run, Run]:
    return launched(name, values=False)[0], launched(name, values=True)[0]


def check(mine: Run, full: Run) -> None:
    assert mine.judged == full.judged
    assert mine.profile == full.profile
    assert (mine.hints, mine.blocks, mine.partial) == (full.hints, full.blocks, full.partial)


@pytest.mark.parametrize("name", [*CLASSED, *EXECUTED])
def test_kernels_of_the_catalogue(name: str) -> None:
    mine, full = of_catalogue(name)
    check(mine, full)
    assert bool(mine.classes) == (name in CLASSED), mine.undecided


@pytest.mark.parametrize("name", FEW)
def test_recorded_launches(name: str) -> None:
    check(*of_recorded(name))


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_matrices_are_counted_by_classes(name: str) -> None:
    mine, full = of_recorded(name)
    check(mine, full)
    assert mine.classes == 1, mine.undecided


def all_of_them() -> int:
    """Compare all; say of each whether it was counted by classes, and at last how many were and how many differ."""
    classed = wrong = 0
    pytest.MonkeyPatch().setattr("banksim.runs.by_classes.is_small", lambda launch: False)
    for make, names in ((of_catalogue, list(entries())), (of_recorded, ENDING)):
        for name in names:
            try:
                mine, full = make(name)
                check(mine, full)
            except BanksimError as error:
                print(f"{name}: {error}")
                continue
            except AssertionError:
                wrong += 1
                print(f"{name}: DIFFERENT")
                continue
            classed += bool(mine.classes)
            print(f"{name}: {full.blocks} blocks, {mine.classes} classes {mine.undecided}", flush=True)
        print(f"{classed} of {len(names)} by classes, {wrong} different")
        classed = 0
    return wrong


if __name__ == "__main__":
    sys.exit(bool(all_of_them()))
