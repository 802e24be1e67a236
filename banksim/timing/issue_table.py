"""A kernel's code as a table with one row for each instruction: what the time model needs to issue it."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from banksim.kernels.kernel import Instruction, Kernel
from banksim.machine.operations.loads_and_stores import SPACES, memory_operand, result, width
from banksim.machine.operations.loads_and_stores import request as asks
from banksim.machine.races.access_kinds import GROUP_ENDS
from banksim.timing import asynchronous
from banksim.timing.constant_caches import note_constant
from banksim.timing.control_fields import control
from banksim.timing.global_memory import ATOMIC, CACHED, NEAR, PAST, REDUCED, STORED
from banksim.timing.issue_records import CODE
from banksim.timing.source_registers import WIDE, fresh_results, reads, reads_behind, registers, slots

PLAIN, VARIABLE, MEMORY, FENCE, BARRIER, SLEEP = range(6)
"""Kinds of instructions, by what issuing one does. PLAIN only counts its stall cycles; VARIABLE releases a scoreboard
after a known latency; MEMORY puts a request into the sub-core's queue; SLEEP pauses (NANOSLEEP)."""
SHARED, GLOBAL, OTHER, ASSUMED, SIGNALS = range(5)
"""The accounts for cycles of waiting for a scoreboard; ASSUMED: for global memory, after an assumed constant; SIGNALS:
for the end of an mbarrier's phase."""


class Unit(NamedTuple):
    """Where an instruction runs. It holds `pipe` of its sub-core for `interval` cycles, and `server`, a unit that all
    sub-cores share (-1: none), `serves` times as long as most do. `latency`: cycles until its result may be used, if a
    scoreboard guards that. `more`: cycles by which the warp's next instruction comes later than the stall count
    says. `blocks`: cycles for which it holds `others` as well, a mask of pipes. `way`: cycles until it comes to the
    server, from whose begin with it `latency` counts. `ahead`: how long before this begin the sub-core may use the pipe
    again (-1: at any time). `each`, `between` and `passes`: see IssueRow."""

    pipe: int
    interval: int
    latency: int = 0
    server: int = -1
    more: int = 0
    serves: int = 1
    blocks: int = 0
    others: int = 0
    each: int = 0
    way: int = 0
    ahead: int = -1
    between: int = 0
    passes: int = 0


