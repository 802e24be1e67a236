"""Loads, stores and atomics: which space, how wide, what is done to the value."""

from dataclasses import replace

from banksim.architectures.code_layout import LOCAL_WINDOW, SHARED_WINDOW
from banksim.errors import UnsupportedError
from banksim.kernels.kernel import Instruction, Operand
from banksim.machine import codes
from banksim.machine.engine import Access, Engine, Value
from banksim.machine.operations.float_atomics import check_float
from banksim.machine.operations.table import operation, which
from banksim.requests import opcodes

SPACES = {
    "LDG": "global", "LDS": "shared", "LDL": "local", "LD": "generic",
    "STG": "global", "STS": "shared", "STL": "local", "ST": "generic",
    "ATOMG": "global", "ATOMS": "shared", "ATOM": "generic", "REDG": "global", "RED": "generic",
    "TEX": "global", "TXD": "global", "TLD": "global", "TLD4": "global", "TXQ": "global",
    "SULD": "global", "SUST": "global", "SURED": "global",
}  # fmt: skip
CACHE = "E CONSTANT STRONG WEAK MMIO PRIVATE GPU SYS SM CTA VC EF EL LU EU NA LTC64B LTC128B LTC256B"
"""Modifiers that touch no value."""
VECTORS = {"F32x2": 2, "F32x4": 4, "F16x4": 2, "F16x8": 4, "BF16x4": 2, "BF16x8": 4}
"""Words a lane: numbers, or pairs of halves."""
FUNCTION_NAMES = {"POPC": "add", "CAST": "cas_spin"}
FUNCTIONS = ("CAS", "CAST", "POPC", "EXCH", *opcodes.FUNCTIONS)


def width(i: Instruction) -> int:
    """Bytes that a load or store moves per lane."""
    return next((w for name, w in opcodes.WIDTHS.items() if name in i.modifiers), 4)


def is_signed(i: Instruction) -> bool:
    return bool(i.modifiers & {"S8", "S16"})


def memory_operand(i: Instruction) -> Operand:
    return next(o for o in i.operands if o.kind == "memory")


def function(i: Instruction) -> str:
    """What an atomic does, as its modifier is called."""
    return which(i, FUNCTIONS)


def result(i: Instruction) -> Operand | None:
    """The register for an atomic's old value, or the predicate for whether CAST.SPIN succeeded (sm_100); None if the
    instruction has neither."""
    before = i.operands[: i.operands.index(memory_operand(i))]
    kinds = ("R", "P") if "CAST" in i.modifiers else ("R",)
    return next((o for o in before if o.kind in kinds and not o.is_zero), None)


def atomic_kind(i: Instruction) -> str:
    if "128" in i.modifiers:
        return "b128"
    if i.modifiers & {"F32", "F32x2", "F32x4"}:
        return "f32_ftz" if "FTZ" in i.modifiers else "f32"
    for kind in ("F64", "S32", "S64"):
        if kind in i.modifiers:
            return kind.lower()
    for kind in ("F16x", "BF16x"):
        if any(mark.startswith(kind) for mark in i.modifiers):
            return f"{kind.lower()}2"
    return "u64" if i.modifiers & {"64", "U64"} else "u32"


def bytes_of(kind: str) -> int:
    """What an atomic of that kind exchanges."""
    return 16 if kind == "b128" else 8 if kind.endswith("64") else 4


def request(i: Instruction) -> tuple[str, int] | None:
    """(op of `banksim.requests.kinds.OPS`, bytes a lane) of an instruction that may access shared memory."""
    if i.name == "ATOM" and is_refused(i) and atomic_kind(i) in ("u64", "s64"):
        return "probe", 8
    return opcodes.request_of(i.opcode, not i.name.startswith("ATOM") or result(i) is not None)


def flag_of(i: Instruction) -> Operand | None:
    """The predicate of an atomic that says whether memory has done it."""
    return next((o for o in i.operands if o.kind in ("P", "UP") and not o.is_zero), None)


def is_refused(i: Instruction) -> bool:
    """Whether shared memory, reached by generic addresses, leaves this atomic to the code behind the instruction: it
    does none but exchanges and sums of integers."""
    name = function(i)
    return flag_of(i) is not None and name not in ("CAS", "EXCH") and (atomic_kind(i), name) != ("u64", "ADD")


def location(x: Engine, i: Instruction) -> tuple[str, Value]:
    """The space, and the address: of 64 bits where it is global or generic."""
    space = SPACES[i.name]
    return space, x.address(memory_operand(i), space in ("global", "generic"))


LOADS, STORES, WIDE = f"U U8 S8 U16 S16 64 128 {CACHE}", f"U8 S8 U16 S16 8 16 64 128 {CACHE}", "ENL2 256"


@operation("LDS LDL LD", LOADS)
def load(x: Engine, i: Instruction) -> None:
    to = i.operands[0]
    if to.kind != "R":
        raise UnsupportedError("a load with a predicate result")
    space, address = location(x, i)
    x.load(Access(i, space, address, width(i), signed=is_signed(i)), to)


@operation("LDG", f"{LOADS} {WIDE}")
def load_global(x: Engine, i: Instruction) -> None:
    """ENL2.256: 32 bytes, the upper half into the first of two registers."""
    if "256" not in i.modifiers:
        return load(x, i)
    upper, lower, at = i.operands
    address = x.address(at, True)
    halves = [x.fetch(Access(i, "global", address + start, 16)) for start in (0, 16)]
    for o, words in zip((lower, upper), halves, strict=True):
        for n, v in enumerate(words):
            x.write(o, v, n)
    return None


