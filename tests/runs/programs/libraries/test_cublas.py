"""cuBLAS's functions of triangles, bands, packed and Hermitian matrices, against the whole matrices that they mean."""

import subprocess
from typing import Any

import numpy as np
import pytest

from banksim.errors import UnsupportedError
from banksim.runs.programs import standins
from banksim.runs.programs.cublas_names import FUNCTIONS
from banksim.runs.programs.libraries.cublas import COMPUTED_BY
from helpers.library_calls import KINDS, LOWER, UPPER, K, N, call, close, numbers


def mirrored(matrix: Any, upper: int, hermitian: bool) -> Any:
    """The whole matrix of which one triangle is given."""
    found = matrix.copy()
    for i in range(len(matrix)):
        for j in range(len(matrix)):
            if (i > j) if upper else (i < j):
                found[i, j] = matrix[j, i].conj() if hermitian else matrix[j, i]
        if hermitian:
            found[i, i] = matrix[i, i].real
    return found


def triangle(matrix: Any, upper: int, unit: int, op: int) -> Any:
    found = np.triu(matrix) if upper else np.tril(matrix)
    if unit:
        found[range(len(found)), range(len(found))] = 1
    return {0: found, 1: found.T, 2: found.conj().T}[op]


def packed(matrix: Any, upper: int) -> Any:
    rows = range(len(matrix))
    return np.array([matrix[i, j] for j in rows for i in rows if (i <= j if upper else i >= j)], matrix.dtype)


def banded(matrix: Any, below: int, above: int) -> tuple[Any, Any]:
    """The matrix with nothing but these diagonals, and as it is stored."""
    found, rows = matrix.copy(), numbers("S", below + above + 1, matrix.shape[1], seed=9).astype(matrix.dtype)
    for i, j in np.ndindex(*matrix.shape):
        if -above <= i - j <= below:
            rows[above + i - j, j] = matrix[i, j]
        else:
            found[i, j] = 0
    return found, np.asfortranarray(rows)


def test_every_function_of_the_table_is_computed() -> None:
    assert {one.base for one in FUNCTIONS.values()} == set(COMPUTED_BY)


def test_programs_that_are_linked_already_find_their_functions() -> None:
    """With and without handles, and those that only say that they are missing."""
    files = [standins.folder() / name for name in standins.LIBRARIES.values()]
    said = subprocess.run(["nm", "-D", "--defined-only", *files], capture_output=True, text=True, check=True).stdout
    found = {line.split()[-1].partition("@")[0] for line in said.splitlines() if line}
    wanted = {"cublasInit", "cublasAlloc", "cublasDgemm", "cublasZhpr_v2", "cublasCgemm_v2", "cublasCsyrk3mEx"}
    assert wanted | {"curandSetQuasiRandomGeneratorDimensions"} <= found


@pytest.mark.parametrize("upper", [LOWER, UPPER])
@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_products_of_symmetric_matrices(kind: str, hermitian: bool, upper: int) -> None:
    if hermitian and kind in "SD":
        return
    a, x, y = numbers(kind, N, N), numbers(kind, N, seed=2), numbers(kind, N, seed=3)
    alpha, beta = numbers(kind, 2, seed=4)
    expected = alpha * mirrored(a, upper, hermitian) @ x + beta * y
    name = "hemv" if hermitian else "symv"
    to = y.copy()
    call(f"{kind}{name}", upper, N, alpha, a, N, x, 1, beta, to, 1)
    close(to, expected)
    b, c = numbers(kind, N, 3, seed=5), numbers(kind, N, 3, seed=6)
    expected = alpha * mirrored(a, upper, hermitian) @ b + beta * c
    call(f"{kind}{name[:2]}mm", 0, upper, N, 3, alpha, a, N, b, N, beta, c, N)
    close(c, expected)
    if hermitian or kind in "SD":
        to = y.copy()
        call(f"{kind}{name[0]}pmv", upper, N, alpha, packed(a, upper), x, 1, beta, to, 1)
        close(to, alpha * mirrored(a, upper, hermitian) @ x + beta * y)
        some, stored = banded(a, *((0, K) if upper else (K, 0)))
        to = y.copy()
        call(f"{kind}{name[0]}bmv", upper, N, K, alpha, stored, K + 1, x, 1, beta, to, 1)
        close(to, alpha * mirrored(some, upper, hermitian) @ x + beta * y)


