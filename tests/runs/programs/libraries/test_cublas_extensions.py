"""cuBLAS's functions of many matrices at once, of vectors of any type, and its rotations, against what they mean."""

from typing import Any

import numpy as np
import pytest

from banksim.errors import UnsupportedError
from helpers.library_calls import KINDS, LOWER, UPPER, K, N, call, close, numbers


def near(found: Any, expected: Any) -> None:
    """Equal but for the digits that solving a system loses."""
    np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)


# ---- many matrices at once
@pytest.mark.parametrize("kind", KINDS)
def test_many_systems_are_solved_by_their_factors(kind: str) -> None:
    matrices = [numbers(kind, N, N, seed=k) for k in range(3)]
    pivots, info = np.zeros(3 * N, np.int32), np.full(3, 9, np.int32)
    factors = [one.copy(order="F") for one in matrices]
    call(f"{kind}getrfBatched", N, factors, N, pivots, info, 3)
    assert not info.any()
    for one, factor, rows in zip(matrices, factors, pivots.reshape(3, N), strict=True):
        expected = one.copy()
        for k, row in enumerate(rows):
            assert row > k
            expected[[k, row - 1]] = expected[[row - 1, k]]
        near((np.tril(factor, -1) + np.eye(N)) @ np.triu(factor), expected)
        assert (abs(np.tril(factor, -1)) < 1.5).all(), "each pivot is the largest of its column"
    for op in range(3):
        right = [numbers(kind, N, 2, seed=9) for _ in matrices]
        call(f"{kind}getrsBatched", op, N, 2, factors, N, pivots, right, N, 0, 3)
        for one, found in zip(matrices, right, strict=True):
            turned = {0: one, 1: one.T, 2: one.conj().T}[op]
            near(turned @ found, numbers(kind, N, 2, seed=9))
    inverse, again = ([np.zeros_like(one) for one in matrices] for _ in range(2))
    call(f"{kind}getriBatched", N, factors, N, pivots, inverse, N, info, 3)
    call(f"{kind}matinvBatched", N, matrices, N, again, N, info, 3)
    for one, found, other in zip(matrices, inverse, again, strict=True):
        near(one @ found, np.eye(N))
        near(found, other)


def test_a_matrix_without_an_inverse_is_told_by_its_first_column_without_a_pivot() -> None:
    whole, singular = np.eye(3), np.asfortranarray(np.diag([1.0, 0, 0]))
    to, info = [np.full((3, 3), 7.0) for _ in range(2)], np.full(2, 9, np.int32)
    call("DmatinvBatched", 3, [whole, singular], 3, to, 3, info, 2)
    assert info.tolist() == [0, 2]
    np.testing.assert_array_equal(to, [np.eye(3), np.full((3, 3), 7)])
    call("DgetriBatched", 3, [whole, singular], 3, 0, to, 3, info, 2)
    assert info.tolist() == [0, 2]
    exchanged = np.asfortranarray([[0.0, 1], [1, 0]])
    call("DgetrfBatched", 2, [exchanged], 2, 0, info, 1)
    assert info[0] == 1, "rows are not exchanged where no pivots are asked for"


def test_many_triangles_and_products_with_vectors() -> None:
    a, b = (
        [numbers("D", N, N, seed=k) + 3 * np.eye(N) for k in range(2)],
        [numbers("D", N, 2, seed=k) for k in range(2)],
    )
    a, to = [np.asfortranarray(one) for one in a], [one.copy(order="F") for one in b]
    call("DtrsmBatched", 0, LOWER, 0, 0, N, 2, np.float64(2), a, N, to, N, 2)
    for one, right, found in zip(a, b, to, strict=True):
        close(np.tril(one) @ found, 2 * right)
    x, y = [numbers("D", N, seed=k) for k in range(2)], [np.ones(N) for _ in range(2)]
    call("DgemvBatched", 1, N, N, np.float64(2), a, N, x, 1, np.float64(1), y, 1, 2)
    close(np.array(y), np.array([2 * one.T @ it + 1 for one, it in zip(a, x, strict=True)]))
    all_of_a, out = np.concatenate([one.ravel(order="F") for one in a]), np.zeros(2 * N)
    words = (np.float64(2), all_of_a, N, N * N, np.concatenate(x), 1, N, np.float64(0), out, 1, N, 2)
    call("DgemvStridedBatched", 1, N, N, *words)
    close(out, np.array(y).ravel() - 1)


# ---- vectors of any type
HALF, BFLOAT16 = 2, 14


def test_vectors_of_halves_are_computed_as_floats_and_rounded_once() -> None:
    x, y = (np.array(values, np.float16) for values in ([1, 2048, 3], [2**-12, 1, 5]))
    to = y.copy()
    call("AxpyEx", 3, np.float32(1 / 3), 0, x, HALF, 1, to, HALF, 1, 0)
    assert to.tolist() == (np.float32(1 / 3) * x.astype(np.float32) + y).astype(np.float16).tolist()
    sum_of = np.frombuffer(call("DotEx", 3, x, HALF, 1, y, HALF, 1, 0, HALF, 0), np.float16)
    assert sum_of.tolist() == [2064], "2063 and 2^-12 lie nearer to 2064"
    assert np.frombuffer(call("Nrm2Ex", 2, np.float16([300, 400]), HALF, 1, 0, HALF, 0), np.float16).tolist() == [500]
    assert np.frombuffer(call("IamaxEx", 3, x, HALF, 1, 0), np.int32).tolist() == [2]