@operation("STS STL ST", STORES)
def store(x: Engine, i: Instruction) -> None:
    space, address = location(x, i)
    x.store(Access(i, space, address, width(i)), i.operands[-1])


@operation("STG", f"{STORES} {WIDE}")
def store_global(x: Engine, i: Instruction) -> None:
    """ENL2.256: 32 bytes, the lower half from the first of two registers."""
    if "256" not in i.modifiers:
        return store(x, i)
    at, *halves = i.operands
    address = x.address(at, True)
    for start, o in zip((0, 16), halves, strict=True):
        x.store(Access(i, "global", address + start, 16), o)
    return None


@operation("LDC ULDC LDCU", "U8 S8 U16 S16 64 128")
def load_constant(x: Engine, i: Instruction) -> None:
    to, source = i.operands
    if width(i) >= 4:
        for word, v in enumerate([x.raw(source, word) for word in range(width(i) // 4)]):
            x.write(to, v, word)
        return None
    if any(o.kind != "imm" for o in source.parts):
        return x.load(Access(i, "const", x.address(source, False), width(i), signed=is_signed(i)), to)
    at, bits = sum(o.number for o in source.parts), 8 * width(i)
    word = x.raw(replace(source, parts=(Operand("imm", at & ~3),)))
    v = word << (32 - bits - 8 * (at & 3))
    return x.write(to, x.unsigned(x.signed(v) >> (32 - bits)) if is_signed(i) else v >> (32 - bits))


@operation("QSPC", "E S G L D")
def query_space(x: Engine, i: Instruction) -> None:
    """Whether a generic address is shared, local or global; D: in shared memory of any block of the cluster."""
    address = x.address(memory_operand(i), True)
    window = x.high(address)
    shared, local = window == SHARED_WINDOW >> 32, window == LOCAL_WINDOW >> 32
    own = x.low(address) >> codes.RANK_BIT == x.special("SR_CgaCtaId", True)
    if "D" in i.modifiers:
        v = shared
    else:
        v = shared & own if "S" in i.modifiers else local if "L" in i.modifiers else ~(shared | local)
    x.write_predicate(i.operands[0], v)


ATOMIC = f"ADD MIN MAX INC DEC AND OR XOR EXCH CAS 64 128 U32 S32 S64 U64 F32 F64 F16x2 BF16x2 FTZ RN {CACHE}"


@operation("REDG RED", f"{ATOMIC} {' '.join(VECTORS)}")
def reduction(x: Engine, i: Instruction) -> None:
    """An atomic with no result."""
    perform(x, i, function(i).lower(), None)


@operation("ATOMG ATOM", f"{ATOMIC} CAST SPIN {' '.join(VECTORS)}")
def atomic(x: Engine, i: Instruction) -> None:
    """A predicate result says whether memory has done the operation. It does every one in global memory, and exchanges
    and sums of integers in shared memory (an H200 counted no more than one request for these, in the own block and in
    others); the code behind the instruction does the rest. What of integers of 64 bits the own block's shared memory
    refuses, it was asked for: an H200 counted 2 transactions where there is no conflict, and of floats none."""
    flag = flag_of(i)
    name = FUNCTION_NAMES.get(function(i), function(i).lower())
    if flag is None:
        return perform(x, i, name, result(i))
    address = x.address(memory_operand(i), True)
    done = x.high(address) != LOCAL_WINDOW >> 32
    if is_refused(i):
        shared = x.high(address) == SHARED_WINDOW >> 32
        if request(i) == ("probe", 8):
            own = x.low(address) >> codes.RANK_BIT == x.special("SR_CgaCtaId", True)
            x.fetch(Access(i, "generic", address, 8, shared & own))
        done = done & ~shared
    perform(x, i, name, result(i), done)
    return x.write_predicate(flag, done)


@operation("ATOMS", "ADD MIN MAX INC DEC AND OR XOR EXCH CAS CAST SPIN POPC 32 64 128 U32 S32 S64 U64")
def atomic_shared(x: Engine, i: Instruction) -> None:
    """POPC.INC adds 1; CAST.SPIN gives 1 where the exchange took place, else 0, in place of the old value."""
    perform(x, i, FUNCTION_NAMES.get(function(i), function(i).lower()), result(i))


def perform(x: Engine, i: Instruction, name: str, to: Operand | None, lanes: Value | None = None) -> None:
    """For all executing lanes, or some of them. Vectors go one number after the other."""
    space, address = location(x, i)
    kind = atomic_kind(i)
    check_float(kind, name)
    operands = i.operands[i.operands.index(memory_operand(i)) + 1 :]
    if kind == "b128":
        words = tuple(x.raw(o, n) for o in operands for n in range(4))
        return x.atomic(Access(i, space, address, 16, lanes), kind, name, words, to)
    size = bytes_of(kind)
    read = x.wide if size == 8 else x.value
    for word in range(next((n for name, n in VECTORS.items() if name in i.modifiers), 1)):
        values = tuple(x.raw(o, word) if word else read(o) for o in operands) or (x.const(1),)
        part = replace(to, number=to.number + word) if to is not None else None
        one = Access(i, space, address + 4 * word if word else address, size, lanes)
        x.atomic(one, kind, name, values, part)
    return None
