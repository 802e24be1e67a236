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
