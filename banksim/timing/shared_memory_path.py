"""The path of memory requests in a multiprocessor: queue of a sub-core, pool, two slots, result bus.

A request issues into the queue of its sub-core, behind which there is room for some more of each. Each cycle, the
multiprocessor takes one of these into its pool, from the sub-core whose last turn was longest ago. Two slots, one for
even and one for odd cycles, serve requests of different warps; each serves a transaction in two cycles. The result of
a load then holds a bus for one cycle for each part, or transaction of global memory, and a special register of threads
for two. This model was found by measuring one H200: examples/guide/time.md compares it with the clocks that it was
found from, and with others.
"""

from banksim.architectures.time_figures import NUMBERS, Numbers
from banksim.requests.lane_intrinsics import pointer
from banksim.system.bundles import at
from banksim.system.compiled_types import Integer, Integers
from banksim.system.jit import carray, inlined, outer
from banksim.timing.asynchronous import arrived, served
from banksim.timing.between_blocks import cross, may_leave
from banksim.timing.data_stage import NOTHING, waits
from banksim.timing.data_stage import serve as meets
from banksim.timing.global_memory import NEAR, REMOTE, has_room, leaves, reach
from banksim.timing.instruction_caches import SUB_CORES
from banksim.timing.path_records import BY_BARRIER, BY_FENCE, ENDED, NEVER, QUEUE, REQUESTS, RETURNS, Path
from banksim.timing.scoreboards import Waiting, rouse, settle

SOON = 8
"""Cycles: a request is served only if the bus will take its result so soon (h200_prologues.npz: 4 to 16 do as well)."""

BEHIND = 7
"""Cycles from the end of a barrier until the slots go on at the earliest: what accesses shared memory at once behind it
is served a cycle later than it comes, as one H200 did (tests/data/timing/h200_exits.npz)."""


@inlined
def may_follow(path: Path, waiting: Waiting, place: Integer, t: Integer) -> bool:
    """Whether the request at a place of the pool may be served without breaking its warp's order: no request of the
    warp is before it, and one that returns something comes after the data of the warp's stores."""
    request = path.requests[path.pool[place]]
    if request.parts and waiting.stored[request.warp] > t:
        return False
    earlier = 0
    for before in range(place):
        earlier += path.requests[path.pool[before]].warp == request.warp
    return earlier == 0


@inlined
def awaited(parts: Integer, far: Integer) -> bool:
    """Whether a warp does not exit before a request of it is through (tests/data/timing/h200_exits.npz): all but stores
    to global memory, for which it does on an H200, and to other blocks, which nobody has looked at."""
    return bool(parts or not (leaves(far) or far == REMOTE))


@inlined
def serve(path: Path, waiting: Waiting, f: Numbers, t: Integer) -> bool:
    """In the slot whose cycle this is, end a request and begin the next. Returns whether either happened."""
    slot, one = t & 1, path.one[0]
    moved = False
    row = path.slots[slot]
    if row >= 0 and path.ends[slot] <= t:
        request = path.requests[row]
        path.slots[slot] = -1
        comes = t
        if request.meets != NOTHING:
            begun = t - f.service * request.cost
            meets(path.memory.stage, request.meets, request.sectors, request.upper, request.cost, begun)
        if request.far == REMOTE:
            if not request.parts:
                path.between.posted[0] -= request.own
            comes = cross(path.between, request.own, request.to, request.asked, request.shared, t) + f.remote
        elif request.far != NEAR and (request.parts or not leaves(request.far)):
            copied = request.upper if request.copies else -1
            comes = reach(path.memory, f, row, request.far, copied, t)
        if request.parts:
            early = 0 if request.far in (NEAR, REMOTE) else request.parts - 1  # behind its first transaction
            one.bus = max(one.bus, t - early) + request.parts
            comes = max(one.bus + f.result + request.later, comes)
            settle(waiting, request.warp, request.write, comes)
        if awaited(request.parts, request.far):
            waiting.asked[request.warp] -= 1
            waiting.over[request.warp] = max(waiting.over[request.warp], comes, t + f.result)
            rouse(waiting, request.warp)
        if request.copies:
            served(waiting.behind, request.warp, max(comes, t + f.result + request.later))
            rouse(waiting, request.warp)
            if arrived(waiting.behind, request.warp):
                waiting.wake[:] = waiting.soon[:] = 0
        path.free[one.free] = row
        one.free += 1
        moved = True
    if path.slots[slot] >= 0:
        return moved
    if one.pool and path.requests[path.pool[0]].fenced:
        first = path.requests[path.pool[0]]
        through = max(path.ends[0], path.ends[1]) + f.settle
        if first.fenced == BY_BARRIER:
            through = one.through + f.settle
            if first.meets != NOTHING:
                through = max(through, path.barriers[(one.passed - 1) % ENDED] + BEHIND)
        first.fenced, one.opens = 0, max(one.opens, through)
    if one.opens > t:
        return moved
    busy = -1
    if path.slots[1 - slot] >= 0 and path.ends[1 - slot] > t:
        busy = path.requests[int(path.slots[1 - slot])].warp
    for place in range(min(one.pool, f.look_ahead)):
        row = path.pool[place]
        request = path.requests[row]
        if request.fenced:
            break
        returns = not request.parts or one.bus <= t + SOON
        if request.warp != busy and request.moves <= t and returns and may_follow(path, waiting, place, t):
            if leaves(request.far) and not has_room(path.memory, f, request.far, t):
                continue
            if request.far == REMOTE and not request.parts and not may_leave(path.between, f, t):
                continue
            if waits(path.memory.stage, slot, path.ends[slot], f.service, request.parts > 0, t):
                return moved
            path.slots[slot] = row
            path.ends[slot] = t + f.service * request.cost
            if leaves(request.far) and not request.parts:
                reach(path.memory, f, row, request.far, -1, t + f.service)
            one.through = max(one.through, path.ends[slot] + max(request.fetches, 1))
            if request.fetches:
                waiting.stored[request.warp] = path.ends[slot] + request.fetches
            path.pool_places[one.left % RETURNS] = t + f.pool_return
            one.left += 1
            one.pool -= 1
            for n in range(place, one.pool):
                path.pool[n] = path.pool[n + 1]
            return True
    return moved


