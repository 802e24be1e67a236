"""What the time of warps is spent on: cycles by instruction and by what was waited for."""

from banksim.architectures.time_figures import Numbers
from banksim.system.compiled_types import Integer
from banksim.system.jit import inlined, inner
from banksim.timing.asynchronous import COPIES, PHASES, TRIES
from banksim.timing.issue_records import Multiprocessor
from banksim.timing.issue_table import ASSUMED, GLOBAL, SHARED, SIGNALS
from banksim.timing.scoreboards import Waiting
from banksim.timing.warp_choice import waits_until


@inlined
def assume(sm: Multiprocessor, cycles: Integer) -> None:
    """What a warp waits for at mbarriers may be copies from global memory: where that answers after a constant, the
    time is assumed."""
    if sm.constant[0]:
        sm.served[2] += cycles


@inner
def account(sm: Multiprocessor, waiting: Waiting, f: Numbers, w: Integer, t: Integer) -> None:
    """Add the cycles since the warp issued its last instruction to the account of what it waited for."""
    warp = sm.warps[w]
    here = sm.spent[warp.next]
    here.issue += 1
    warp.executed += 1
    at = warp.issued + 1
    before = sm.spent[max(warp.previous, 0)]
    if warp.barrier >= 0 and t >= warp.released:
        sm.spent[warp.barrier].barrier += max(warp.released - at, 0)
        at = max(at, warp.released)
        warp.released = -1
    elif warp.barrier < 0 and warp.released >= 0:
        before.barrier += max(warp.released - at, 0)
        if sm.code[warp.previous].behind == TRIES:
            assume(sm, max(warp.released - at, 0))
        at = max(at, warp.released)
        warp.released = -1
    before.fixed += max(min(warp.ready, t) - at, 0)
    at = max(at, min(warp.ready, t))
    if warp.awaits >= 0:
        waited = max(min(waits_until(sm, waiting, f, w), t) - at, 0)
        at += waited
        if warp.awaited == COPIES:
            before.memory += waited
        elif warp.awaited == PHASES:
            before.barrier += waited
        else:
            before.other += waited
        warp.awaits = -1
    until, board, wait = at, -1, sm.code[warp.next].wait
    for b in range(6 if wait else 0):
        if wait >> b & 1 and waiting.until[w, b] > until:
            until, board = waiting.until[w, b], b
    if board >= 0:
        owner = sm.spent[waiting.owner[w, board]]
        waited = min(until, t) - at
        at += waited
        what = sm.classes[w, board]
        if what == SHARED:
            owner.shared += waited
        elif what == GLOBAL:
            owner.memory += waited
        elif what == ASSUMED:
            owner.memory += waited
            sm.served[2] += waited
        elif what == SIGNALS:
            owner.barrier += waited
            assume(sm, waited)
        else:
            owner.other += waited
    warp.crowded += t - at
    if warp.refused:
        here.shared += t - at
        warp.refused = 0
    else:
        here.contention += t - at


@inlined
def watch(sm: Multiprocessor, waiting: Waiting, w: Integer, scoreboard: Integer, owner: Integer, what: Integer) -> None:
    """One more operation is under way for a scoreboard of the warp."""
    if scoreboard >= 0:
        waiting.pending[w, scoreboard] += 1
        waiting.owner[w, scoreboard] = owner
        sm.classes[w, scoreboard] = what