ALU, FMA, HEAVY, PAIR, XU, DOUBLE, TENSOR, UNIFORM, SYSTEM = range(9)
"""The pipes of a sub-core. FMA and HEAVY: the halves of the multipliers; integers use HEAVY only, floats also
where FMA is held, pairs of halves both, but HFMA2.MMA has a pipe of its own, PAIR. SYSTEM: the way to a shared
unit."""
BOTH = 1 << FMA
"""`others` of what takes both halves of the multipliers,"""
WIDE_HOLDS = 1 << ALU | 1 << FMA | 1 << UNIFORM
"""… of products of 64 bits,"""
REQUESTS = 1 << SYSTEM + 1
"""… and of what keeps the requests of its sub-core in their queue."""
HALF = 2
"""Cycles for which a float holds one of the halves."""
PIPES = (
    "integer and logic",
    "float",
    "multiply",
    "pairs of halves",
    "special functions",
    "double",
    "tensor",
    "uniform",
    "system",
)
"""Their names in reports."""
CONSTANTS, BARRIERS, CONVERGENCE, FENCES, PARTS = range(5)
"""The units that all sub-cores share (`server`): that of constants, which also gives special registers of blocks and
compares lanes (MATCH, REDUX); barriers; the unit at which a warp's threads converge, call and return; and that of
fences; and from PARTS on what each sub-core has to send the parts of a warp on."""
_TABLE = {
    "FADD FMUL FFMA": Unit(FMA, 1),
    "IMAD IDP VIADD": Unit(HEAVY, 2),
    "HFMA2 HADD2 HMUL2": Unit(HEAVY, 2, blocks=2, others=BOTH),
    "HFMA2.MMA": Unit(PAIR, 2),
    "IMAD.HI": Unit(HEAVY, 4, more=2, blocks=3, others=WIDE_HOLDS),
    "IMAD.WIDE": Unit(HEAVY, 4, more=2, blocks=3, others=WIDE_HOLDS, between=2),
    "IADD3 LOP3 SHF PRMT LEA SEL FSEL FMNMX IMNMX VIMNMX VIMNMX3 FSETP ISETP MOV PLOP3 VABSDIFF SGXT BMSK": Unit(
        ALU, 2
    ),
    "I2FP P2R R2P IABS HMNMX2 VHMNMX HSETP2 F2FP FSET VOTE": Unit(ALU, 2),
    "MUFU POPC FLO BREV F2I I2F FRND F2F": Unit(XU, 8, 17),
    "FCHK": Unit(XU, 8, 26),
    "F2F.F64.F32": Unit(XU, 8, 16),
    "F2F.F32.F64 F2I.F64 I2F.F64 F2I.U64 I2F.U64 F2I.S64 I2F.S64": Unit(XU, 9, 18),
    "FRND.F64": Unit(XU, 9, 19),
    "DADD DMUL DFMA DSETP": Unit(DOUBLE, 2, 8),
    "HMMA IMMA HMMA.1688.F32.TF32": Unit(TENSOR, 6, 33, blocks=6, others=REQUESTS),
    "HMMA.1688 HMMA.1684 IMMA.16816": Unit(TENSOR, 4, 33),
    "DMMA": Unit(TENSOR, 16, 26),
    "LDC": Unit(SYSTEM, 1, 28, CONSTANTS, each=8, ahead=8),
    "ULDC": Unit(UNIFORM, 1),
    "S2R": Unit(SYSTEM, 1, 23, CONSTANTS, ahead=8, passes=1),
    "S2UR": Unit(SYSTEM, 3, 35, CONSTANTS, ahead=8, passes=1),
    "B2R": Unit(SYSTEM, 2, 16, BARRIERS, way=10, ahead=32),
    "MATCH": Unit(SYSTEM, 4, 28, CONSTANTS, ahead=16),
    "REDUX": Unit(SYSTEM, 4, 38, CONSTANTS, ahead=8),
    "BAR": Unit(SYSTEM, 1, server=BARRIERS, ahead=32),
    "BAR.RED": Unit(SYSTEM, 1, server=BARRIERS, way=10, ahead=32),
    "BAR.ARV": Unit(SYSTEM, 1, server=BARRIERS, way=10, ahead=32),
    "SYNCS": Unit(SYSTEM, 3, 37),
    "UIADD3 UIMAD UISETP ULEA ULOP3 UPLOP3 UPRMT USEL USGXT USHF": Unit(UNIFORM, 2),
    "R2UR": Unit(UNIFORM, 2, 12),
    "CS2R": Unit(UNIFORM, 6),
    "CS2R.32": Unit(ALU, 2),
    "CALL": Unit(SYSTEM, 5, server=CONVERGENCE),
    "RET": Unit(SYSTEM, 5, server=CONVERGENCE, more=33),
    "MEMBAR": Unit(SYSTEM, 5, server=FENCES, serves=2),
    "MEMBAR.ALL.GPU": Unit(SYSTEM, 5, server=FENCES, serves=2, more=248),
    "MEMBAR.SC.GPU": Unit(SYSTEM, 5, server=FENCES, serves=2, more=251),
    "YIELD": Unit(SYSTEM, 1, server=CONVERGENCE, serves=2, more=46, blocks=8, others=REQUESTS),
    "BSYNC": Unit(SYSTEM, 4, server=CONVERGENCE, more=8),
    "WARPSYNC": Unit(-1, 11, 10, each=20),
    "WARPSYNC.EXCLUSIVE": Unit(-1, 9, each=31),
}
UNITS = {name: unit for names, unit in _TABLE.items() for name in names.split()}
"""Measured on one H200: tests/data/hardware/timing/latency.npz; IMAD.HI and IMAD.WIDE
tests/data/timing/h200_multipliers.npz; pairs of halves and VIMNMX3 h200_uniform.npz there; LDC, ULDC, S2R, S2UR, MATCH
and REDUX of many warps h200_prologues.npz, S2UR's latency h200_sequences.npz, B2R and BAR.RED h200_reductions.npz,
BAR.ARV and F2F.F64.F32 h200_arrivals.npz, how long before BAR the next may follow h200_begins.npz; how long HMMA keeps
requests waiting h200_collector.npz there; MEMBAR.ALL.GPU tests/data/hardware/timing/clusters.npz; BSYNC on one H100:
tests/data/timing/h100_code.json, YIELD of several warps: h200_loops.npz there; `each`, and WARPSYNC: h200_parts.npz."""
ANYTHING_ELSE = Unit(SYSTEM, 2, 23)
EACH_REGISTER = 2
"""Cycles for which a register that a memory instruction reads holds the sub-core's way to the queue (LATENCY)."""
DIRECT = 3
"""How many cycles sooner a constant comes whose address needs no register (tests/data/timing/h200_latencies.npz)."""
INDEXED = 4
"""Cycles for which a constant holds its sub-core's way whose address needs a register
(tests/data/hardware/timing/latency.npz)."""
TO_PREDICATE = 5
"""How many cycles later what a barrier gives comes to a predicate than to a register (h200_exits.npz)."""
BY_REGISTER = 12
"""Cycles until a barrier comes to their unit whose number, or number of threads, is in a register (h200_turns.npz),"""
ENDS = 2
"""… and for which its end holds that unit (h200_resident.npz: named)."""
ENDING = 10
"""Cycles from the issue of EXIT until its warp has ended, if all that it asked for is over (h200_exits.npz)."""
THREADS = 2
"""Cycles for which a special register of threads holds the bus of results (h200_stage.npz, h200_prologues.npz)."""
LATER = {"cas": 5, "SHFL": 1, "MOVM": 1, "LDL": -2, "S2R": -1}
"""By op or opcode: how many cycles later than that of a load the result comes (of local memory h200_hits.npz)."""