@inlined
def fence(path: Path, t: Integer) -> None:
    """Have what enters the pool from cycle t on, when a barrier ends, wait until all before it is through."""
    path.barriers[path.one[0].ended % ENDED] = t
    path.one[0].ended += 1


@inlined
def free(places: Integers, count: Integer, left: Integer, here: Integer) -> Integer:
    """The cycle from which on one of `count` places is free: `here` requests have one each, and those that left, in
    order, keep theirs until a cycle that stands in `places`, a ring. NEVER: first one must leave."""
    others = count - here
    return NEVER if others <= 0 else places[(left - others) & (len(places) - 1)]


@inlined
def grant(path: Path, s: Integer) -> None:
    """Note that sub-core s has had its turn: it comes last now."""
    for n in range(SUB_CORES - 1):
        if path.order[n] == s:
            path.order[n], path.order[n + 1] = path.order[n + 1], s


@inlined
def oldest(path: Path) -> Integer:
    """How many fences had gone through when the request issued that has waited before the pool for most of them since:
    those that issued later, and fences, enter it behind that."""
    fences: Integer = NEVER
    for s in range(SUB_CORES):
        core = path.sub_cores[s]
        if core.count:
            fences = min(fences, path.requests[path.queues[s, core.head]].fences)
    return fences


@inlined
def leave(path: Path, waiting: Waiting, f: Numbers, s: Integer, t: Integer) -> bool:
    """Let a request leave the queue of sub-core s, if there is room behind it. Returns whether there was one."""
    core = path.sub_cores[s]
    if core.count == core.held or core.held == f.held or core.opens > t:
        return False
    request = path.requests[path.queues[s, (core.head + core.held) % QUEUE]]
    if request.moves > t:
        return False
    core.opens = t + request.holds
    request.reads = max(request.reads, t + f.reads - f.to_pool + request.holds)
    core.held += 1
    path.queue_places[s, core.left % QUEUE] = t + f.queue_return
    core.left += 1
    waiting.soon[s] = 0
    return True