@pytest.mark.parametrize("op", [0, 1, 2])
@pytest.mark.parametrize("upper", [LOWER, UPPER])
@pytest.mark.parametrize("unit", [0, 1])
@pytest.mark.parametrize("kind", KINDS)
def test_triangles_multiply_and_are_solved(kind: str, unit: int, upper: int, op: int) -> None:
    a, x = numbers(kind, N, N), numbers(kind, N, seed=2)
    a += 3 * np.eye(N, dtype=a.dtype)
    some, stored = banded(a, *((0, K) if upper else (K, 0)))
    small, back = np.zeros(N * (N + 1) // 2, a.dtype), np.zeros_like(a)
    call(f"{kind}trttp", upper, N, a, N, small)
    assert (small == packed(a, upper)).all()
    call(f"{kind}tpttr", upper, N, small, back, N)
    assert (back == (np.triu(a) if upper else np.tril(a))).all()
    for letter, matrix, memory in (("r", a, (a, N)), ("p", a, (packed(a, upper),)), ("b", some, (K, stored, K + 1))):
        whole = triangle(matrix, upper, unit, op)
        to = x.copy()
        call(f"{kind}t{letter}mv", upper, op, unit, N, *memory, to, 1)
        close(to, whole @ x)
        call(f"{kind}t{letter}sv", upper, op, unit, N, *memory, to, 1)
        close(to, x)
    alpha = numbers(kind, 1, seed=4)[0]
    whole = triangle(a, upper, unit, op)
    for side, b in ((0, numbers(kind, N, 3, seed=5)), (1, numbers(kind, 3, N, seed=5))):
        to = np.zeros_like(b)
        call(f"{kind}trmm", side, upper, op, unit, *b.shape, alpha, a, N, b, len(b), to, len(b))
        close(to, alpha * (b @ whole if side else whole @ b))
        call(f"{kind}trsm", side, upper, op, unit, *b.shape, a.dtype.type(1) / alpha, a, N, to, len(b))
        close(to, b)


@pytest.mark.parametrize("upper", [LOWER, UPPER])
@pytest.mark.parametrize("hermitian", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_sums_of_outer_products_change_one_triangle(kind: str, hermitian: bool, upper: int) -> None:
    if hermitian and kind in "SD":
        return
    base, turned = ("her", np.conj) if hermitian else ("syr", np.array)
    a, x, y = numbers(kind, N, N), numbers(kind, N, seed=2), numbers(kind, N, seed=3)
    alpha, beta = numbers(kind, 2, seed=4)
    alpha, real = (-alpha, -alpha.real) if hermitian else (alpha, alpha)
    before = mirrored(a, upper, hermitian)

    def check(found: Any, values: Any) -> None:
        inside = np.triu(np.ones((N, N), bool)) if upper else np.tril(np.ones((N, N), bool))
        close(found[inside], values[inside])
        assert not (hermitian and np.signbit(found.diagonal().imag).any())
        assert (found[~inside] == a[~inside]).all()

    once, twice = a.copy(order="F"), a.copy(order="F")
    call(f"{kind}{base}", upper, N, real, x, 1, once, N)
    check(once, before + real * np.outer(x, turned(x)))
    both = alpha * np.outer(x, turned(y))
    both = both + (both.conj().T if hermitian else both.T)
    call(f"{kind}{base}2", upper, N, alpha, x, 1, y, 1, twice, N)
    check(twice, before + both)
    if hermitian or kind in "SD":
        small = packed(a, upper)
        call(f"{kind}{base[0]}pr", upper, N, real, x, 1, small)
        close(small, packed(before + real * np.outer(x, turned(x)), upper))
    for op, shape in ((0, (N, K)), (2 if hermitian else 1, (K, N))):
        b, c = numbers(kind, *shape, seed=5), numbers(kind, *shape, seed=6)
        one, other = (b.T, c.T) if op else (b, c)
        one, other = (turned(one), turned(other)) if op else (one, other)
        factor = (beta.real if hermitian else beta) * bool(op)
        to = a.copy(order="F")
        call(f"{kind}{base}k", upper, op, N, K, real, b, len(b), factor, to, N)
        check(to, real * one @ turned(one).T + factor * before)
        to, both = a.copy(order="F"), alpha * one @ turned(other).T
        call(f"{kind}{base}2k", upper, op, N, K, alpha, b, len(b), c, len(c), factor, to, N)
        check(to, both + (both.conj().T if hermitian else both.T) + factor * before)


@pytest.mark.parametrize("op", [0, 1, 2])
@pytest.mark.parametrize("kind", KINDS)
def test_bands_products_and_rotations(kind: str, op: int) -> None:
    a, alpha, beta = numbers(kind, N, 4), *numbers(kind, 2, seed=4)
    some, stored = banded(a, 1, 2)
    turn = {0: some, 1: some.T, 2: some.conj().T}[op]
    x, y = numbers(kind, turn.shape[1], seed=2), numbers(kind, turn.shape[0], seed=3)
    to = y.copy()
    call(f"{kind}gbmv", op, N, 4, 1, 2, alpha, stored, 4, x, 1, beta, to, 1)
    close(to, alpha * turn @ x + beta * y)
    cosine, sine = numbers(kind, 1, seed=7)[0].real, numbers(kind, 1, seed=8)[0]
    one, other = x[:3].copy(), y[:3].copy()
    call(f"{kind}rot", 3, one, 1, other, 1, cosine, sine)
    close(one, cosine * x[:3] + sine * y[:3])
    close(other, cosine * y[:3] - np.conj(sine) * x[:3])


@pytest.mark.parametrize("kind", ["C", "Z"])
def test_complex_vectors_and_products(kind: str) -> None:
    x, y, real = numbers(kind, N, seed=2), numbers(kind, N, seed=3), {"C": "Sc", "Z": "Dz"}[kind]
    answer = {base: np.frombuffer(call(f"{kind}{base}", N, x, 1, y, 1, 0), x.dtype) for base in ("dotu", "dotc")}
    close(answer["dotu"], [sum(x * y)])
    close(answer["dotc"], [sum(x.conj() * y)])
    close(np.frombuffer(call(f"{real}nrm2", N, x, 1, 0), x.real.dtype), [np.sqrt(sum(abs(x) ** 2))])
    sizes = abs(x.real) + abs(x.imag)
    close(np.frombuffer(call(f"{real}asum", N, x, 1, 0), x.real.dtype), [sizes.sum()])
    assert np.frombuffer(call(f"I{kind.lower()}amax", N, x, 1, 0), np.int32) == [sizes.argmax() + 1]
    a = numbers(kind, N, N)
    to = a.copy(order="F")
    call(f"{kind}gerc", N, N, x[0], x, 1, y, 1, to, N)
    close(to, a + x[0] * np.outer(x, y.conj()))
    b, c, (alpha, beta) = numbers(kind, N, N, seed=5), numbers(kind, N, N, seed=6), numbers(kind, 2, seed=4)
    to = c.copy(order="F")
    call(f"{kind}gemm3m", 2, 0, N, N, N, alpha, a, N, b, N, beta, to, N)
    close(to, alpha * a.conj().T @ b + beta * c)
    to, number = c.copy(order="F"), {"C": 4, "Z": 5}[kind]
    call(
        f"{kind}gemm", 2, 0, N, N, N, alpha, a, number, N, 0, b, number, N, 0, beta, to, number, N, 0, 1,
        70 if kind == "Z" else 68, 0,
    )  # fmt: skip
    close(to, alpha * a.conj().T @ b + beta * c)


def test_a_vector_whose_elements_lie_no_step_apart_is_one_number_again_and_again() -> None:
    x, y = numbers("D", 3), numbers("D", 3, seed=2)
    to = y.copy()
    call("Daxpy", 3, np.float64(2), x, 0, to, 1)
    close(to, y + 2 * x[0])
    close(np.frombuffer(call("Ddot", 3, x, 0, y, 1, 0)), [x[0] * y.sum()])
    with pytest.raises(UnsupportedError, match="Dcopy: writes to a vector"):
        call("Dcopy", 3, x, 1, y, 0)


@pytest.mark.parametrize(("name", "dtype"), [("Dnrm2", np.float64), ("Dasum", np.float64), ("Idamax", np.int32)])
def test_sums_of_vectors_that_go_backwards_are_zero(name: str, dtype: type) -> None:
    x = np.array([3.0, -4.0])
    assert np.frombuffer(call(name, 2, x, 1, 0), dtype)[0] == {"Dnrm2": 5, "Dasum": 7, "Idamax": 2}[name]
    assert np.frombuffer(call(name, 2, x, -1, 0), dtype)[0] == 0


@pytest.mark.parametrize("scale", [1e200, 1e-200, np.inf, 0])
def test_the_length_of_a_vector_is_found_where_its_squares_are_beyond_doubles(scale: float) -> None:
    close(np.frombuffer(call("Dnrm2", 2, np.array([3.0, 4.0]) * scale, 1, 0)), [5 * scale])


@pytest.mark.parametrize("name", ["Dtrsm", "Dtrmm"])
def test_of_triangles_times_zero_nothing_is_read(name: str) -> None:
    a, b, to = (np.full((2, 2), np.nan, order="F") for _ in range(3))
    call(name, 0, LOWER, 0, 0, 2, 2, np.float64(0), a, 2, b, 2, *((to, 2) if name == "Dtrmm" else ()))
    assert ((to if name == "Dtrmm" else b) == 0).all()


def test_a_band_ends_before_the_last_column() -> None:
    some, stored = banded(numbers("D", 2, N), 0, 1)
    x, to = numbers("D", N), np.zeros(2)
    call("Dgbmv", 0, 2, N, 0, 1, np.float64(1), stored, 2, x, 1, np.float64(0), to, 1)
    close(to, some @ x)
