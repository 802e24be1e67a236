"""Random expressions, compiled as users' kernels are, come out of both engines as NumPy computes them."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import banksim
from banksim.kernels.compilers import compile_cuda
from banksim.kernels.cubin import decode
from banksim.kernels.kernel import Kernel
from helpers.expressions import COUNT, ROWS, TYPES, Row, Tree, expression, operand_values, source, tree_type

ENGINES = ("numpy", "llvm")
IN_ONE_KERNEL = 40


def check(kernel: Kernel, trees: list[Tree]) -> None:
    """Run the kernel of trees on both engines, and compare every bit (of NaNs, only that they are)."""
    values = operand_values()
    inputs = [np.concatenate([values[name, t] for name in ("a", "b", "c")]) for t in TYPES]
    wrong = []
    for engine in ENGINES:
        out = np.zeros((len(trees), COUNT), np.uint64)
        banksim.run(kernel, 1, COUNT, [*inputs, out], engine=engine)
        with np.errstate(all="ignore"):
            reports = [difference(tree, row, values) for tree, row in zip(trees, out, strict=True)]
        wrong += [f"{engine}: {report}" for report in reports if report]
    assert not wrong, "\n".join(wrong)


def difference(tree: Tree, row: Any, values: dict[tuple[str, str], Any]) -> str:
    """A line that says where the results of a tree differ from NumPy's; empty if nowhere."""
    dtype = np.dtype(TYPES[tree_type(tree)][1])
    got = row.view(np.uint8).reshape(COUNT, 8)[:, : dtype.itemsize].copy().view(dtype)[:, 0]
    expected = tree.compute(values)
    bits = f"u{dtype.itemsize}"
    bad = got.view(bits) != expected.view(bits)
    if dtype.kind == "f":
        bad &= ~(np.isnan(got) & np.isnan(expected))
    if not bad.any():
        return ""
    n = int(np.argmax(bad))
    operands = ", ".join(f"{name}_{t} = {v[n]!r}" for (name, t), v in values.items() if f"{name}_{t}" in tree.text)
    return f"{tree.text} is {got[n]!r}, not {expected[n]!r}, of {operands} ({bad.sum()} of {COUNT})"


@pytest.fixture(scope="module")
def alone() -> dict[str, tuple[Kernel, list[Tree]]]:
    """Each row of the table on plain operands, a kernel for each type that they give."""
    trees = {gives: [Tree(r, distinct(r)) for r in ROWS if r.gives == gives] for gives in TYPES}
    kernels = decode(compile_cuda(source(trees)))
    return {gives: (kernels[gives], trees[gives]) for gives in TYPES}


@pytest.mark.parametrize("gives", TYPES)
def test_every_operation_alone(gives: str, alone: dict[str, tuple[Kernel, list[Tree]]]) -> None:
    check(*alone[gives])


def distinct(r: Row) -> tuple[Tree, ...]:
    """Operands a, b, c, a … of the types that a row takes."""
    return tuple(Tree(None, (), ("abc"[n % 3], t)) for n, t in enumerate(r.takes))


def test_random_expressions() -> None:
    drawn: dict[str, list[Tree]] = {}

    @settings(
        max_examples=6,
        derandomize=True,
        deadline=None,
        phases=[Phase.generate],  # a failure names its expressions; to shrink forty of them takes minutes
        suppress_health_check=list(HealthCheck),
    )
    @given(st.lists(st.sampled_from(list(TYPES)).flatmap(expression), min_size=IN_ONE_KERNEL, max_size=IN_ONE_KERNEL))
    def draw(trees: list[Tree]) -> None:
        drawn[f"kernel_{len(drawn)}"] = trees

    draw()
    kernels = decode(compile_cuda(source(drawn)))
    for name, trees in drawn.items():
        check(kernels[name], trees)