@inlined
def take_in(path: Path, waiting: Waiting, f: Numbers, t: Integer) -> bool:
    """Take one request of those that have left their queues into the pool, by the sub-cores' turns. Returns whether
    there was one."""
    one = path.one[0]
    full = free(path.pool_places, f.pool, one.left, one.pool) > t
    fences = oldest(path)
    best = -1
    for s in path.order[::-1]:
        core = path.sub_cores[s]
        if core.held:
            head = path.requests[path.queues[s, core.head]]
            if head.fences == fences and (head.fence or not full):
                best = s
    if best < 0:
        return False
    core = path.sub_cores[best]
    grant(path, best)
    row = path.queues[best, core.head]
    request = path.requests[row]
    core.head = (core.head + 1) % QUEUE
    core.count -= 1
    core.held -= 1
    if request.fence:
        one.fences += 1
        path.free[one.free] = row
        one.free += 1
        settle(waiting, request.warp, request.read, t + f.fence_entered)
        return True
    request.moves = t + f.to_slot
    if request.tags:
        one.tags = max(one.tags, t) + request.tags
        request.moves = one.tags + f.to_slot - 1
    request.fenced = BY_FENCE if request.fences > one.behind else 0
    one.behind = request.fences
    while one.passed < one.ended and path.barriers[one.passed % ENDED] <= t:
        request.fenced = BY_BARRIER
        one.passed += 1
    path.pool[one.pool] = row
    one.pool += 1
    warp = request.warp
    settle(waiting, warp, request.read, max(t + f.operands, request.reads))
    if not request.parts:
        settle(waiting, warp, request.write, t + f.operands)
    return True


@inlined
def move(path: Path, waiting: Waiting, f: Numbers, t: Integer) -> bool:
    """Have requests go on from the sub-cores to the pool. Returns whether any has."""
    moved, held = False, 0
    for s in range(SUB_CORES):
        moved |= leave(path, waiting, f, s, t)
        held += path.sub_cores[s].held
    return bool(held and take_in(path, waiting, f, t)) or moved


@inlined
def has_place(path: Path, f: Numbers, s: Integer) -> Integer:
    """The cycle from which on sub-core s may issue a memory instruction. NEVER: one must leave its queue first."""
    core = path.sub_cores[s]
    return max(core.next, free(path.queue_places[s], f.queue, core.left, core.count - core.held))


@inlined
def next_move(path: Path, f: Numbers) -> Integer:
    """The next cycle in which a request may move on, or an earlier one."""
    one = path.one[0]
    first: Integer = NEVER
    for slot in range(2):
        if path.slots[slot] >= 0:
            first = min(first, path.ends[slot])
        elif one.pool:
            return 0
    place = free(path.pool_places, f.pool, one.left, one.pool)
    for s in range(SUB_CORES):
        core = path.sub_cores[s]
        if core.held:
            first = min(first, 0 if path.requests[path.queues[s, core.head]].fence else place)
        if core.count > core.held and core.held < f.held:
            first = min(first, max(core.opens, path.requests[path.queues[s, (core.head + core.held) % QUEUE]].moves))
    return first


@outer
def drain(each: Integers, t: Integer) -> None:
    """Serve from cycle t on what warps left behind. `each`: the addresses of a Path, its Waiting and the figures."""
    path, waiting, f = at(Path, each[0]), at(Waiting, each[1]), carray(pointer(each[2]), 1, NUMBERS)[0]
    one = path.one[0]
    while one.free < REQUESTS:
        serve(path, waiting, f, t)
        move(path, waiting, f, t)
        t += 1


@inlined
def next_row(path: Path) -> Integer:
    """The row that the next request will have."""
    return path.free[path.one[0].free - 1]


@inlined
def offer(
    path: Path,
    f: Numbers,
    s: Integer,
    t: Integer,
    warp: Integer,
    cost: Integer,
    parts: Integer,
    later: Integer,
) -> Integer:
    """Put a request into the queue of sub-core s. Returns its row, whose scoreboards the caller sets."""
    core, one = path.sub_cores[s], path.one[0]
    one.free -= 1
    row = path.free[one.free]
    request = path.requests[row]
    request.warp, request.cost, request.parts, request.later, request.fetches = warp, cost, parts, later, 0
    request.tags, request.far, request.copies, request.reads, request.holds = 0, NEAR, 0, 0, f.apart
    request.meets, request.fence, request.fences = NOTHING, 0, one.fences
    request.moves = t + f.to_pool
    path.queues[s, (core.head + core.count) % QUEUE] = row
    core.count += 1
    core.next = t + f.apart
    return row


@inlined
def offer_fence(
    path: Path,
    waiting: Waiting,
    f: Numbers,
    s: Integer,
    t: Integer,
    warp: Integer,
    scoreboard: Integer,
    begins: Integer,
) -> None:
    """Put a fence, which begins at some cycle, into the queue of sub-core s; it takes no place of the pool."""
    fence = path.requests[offer(path, f, s, t, warp, 1, 0, 0)]
    fence.fence, fence.read, fence.moves = 1, scoreboard, begins + f.to_pool
    waiting.until[warp, scoreboard] = max(waiting.until[warp, scoreboard], begins + f.fence)
