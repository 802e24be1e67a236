"""What a run says of its counts, whichever of the codes that it executed it is about."""

from dataclasses import replace

import numpy as np

import banksim
from banksim.machine import doubts
from helpers.assembler import kernel


def test_every_code_tells_what_is_not_established() -> None:
    first = banksim.run(kernel(["NOP", "EXIT"]), 1, 32, [np.zeros(32, np.uint32)] * 2)
    older = replace(kernel(["NOP", "NOP", "EXIT"]), arch="sm_80")
    second = banksim.run(older, 1, 32, [np.zeros(32, np.uint32)] * 2)
    assert first.notes == ()
    second.launch.doubts = {0x10: doubts.STUCK}
    [alone] = second.notes
    assert alone.startswith("Which threads of a warp run together is not established from ")
    assert replace(first, executions=(first, second)).notes == (f"sm_80: {alone}",)


def test_threads_that_end_together_leave_nothing_unsure_but_their_end() -> None:
    for end, told in {
        "EXIT": "How often warps execute ",
        "@P0 EXIT": "Which threads of a warp run together ",
        "EXIT P1": "Which threads of a warp run together ",
    }.items():
        [note] = doubts.notes(kernel([end, "EXIT"]), {0: doubts.JOINED})
        assert note.startswith(told), end


def test_clocks_that_are_not_simulated_are_told() -> None:
    reads = kernel(["CS2R.32 R2, SR_CLOCKLO", "S2R R3, SR_GLOBALTIMERHI", "EXIT"])
    arguments = [np.zeros(32, np.uint32)] * 2
    [note] = banksim.run(reads, 1, 32, arguments).notes
    assert note.startswith("Reads a clock at ")
    assert note.endswith("(and at 1 more instruction): only --timing simulates what it tells.")
    assert banksim.run(reads, 1, 32, arguments, timing=True).notes == ()
