"""Which values count as needed: those that the counts depend on, no more and no less."""

import pytest

from banksim.classes.footprint import Dependences, Footprint, Guard
from banksim.classes.needed import OF_THREADS, OF_WARPS, Read, before, heeds_data
from banksim.kernels.load import load
from helpers.places import H200

R6, R7, R8, P0, P1, UR4 = ("R", 6), ("R", 7), ("R", 8), ("P", 0), ("P", 1), ("UR", 4)
IF_P0, IF_NOT_P0, IF_P1 = (0, False), (0, True), (1, False)


def writes(to: tuple[str, int], *of: tuple[str, int], guard: Guard | None = None) -> Footprint:
    needs = Dependences({("P", guard[0])}) if guard else Dependences()
    return Footprint({to: Dependences(of)}, needs, guarded=guard is not None, guard=guard)


@pytest.mark.parametrize(
    ("one", "behind", "there", "chosen"),
    [
        # whoever reads R6 reads what this wrote
        (writes(R6, R7), {(R6, None)}, {(R7, None)}, True),
        (writes(R6, R7), {(R6, IF_P0)}, {(R7, None)}, True),
        # with a guard it is the last to write what those with the same guard read, and nobody else
        (writes(R6, R7, guard=IF_P0), {(R6, IF_P0)}, {(R7, IF_P0), (P0, None)}, True),
        (writes(R6, R7, guard=IF_P0), {(R6, None)}, {(R6, None), (R7, IF_P0), (P0, None)}, True),
        (writes(R6, R7, guard=IF_P0), {(R6, IF_P1)}, {(R6, IF_P1), (R7, IF_P0), (P0, None)}, True),
        # the others read what was there before
        (writes(R6, R7, guard=IF_P0), {(R6, IF_NOT_P0)}, {(R6, IF_NOT_P0), (P0, None)}, False),
        (writes(R6, R7, guard=IF_P0), {(R8, None)}, {(R8, None), (P0, None)}, False),
        # before a predicate is written, nobody knows for whom it will hold
        (writes(P0, R7), {(R6, IF_P0)}, {(R6, None)}, False),
        (writes(P0, R7), {(R6, IF_P0), (P0, None)}, {(R6, None), (R7, None)}, True),
        (writes(P0, R7, guard=IF_P0), {(R6, IF_P0)}, {(R6, None), (P0, None)}, False),
        (writes(P1, R7), {(R6, IF_P0)}, {(R6, IF_P0)}, False),
        # registers of a warp may be written by other threads, and are never those of some threads only
        (writes(UR4, R7), {(UR4, None)}, {(UR4, None), (R7, None)}, True),
        (writes(R6, UR4, guard=IF_P0), {(R6, IF_P0)}, {(UR4, None), (P0, None)}, True),
    ],
)
def test_what_an_instruction_leaves_to_be_read(
    one: Footprint, behind: set[Read], there: set[Read], chosen: bool
) -> None:
    live = set(behind)
    assert before(live, one) == chosen
    assert live == there


def test_a_guard_and_a_predicate_that_is_written_with_it() -> None:
    """`@P0 R6, P0 = R7`: those for which P0 holds afterwards are not those for which it held."""
    one = writes(R6, R7, guard=IF_P0)
    one.writes[P0] = Dependences({R7})
    live: set[Read] = {(R6, IF_P0)}
    assert before(live, one)
    assert live == {(R6, None), (R7, IF_P0), (P0, None)}


def test_a_register_of_a_warp_whose_threads_are_together() -> None:
    """No other thread can write it in between. With a guard perhaps no thread writes it, and the old value is read."""
    for one, there in (
        (writes(UR4, R7), {(R7, None)}),
        (writes(UR4, R7, guard=IF_P0), {(UR4, None), (R7, IF_P0), (P0, None)}),
    ):
        live: set[Read] = {(UR4, None)}
        assert before(live, one, OF_THREADS | OF_WARPS)
        assert live == there


def test_addresses_of_guarded_loads_do_not_depend_on_what_their_registers_held_before() -> None:
    """The product's loads take their addresses from registers that hold numbers of its tiles in other passes."""
    kernels = load(H200 / "grids.cubin")
    assert [name for name in ("product", "transpose", "reduce", "scan", "atomics") if heeds_data(kernels[name])] == []