def test_a_vector_may_be_added_to_itself() -> None:
    for dtype, kind in ((np.float32, 0), (np.float16, HALF)):
        x = np.array([1, 2, 3], dtype)
        call("AxpyEx", 3, np.float32(2), 0, x, kind, 1, x, kind, 1, 0)
        assert x.tolist() == [3, 6, 9]


def test_vectors_of_bfloat16_are_scaled_copied_and_turned() -> None:
    def stored(values: Any) -> Any:
        return (np.float32(values).view(np.uint32) >> 16).astype(np.uint16)

    x, y = stored([1, 2, 3]), stored([4, 5, 6])
    call("ScalEx", 3, np.float32(2), 0, x, BFLOAT16, 1, 0)
    assert (x == stored([2, 4, 6])).all()
    call("SwapEx", 3, x, BFLOAT16, 1, y, BFLOAT16, 1)
    call("RotEx", 3, x, BFLOAT16, 1, y, BFLOAT16, 1, stored([0])[0], stored([1])[0], BFLOAT16, 0)
    np.testing.assert_array_equal([x, y], [stored([2, 4, 6]), stored([-4, -5, -6])])
    assert (call("AsumEx", 3, y, BFLOAT16, 1, 0, BFLOAT16, 0)) == stored([15]).tobytes()


def test_complex_vectors_by_their_types() -> None:
    x, y = numbers("Z", N), numbers("Z", N, seed=2)
    close(np.frombuffer(call("DotcEx", N, x, 5, 1, y, 5, 1, 0, 5, 5), complex), [np.vdot(x, y)])
    close(np.frombuffer(call("Nrm2Ex", N, x, 5, 1, 0, 1, 1), float), [np.linalg.norm(x)])
    a, to = numbers("C", N, K), np.zeros((N, N), np.complex64, order="F")
    call("CherkEx", UPPER, 0, N, K, np.float32(2), a, 4, N, np.float32(0), to, 4, N)
    close(to, np.triu(2 * a @ a.conj().T).astype(np.complex64))


@pytest.mark.parametrize("types", [(0, 0, 2, 0), (1, 1, 1, 0), (0, 3, 3, 0), (1, 0, 0, 0)])
def test_types_that_do_not_go_together_are_refused(types: tuple[int, ...]) -> None:
    alpha, x, y, run = types
    with pytest.raises(UnsupportedError, match="cuBLAS AxpyEx: there is none of cudaDataType"):
        call("AxpyEx", 1, np.float64(1), alpha, numbers("D", 2), x, 1, numbers("D", 2), y, 1, run)


# ---- rotations
@pytest.mark.parametrize(("p", "q"), [(3.0, 4.0), (-4.0, 3.0), (0.0, -2.0), (2.0, 0.0), (0.0, 0.0), (1e-200, 1e-200)])
def test_a_rotation_takes_its_vector_to_the_first_axis(p: float, q: float) -> None:
    length, told, cosine, sine = np.frombuffer(call("Drotg", *map(np.float64, (p, q, 0, 0)))).reshape(4, 2)[:, 0]
    np.testing.assert_allclose([cosine * p + sine * q, cosine * q - sine * p], [length, 0], atol=1e-15 * abs(p + q))
    assert abs(cosine**2 + sine**2 - 1) < 1e-15
    if abs(told) < 1:  # as BLAS documents: the number is the smaller one, or what the cosine's is one over
        assert told == sine
    elif told != 1:
        assert abs(1 / told - cosine) < 1e-15


def test_a_complex_rotation_takes_its_vector_to_the_first_axis() -> None:
    for p, q in ((1 + 2j, 3 - 1j), (0j, 2j), (1j, 0j)):
        answer = call("Zrotg", np.complex128(p), np.complex128(q), np.float64(0), np.complex128(0))
        length, _, cosine, sine = np.frombuffer(answer, complex)
        found = [cosine * p + sine * q, cosine * q - np.conj(sine) * p]
        np.testing.assert_allclose(found, [length, 0], atol=1e-14)


@pytest.mark.parametrize(
    "given",
    [(1.0, 5.0, 2.1, 1.2), (5.0, 1.0, 1.2, 2.1), (1e12, 1e-12, 1.0, 3.0), (3.0, 2.0, 5.0, 0.0), (-1.0, 2.0, 3.0, 4.0)],
)
def test_a_modified_rotation_takes_its_vector_to_the_first_axis(given: tuple[float, ...]) -> None:
    """Its matrix, by Drotm, gives (p, 0), and d1 · p² is what d1 · p² + d2 · q² was."""
    d1, d2, p, q = given
    answer = call("Drotmg", *map(np.float64, (*given, 0, 0, 0, 0, 0)))
    new1, new2, new_p, *rotation = np.frombuffer(answer).reshape(8, 2)[:, 0]
    if d1 < 0:
        assert (new1, new2, new_p, *rotation) == (0, 0, 0, -1, 0, 0, 0, 0)
        return
    x, y = np.array([p]), np.array([q])
    call("Drotm", 1, x, 1, y, 1, *map(np.float64, rotation))
    close(np.array([x[0], new1 * new_p**2]), [new_p, d1 * p**2 + d2 * q**2])
    assert abs(y[0]) < 1e-12
    assert q == 0 or all(2.0**-24 < one < 2.0**24 for one in (new1, new2))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_modified_rotation_of_what_is_no_number_ends(bad: float) -> None:
    for place in range(4):
        given = [1.0, 2.0, 3.0, 4.0]
        given[place] = bad
        assert len(call("Drotmg", *map(np.float64, (*given, 0, 0, 0, 0, 0)))) == 8 * 16
