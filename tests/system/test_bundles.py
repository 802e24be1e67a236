"""Named tuples of arrays that compiled code passes by their address."""

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest

from banksim.system.bundles import Words, at, bundle
from banksim.system.jit import inner, outer

pytestmark = pytest.mark.usefixtures("compiled_anew")
PAIR = np.dtype([("left", "i8"), ("right", "u4")])


@bundle
class Inside(NamedTuple):
    cube: npt.NDArray[np.int64]
    flags: npt.NDArray[np.bool_]


@bundle
class Whole(NamedTuple):
    pairs: npt.NDArray[np.void]
    inside: Inside
    table: npt.NDArray[np.uint32]


@inner
def written(whole: Any, n: Any) -> Any:
    whole.pairs[n]["left"] += whole.inside.cube[1, n, -1]
    whole.inside.flags[n] = True
    return whole.table[n, 1] + whole.table.shape[0] * 100 + len(whole.pairs)


def work(whole: Any, n: Any) -> Any:
    whole.table[n, 1] += 1
    total = 0
    for row in whole.inside.cube[0]:
        total += row[2]
    return total + written(whole, n)


def filled() -> Whole:
    pairs = np.zeros(5, PAIR)
    inside = Inside(np.arange(24).reshape(2, 4, 3), np.zeros(4, np.bool_))
    return Whole(pairs, inside, np.arange(8, dtype=np.uint32).reshape(4, 2))


inner_work = inner(work)


@outer
def of_words(address: Any, n: Any) -> Any:
    return inner_work(at(Whole, address), n)


def compiled(whole: Whole, n: int) -> Any:
    words = Words(whole)
    return of_words(words.address, n)


def test_compiled_code_sees_and_changes_what_python_does() -> None:
    """Of every field: values of several dimensions, records, lengths and slices; also of another size the next time."""
    ours, numbas = filled(), filled()
    for n in (0, 3, 3):
        assert compiled(numbas, n) == work(ours, n)
    for mine, theirs in ((ours, numbas), (ours.inside, numbas.inside)):
        for one, other in zip(mine, theirs, strict=True):
            assert isinstance(one, Inside) or (one == other).all()
    longer = ours._replace(pairs=np.zeros(50, PAIR))
    assert compiled(longer, 1) == work(longer, 1) - 1  # the second has one more in its table
    assert len(of_words.signatures) == 1  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "changed", [{"table": np.zeros((4, 2), np.int64)}, {"table": np.zeros(8, np.uint32)}, {"inside": np.zeros(2)}]
)
def test_tuples_of_one_class_have_arrays_of_the_same_types(changed: Any) -> None:
    Words(filled())
    with pytest.raises(TypeError, match="Whole had fields of other types before"):
        Words(filled()._replace(**changed))


@pytest.mark.parametrize("wrong", [np.zeros((4, 4))[:, 1], 5, "text"])
def test_a_field_that_is_no_contiguous_array_is_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match=r"Inside\.flags is neither a contiguous array nor a bundle"):
        Words(filled().inside._replace(flags=wrong))