def code_table(kernel: Kernel) -> npt.NDArray[np.void]:
    """One row of dtype CODE for each instruction, in order."""
    table = np.zeros(len(kernel.instructions), CODE)
    kept: dict[bool, dict[int, int]] = {False: {}, True: {}}  # … of doubles apart (LATENCY)
    written: dict[int, int] = {}  # by register: the number of the last instruction that writes it
    for n, (row, i) in enumerate(zip(table, kernel.instructions, strict=True)):
        c = control(i)
        sources, wide = slots(i), unit(i).pipe == DOUBLE
        if kind(i) == PLAIN and unit(i).pipe in (ALU, FMA, HEAVY, PAIR, DOUBLE):
            fresh = {slot: n for slot, n in sources.items() if kept[wide].get(slot) != n}
            row["reads"], row["again"] = reads(i, sources, fresh, wide)
            row["newer"], row["older"] = fresh_results(n, fresh, written)
            if i.operands and i.operands[0].kind == "R":
                written[i.operands[0].number] = n
        kept[wide] = {slot: number for slot, number in sources.items() if c.reuse >> slot & 1}
        row["stall"], row["wait"], row["yields"] = max(c.stall, 1 + (c.stall == 1 and c.yields)), c.wait, c.yields
        row["write"] = -1 if c.write is None else c.write
        row["read"] = -1 if c.read is None else c.read
        row["pipe"] = row["register"] = row["matches"] = row["values"] = -1
        row["kind"] = kind(i)
        row["joins"] = i.name in ("BSYNC", "WARPSYNC")
        counted = c.write is not None or c.read is not None
        if row["kind"] == SLEEP:
            pause = next(o for o in i.operands if o.kind in ("imm", "R", "UR"))
            row["pause"] = pause.number if pause.kind == "imm" else 0
            row["register"] = pause.number if pause.kind == "R" and not pause.is_zero else -1
        if row["kind"] == MEMORY:
            loads = i.name.startswith(("LD", "T", "SULD"))
            row["returns"] = c.write is not None or i.name == "S2R" or (loads and i.name != "LDGSTS")
            row["far"] = reaches(i)
            row["apart"] = max(EACH_REGISTER * registers(i), 1)
            row["even_behind"], row["odd_behind"] = reads_behind(i)
            row["parts"] = THREADS if i.name == "S2R" else 1
            row["cost"] = 1 if not row["far"] else max(width(i) // 4, 1) if loads else 0
            asked = asks(i)
            row["floats"] = any(m.startswith(("F32", "F16", "F64", "BF16")) for m in i.modifiers)
            row["together"] = asked is not None and "matrix" in asked[0]
            row["copies"] = i.name == "LDGSTS"
            if asked is not None and asked[0] == "st":
                row["fetches"] = 1 + max(width(i) // 2, 2)
            row["later"] = LATER.get(asked[0] if asked else i.name, 0)
        elif counted or unit(i) is not ANYTHING_ELSE:
            for field, value in unit(i)._asdict().items():
                row[field] = value
            if i.name == "LDC":
                index = [part for o in i.operands[1:] for part in o.parts if part.kind == "R"]
                row["values"] = next((part.number for part in index if not part.is_zero), -1)
                row["latency"] -= 0 if index else DIRECT
                row["interval"] = INDEXED if row["values"] >= 0 else row["interval"]
            row["waits"], row["fences"] = "ARV" not in i.modifiers, "SYNC" in i.modifiers  # others were not measured
            row["reduces"] = "RED" in i.modifiers
            if i.name == "B2R" and any(o.kind == "P" for o in i.operands):
                row["latency"] += TO_PREDICATE
            if i.name == "BAR" and any(o.kind == "R" and not o.is_zero for o in i.operands):
                row["way"], row["each"] = max(row["way"], BY_REGISTER), ENDS
            if i.name == "WARPSYNC" and i.operands and i.operands[0].kind == "R" and not i.operands[0].is_zero:
                row["values"] = i.operands[0].number
            row["alone"] = i.opcode.startswith(WIDE) and len(sources) == 3
            if i.opcode.startswith("MATCH.ANY") and not i.operands[0].is_zero:
                row["matches"] = i.operands[0].number
            if row["kind"] == PLAIN and counted:
                row["kind"] = VARIABLE
        if i.name == "EXIT":
            row["exits"], row["way"] = True, ENDING
        follow(row, i)
        note_constant(row, i)
        guard = i.predicate
        row["guard"] = -1 if guard is None else guard.number + 8 * (guard.kind == "UP")
        row["inverted"] = guard is not None and guard.inverted
    return table


def follow(row: np.void, i: Instruction) -> None:
    """Fill in what an instruction does behind its warp."""
    row["behind"] = behind(i)
    row["base"] = row["uniform"] = row["units"] = row["multicast"] = -1
    if i.name in ("STAS", "REDAS"):  # the register behind the address holds the mbarrier's
        row["base"] = memory_operand(i).parts[0].number + 1
    elif row["behind"] in (asynchronous.BEGINS, asynchronous.ARRIVES, asynchronous.ARRIVES_LATER, asynchronous.TRIES):
        for part in next(o for o in i.operands if o.kind == "memory").parts:
            if part.kind == "imm":
                row["offset"] += np.int32(np.uint32(part.number))
            elif not part.is_zero:
                row["base" if part.kind == "R" else "uniform"] = part.number
    elif row["behind"] == asynchronous.COPIES_IN:
        row["uniform"] = i.operands[0].parts[0].number + 1
        row["near"] = i.name.startswith("UBLK") and "G" not in i.modifiers
        if "MULTICAST" in i.modifiers:
            row["multicast"] = i.operands[2].number
    elif row["behind"] in (asynchronous.AWAITS, asynchronous.AWAITS_PRODUCTS):
        row["pending"] = next((o.number for o in i.operands if o.kind == "imm"), 0)
    elif row["behind"] == asynchronous.MULTIPLIES:
        row["interval"] = product_cycles(i)
        row["latency"] = columns_of(i) // 2 + PRODUCT
        row["commits"] = any(o.text == GROUP_ENDS for o in i.operands)
    if i.name.startswith("UBLK") and row["behind"]:
        row["units"] = i.operands[2].number


PRODUCT = 34
"""Cycles from the begin of a product until its sums may be used, besides one for each two columns."""


def columns_of(i: Instruction) -> int:
    return int(next(m for m in i.modifiers if m.startswith("64x")).split("x")[1])


def product_cycles(i: Instruction) -> int:
    """For how long a product of a group of warps holds the tensor cores: they multiply 32 bytes of two columns with 64
    rows a cycle, if shared memory gives them the operands as fast, 128 bytes a cycle; four more with A in registers."""
    columns = columns_of(i)
    if i.operands[1].kind == "gdesc":
        return max(columns // 2, 32 * (columns + 64) // 128)
    return max(columns // 2 + 4, 17)


def behind(i: Instruction) -> int:
    """What an instruction does to mbarriers and groups."""
    marks = i.modifiers
    if i.name in ("HGMMA", "QGMMA", "IGMMA", "BGMMA"):
        return asynchronous.MULTIPLIES
    if i.name in ("UTMALDG", "UBLKCP", "UTMASTG", "UTMAREDG", "UBLKRED"):
        inward = i.name == "UTMALDG" or i.opcode.startswith(("UBLKCP.S", "UBLKRED.S"))
        return asynchronous.COPIES_IN if inward else asynchronous.COPIES_OUT
    if i.name in ("LDGDEPBAR", "UTMACMDFLUSH"):
        return asynchronous.COMMITS
    if i.name == "DEPBAR" and "LE" in marks:
        return asynchronous.AWAITS
    if i.name == "WARPGROUP" and "DEPBAR" in marks:
        return asynchronous.AWAITS_PRODUCTS
    if i.name == "SYNCS" and "CCTL" not in marks:
        if "PHASECHK" in marks:
            return asynchronous.TRIES
        return asynchronous.BEGINS if "EXCH" in marks else asynchronous.ARRIVES
    if i.name == "ARRIVES":
        return asynchronous.ARRIVES_LATER
    if i.name == "UCGABAR_ARV":
        return asynchronous.JOINS_CLUSTER
    if i.name == "UCGABAR_WAIT":
        return asynchronous.AWAITS_CLUSTER
    return asynchronous.ARRIVES if i.name in ("STAS", "REDAS") else asynchronous.NOTHING


def reaches(i: Instruction) -> int:
    """What it does to global or local memory."""
    space = SPACES.get(i.name, "shared")
    if i.name == "LDGSTS":
        return PAST if "BYPASS" in i.modifiers else CACHED
    if space == "shared":
        return NEAR
    if i.name.startswith("RED") or (i.name == "ATOMG" and result(i) is None):
        return REDUCED
    if i.name.startswith("ATOM"):
        return ATOMIC
    if i.name.startswith(("ST", "SUST", "SURED")):
        return STORED
    return PAST if "STRONG" in i.modifiers and not {"CTA", "SM"} & {*i.modifiers} else CACHED


def unit(i: Instruction) -> Unit:
    """Where an instruction runs; looked up by its name with the first modifiers, or by its name alone."""
    words = i.opcode.split(".")
    names = (".".join(words[:n]) for n in range(len(words), 0, -1))
    return next((UNITS[name] for name in names if name in UNITS), ANYTHING_ELSE)


def is_of_thread(i: Instruction) -> bool:
    """Whether an instruction reads a special register that differs by thread or warp, and not by block."""
    register = i.operands[1].text if i.name == "S2R" else ""
    return register.startswith(("SR_TID", "SR_LANEID", "SR_VIRTID")) or register.endswith("MASK")


def kind(i: Instruction) -> int:
    if behind(i) in (asynchronous.COPIES_IN, asynchronous.COPIES_OUT, asynchronous.MULTIPLIES):
        return PLAIN  # not on the path of the other requests
    if i.name in SPACES or asks(i) is not None or i.name in ("SHFL", "MOVM") or is_of_thread(i):
        return MEMORY
    return {"MEMBAR": FENCE, "BAR": BARRIER, "NANOSLEEP": SLEEP}.get(i.name, PLAIN)
