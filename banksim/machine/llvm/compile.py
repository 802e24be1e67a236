"""From an LLVM module to code that runs: the loop over blocks, compilation, the object cache."""

import ctypes
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache, partial
from itertools import accumulate
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt

from banksim.kernels.kernel import BYTES, Kernel
from banksim.machine import codes, state
from banksim.machine.launch import Launch
from banksim.machine.llvm import ir
from banksim.machine.llvm.builder import Builder
from banksim.machine.llvm.counts import Site, numbers_of
from banksim.machine.llvm.emit import APART, Emitter
from banksim.machine.llvm.engine import Register, register_at
from banksim.machine.llvm.objects import QUICKLY, engine_version, objects
from banksim.machine.llvm.translate import Translation, translate
from banksim.machine.llvm.values import INT, POINTER, VOID, WORDS
from banksim.machine.llvm.warp_work import add_note_work
from banksim.machine.state import CLUSTER, CONTEXT, ERROR, WARP
from banksim.system import cache
from banksim.system.collector import paused
from banksim.system.native_code import WELL, linked, prepare_llvm
from banksim.system.progress import TranslationProgress

Built = tuple[bytes, bytes]
"""The object codes of a kernel, one behind the other, and JSON of what belongs to them and what its counters mean."""


@dataclass
class Compiled:
    """A kernel as machine code of this computer. `blocks(context, first, last)` → 0 or FAULT + code;
    `one_pass(context)` lets each warp of the block run once → RUN, DONE, BLOCKED or FAULT + code.

    `spans` are the basic blocks (first pc, pc behind), in the order of their two counters (warps, threads);
    `guarded` the predicated instructions, one counter each behind those; `sites` (pc, op, width) the memos.
    `begin(context, block)` makes a block's warps and memory ready; `step` is the address of step(context, warp), which
    runs a warp, by one instruction if it was so compiled; `spare` are bytes of a warp's record behind its registers.
    """

    blocks: Callable[[int, int, int], int]
    spans: list[tuple[int, int]]
    guarded: list[int]
    sites: list[Site]
    begin: Callable[[int, int], None]
    one_pass: Callable[[int], int]
    step: int
    spare: int = 0
    keep: Any = None

    @property
    def counters(self) -> int:
        return 2 * len(self.spans) + len(self.guarded)

    @cached_property
    def places(self) -> npt.NDArray[np.int64]:
        """Of each instruction the places of its three counts among the counters: of warps, threads, threads whose guard
        held. -1 where nothing comes."""
        found = np.full((max(end for _, end in self.spans) // BYTES, 3), -1)
        for number, (start, end) in enumerate(self.spans):
            found[start // BYTES : end // BYTES] = 2 * number, 2 * number + 1, 2 * number + 1
        for number, pc in enumerate(self.guarded, 2 * len(self.spans)):
            found[pc // BYTES, 2] = number
        return found

    @cached_property
    def numbers_of_sites(self) -> dict[Site, list[int]]:
        return numbers_of(self.sites)

    def warp_instructions(self, counters: npt.NDArray[np.int64]) -> int:
        """How many were executed, by what was counted."""
        return sum((end - start) // BYTES * int(counters[2 * n]) for n, (start, end) in enumerate(self.spans))

    def thread_instructions(self, counters: npt.NDArray[np.int64]) -> int:
        """How many the active threads of all warps executed, whether their guards held or not."""
        return sum((end - start) // BYTES * int(counters[2 * n + 1]) for n, (start, end) in enumerate(self.spans))


def add_begin(out: Translation, watched: bool) -> None:
    """Add `begin(context, block)`, which puts the block's warps and memory into the state in which a block starts."""
    e = Emitter(out.module)
    function = ir.Function(out.module, VOID, [POINTER, INT[64]], "begin")
    function.attributes.add(APART)
    context, block = function.args
    e.function, e.b = function, Builder(function.append_basic_block("entry"))
    b = e.b
    count, size = e.get(context, CONTEXT, "warp_count"), e.get(context, CONTEXT, "warp_size")
    warps, template, shared = (e.get(context, CONTEXT, n, as_type=POINTER) for n in ("warps", "template", "shared"))
    e.set(context, CONTEXT, "block", block)
    e.set(context, CONTEXT, "now", INT[64](0))
    e.set(context, CONTEXT, "nanoseconds", INT[64](0))
    e.set(context, CONTEXT, "live", e.get(context, CONTEXT, "threads"))
    cluster = e.get(context, CONTEXT, "cluster", as_type=POINTER)
    e.set(cluster, CLUSTER, "live", e.get(cluster, CLUSTER, "threads"))
    e.set(cluster, CLUSTER, "arrived", INT[64](0))
    e.set(cluster, CLUSTER, "ended", INT[32](0))
    allowance, budget = e.get(context, CONTEXT, "allowance"), e.get(context, CONTEXT, "budget")
    e.set(context, CONTEXT, "budget", b.select(b.icmp_unsigned("==", allowance, INT[64](0)), budget, allowance))
    bytes_of = e.get(context, CONTEXT, "shared_reach")
    own = e.at(shared, e.get(context, CONTEXT, "own_shared"))
    e.call("llvm.memset.p0.i64", VOID, own, INT[8](0), bytes_of, INT[1](0))
    if out.begins:
        out.begins(e, context)
    barriers = e.field(context, CONTEXT, "arrived")
    e.call("llvm.memset.p0.i64", VOID, barriers, INT[8](0), INT[64](6 * 4 * codes.BLOCK_BARRIERS), INT[1](0))
    if watched:
        e.call("watch_block", VOID, context)
    else:
        add_probing(e, context, block)
    grid_x, grid_y = e.get(context, CONTEXT, "grid", 0), e.get(context, CONTEXT, "grid", 1)
    row = b.udiv(block, grid_x)
    place = (b.urem(block, grid_x), b.urem(row, grid_y), b.udiv(row, grid_y))
    start = b.block
    number, end = b.append_basic_block("number"), b.append_basic_block("end")
    b.branch(number)
    b.position_at_end(number)
    warp = b.phi(INT[64])
    warp.add_incoming(INT[64](0), start)
    record, as_at_start = e.at(warps, b.mul(warp, size)), e.at(template, b.mul(warp, INT[64](WARP.itemsize)))
    e.call("llvm.memcpy.p0.p0.i64", VOID, record, as_at_start, INT[64](state.FRESH), INT[1](0))
    for axis, v in enumerate(place):
        e.set(record, WARP, "block", b.trunc(v, INT[32]), axis)
    add_zeros(e, out.unwritten, record, size)
    following = b.add(warp, INT[64](1))
    warp.add_incoming(following, number)
    b.cbranch(b.icmp_unsigned("<", following, count), number, end)
    b.position_at_end(end)
    b.ret_void()


def add_zeros(e: Emitter, registers: Sequence[Register] | None, record: ir.Value, size: ir.Value) -> None:
    """Zero registers of a warp; None: all of them, and what lies behind."""
    if registers is None:
        first = state.offset(WARP, "uniform")
        e.call("llvm.memset.p0.i64", VOID, e.at(record, first), INT[8](0), e.b.sub(size, INT[64](first)), INT[1](0))
    for register in registers or ():
        where = register_at(e, record, register)
        e.store(ir.Constant(WORDS if register[0] == "R" else INT[32], None if register[0] == "R" else 0), where)


def add_probing(e: Emitter, context: ir.Value, block: ir.Value) -> None:
    """Decide whether the requests of a block are probed for races."""
    b = e.b
    probed = e.get(context, CONTEXT, "probed")
    none = b.icmp_unsigned("==", probed, INT[64](0))
    other = b.icmp_unsigned("!=", b.urem(block, b.select(none, INT[64](1), probed)), INT[64](0))
    requests = b.select(b.or_(none, other), INT[64](0), INT[64](state.PROBED_REQUESTS))
    e.set(context, CONTEXT, "probing", requests)


def add_pass(module: ir.Module) -> None:
    """Add `one_pass(context)`, which runs each warp of the block once. Returns RUN while threads are left, DONE when
    none is, BLOCKED if no warp could go on, or FAULT + code."""
    e = Emitter(module)
    function = ir.Function(module, INT[32], [POINTER], "one_pass")
    function.attributes.add(APART)
    (context,) = function.args
    e.function, e.b = function, Builder(function.append_basic_block("entry"))
    b = e.b

    def pointer(name: str) -> ir.Value:
        return e.get(context, CONTEXT, name, as_type=POINTER)

    count, size = e.get(context, CONTEXT, "warp_count"), e.get(context, CONTEXT, "warp_size")
    warps, stop, length = pointer("warps"), pointer("stop"), e.get(context, CONTEXT, "turn_length")
    warp, alive = b.alloca(INT[64]), b.alloca(INT[64])
    before = e.get(context, CONTEXT, "resumed")
    next_warp, run, ran, ended, passed = (
        b.append_basic_block(n) for n in ("next_warp", "run", "ran", "ended", "passed")
    )
    after, finish, out_of_time, stopped = (
        b.append_basic_block(n) for n in ("after", "finish", "out_of_time", "stopped")
    )
    b.store(INT[64](0), alive)
    b.store(INT[64](0), warp)
    b.branch(next_warp)
    b.position_at_end(next_warp)
    record = e.at(warps, b.mul(b.load(warp), size))
    b.cbranch(e.empty(e.get(record, WARP, "live")), after, run)
    b.position_at_end(run)
    e.set(context, CONTEXT, "turn", length)
    answer = e.call("warp", INT[32], context, record)
    b.cbranch(b.icmp_signed(">=", answer, INT[32](codes.FAULT)), ended, ran)
    b.position_at_end(ended)
    b.ret(answer)
    b.position_at_end(ran)
    done = b.icmp_unsigned("==", answer, INT[32](codes.DONE))
    b.store(b.add(b.load(alive), b.zext(b.not_(done), INT[64])), alive)
    wanted = b.icmp_unsigned("!=", e.get(context, CONTEXT, "work"), INT[64](0))
    went_on = b.icmp_signed("!=", answer, INT[32](codes.BLOCKED))
    with b.if_then(b.and_(wanted, went_on), likely=False):
        e.call("note_work", VOID, context, b.load(warp))
    used = b.sub(length, e.get(context, CONTEXT, "turn"))
    left = b.sub(e.get(context, CONTEXT, "budget"), used)
    e.set(context, CONTEXT, "budget", left)
    with b.if_then(b.icmp_unsigned("!=", b.load(stop, typ=INT[32]), INT[32](0)), likely=False):
        b.branch(stopped)
    b.cbranch(b.icmp_signed("<", left, INT[64](0)), out_of_time, after)
    b.position_at_end(after)
    b.store(b.add(b.load(warp), INT[64](1)), warp)
    b.cbranch(b.icmp_unsigned("<", b.load(warp), count), next_warp, passed)
    b.position_at_end(passed)
    with b.if_then(b.icmp_unsigned("==", b.load(alive), INT[64](0)), likely=False):
        b.branch(finish)
    progress = b.icmp_unsigned("!=", e.get(context, CONTEXT, "resumed"), before)
    b.ret(b.select(progress, INT[32](codes.RUN), INT[32](codes.BLOCKED)))
    b.position_at_end(finish)
    e.increase(e.field(context, CONTEXT, "blocks_done"), INT[64](1))
    b.ret(INT[32](codes.DONE))
    for where, code in ((out_of_time, codes.LIMIT), (stopped, codes.INTERRUPTED)):
        b.position_at_end(where)
        e.set(pointer("error"), ERROR, "code", INT[32](code))
        e.set(pointer("error"), ERROR, "warp", e.get(record, WARP, "index"))
        b.ret(INT[32](codes.FAULT + code))


def add_block_loop(module: ir.Module) -> None:
    """Add `blocks(context, first, last)`, which runs block after block, each until all its threads have exited."""
    e = Emitter(module)
    function = ir.Function(module, INT[32], [POINTER, INT[64], INT[64]], "blocks")
    function.attributes.add(APART)
    context, first, last = function.args
    e.function, e.b = function, Builder(function.append_basic_block("entry"))
    b = e.b
    error, stop = (e.get(context, CONTEXT, name, as_type=POINTER) for name in ("error", "stop"))
    block = b.alloca(INT[64])
    next_block, start, run, ended, finish, stuck, stopped = (
        b.append_basic_block(n) for n in ("next_block", "start", "run", "ended", "finish", "stuck", "stopped")
    )
    b.store(first, block)
    b.branch(next_block)
    b.position_at_end(next_block)
    with b.if_then(b.icmp_unsigned(">=", b.load(block), last)):
        b.ret(INT[32](0))
    b.cbranch(b.icmp_unsigned("!=", b.load(stop, typ=INT[32]), INT[32](0)), stopped, start)
    b.position_at_end(start)
    e.call("begin", VOID, context, b.load(block))
    b.branch(run)
    b.position_at_end(run)
    answer = e.call("one_pass", INT[32], context)
    switch = b.switch(answer, ended)
    for code, where in ((codes.RUN, run), (codes.DONE, finish), (codes.BLOCKED, stuck)):
        switch.add_case(INT[32](code), where)
    b.position_at_end(ended)
    b.ret(answer)
    b.position_at_end(finish)
    b.store(b.add(b.load(block), INT[64](1)), block)
    b.branch(next_block)
    for where, code in ((stuck, codes.BLOCK_DEADLOCK), (stopped, codes.INTERRUPTED)):
        b.position_at_end(where)
        e.set(error, ERROR, "code", INT[32](code))
        b.ret(INT[32](codes.FAULT + code))


def supply(names: Iterable[str]) -> None:
    """Tell LLVM the addresses of the functions that a kernel calls; those not called before are compiled now."""
    from banksim.machine.llvm.driver_callbacks import serve
    from banksim.machine.llvm.native_symbols import MODULES, address
    from banksim.machine.llvm.trace_callbacks import hand_on

    plain = {"serve": serve, "hand_on": hand_on}
    for name in names:
        if name in MODULES:
            llvm.add_symbol(name, address(name))
        elif name in plain:
            llvm.add_symbol(name, ctypes.cast(plain[name], ctypes.c_void_p).value)


def build(kernel: Kernel, traced: bool, stepwise: bool, watched: bool, clustered: bool, how: int = WELL) -> Built:
    progress = TranslationProgress(kernel.plain_name, len(kernel.instructions))
    shown = sys.stderr is not None and sys.stderr.isatty()
    out = translate(kernel, traced, stepwise, watched, clustered, progress if shown else None, how == QUICKLY)
    if shown:
        progress(len(kernel.instructions) - progress.done)
        progress(0)
    made = finished(out, watched, how)
    progress.clear()
    return made


def finished(out: Translation, watched: bool = False, how: int = WELL) -> Built:
    """What a translated kernel is compiled to, with the loop over blocks."""
    add_begin(out, watched)
    add_note_work(out.module)
    add_pass(out.module)
    add_block_loop(out.module)
    calls = [name for name, function in out.module.functions.items() if function.is_declaration]
    meaning = {"spans": out.blocks, "guarded": out.guarded, "sites": out.sites, "calls": calls, "spare": out.spare}
    codes = objects(out.module, how)
    meaning["sizes"] = list(map(len, codes))
    return b"".join(codes), json.dumps(meaning).encode()


LITTLE = 1 << 20
"""Instructions of all warps of a launch, each counted once, up to which its kernel is compiled quickly: executing them
takes some milliseconds, compiling their kernel well some tenths of a second."""


def compile_for(launch: Launch, traced: bool = False, stepwise: bool = False, watched: bool = False) -> Compiled:
    """The kernel of a launch as machine code: `compile_kernel`."""
    return compile_kernel(
        launch.kernel, traced, stepwise, watched, launch.cluster_blocks > 1, how_for(launch, launch.blocks)
    )


def how_for(launch: Launch, blocks: int) -> int:
    """How code is compiled of which so many blocks of a launch are executed."""
    return QUICKLY if launch.warps * blocks * len(launch.kernel.instructions) <= LITTLE else WELL


@lru_cache(maxsize=256)
def compile_kernel(
    kernel: Kernel,
    traced: bool = False,
    stepwise: bool = False,
    watched: bool = False,
    clustered: bool = False,
    how: int = WELL,
) -> Compiled:
    """The kernel as machine code that judges requests (and, if `traced`, writes them down; if `watched`, shows them to
    `races.watched_requests`; if `clustered`, for launches whose blocks reach into each other's shared memory): from the
    user's cache if it was compiled before."""
    ways = traced, stepwise, watched, clustered, how
    return loaded(kernel, " ".join(map(str, ways)), partial(build, kernel, *ways), watched)


NOT_TRANSLATED = {"name", "plain_name", "instructions", "globals", "variables", "cubin", "for_arch"}
"""The fields of a kernel that its machine code does not depend on, and the instructions, which `translated` writes."""


def translated(kernel: Kernel) -> str:
    """All that a kernel's machine code depends on: equal for kernels that differ in names, lines and what is beside
    them in the cubin."""
    code = [(i.pc, i.base, i.opcode, i.name, i.predicate, i.operands, i.encoding) for i in kernel.instructions]
    return repr((code, *(getattr(kernel, one.name) for one in fields(kernel) if one.name not in NOT_TRANSLATED)))


def object_key(kernel: Kernel, ways: str) -> str:
    """The name in the user's cache of a kernel's machine code. It is that of the instructions, so that a source with
    another line changed is not compiled again; as long as the cubin is the same, they need not be looked at."""
    version = engine_version(), prepare_llvm(), f"{ways} {kernel.slot}"
    of_cubin = cache.key("kernel", *version, kernel.name, kernel.cubin)
    known = cache.get(of_cubin)
    if known is not None:
        return known.decode()
    key = cache.key("object", *version, translated(kernel))
    cache.put(of_cubin, key.encode())
    return key


def loaded(kernel: Kernel, ways: str, make: Callable[[], Built], watched: bool = False) -> Compiled:
    """What `make` gives (as `finished` does) as machine code that can be called, from the user's cache if a kernel was
    made in these ways before."""
    key = object_key(kernel, ways)
    stored = cache.get(key)
    if stored is None:
        with paused():
            code, meaning = make()
        cache.put(key, len(meaning).to_bytes(8, "little") + meaning + code)
    else:
        size = int.from_bytes(stored[:8], "little")
        meaning, code = stored[8 : 8 + size], stored[8 + size :]
    known = json.loads(meaning)
    supply(known["calls"])
    ends = [*accumulate(known["sizes"])]
    engine = linked(code[end - size : end] for end, size in zip(ends, known["sizes"], strict=True))
    prototype = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    return Compiled(
        blocks=prototype(engine.get_function_address("blocks")),
        spans=[tuple(s) for s in known["spans"]],
        guarded=known["guarded"],
        sites=[tuple(s) for s in known["sites"]],
        begin=ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64)(engine.get_function_address("begin")),
        one_pass=ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(engine.get_function_address("one_pass")),
        step=engine.get_function_address("warp"),
        spare=known["spare"],
        keep=engine,
    )
