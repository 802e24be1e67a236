"""The engine that translates: each operation on values adds LLVM code to a function.

Within a basic block, registers are LLVM values: `cache` holds the current value of each, `uses` and `defines` say which
registers the block reads from the warp's record and which it writes back. `guard` is the instruction's predicate.
"""

from collections.abc import Sequence

from banksim.architectures.code_layout import CONSTANT_BANK, CONSTANT_BANKS, SHARED_WINDOW, machine
from banksim.errors import UnsupportedError
from banksim.kernels.kernel import Instruction, Kernel, Operand
from banksim.machine import codes
from banksim.machine.doubts import CLOCKS
from banksim.machine.engine import Access, unknown_special
from banksim.machine.launch_constants import called, written
from banksim.machine.llvm import ir
from banksim.machine.llvm.bulk_copies import COPIES, bulk_copy
from banksim.machine.llvm.emit import Emitter
from banksim.machine.llvm.memory import MemoryFunctions
from banksim.machine.llvm.routines import Routines
from banksim.machine.llvm.scratch import RESULT, ROW, SERVED
from banksim.machine.llvm.shared_requests import FURTHEST
from banksim.machine.llvm.shifted_loads import ShiftedLoads, Terms
from banksim.machine.llvm.values import FOURS, INT, LANES, LONGS, POINTER, VOID, WORDS, Value, vector
from banksim.machine.operations.float_atomics import FLOATS, added
from banksim.machine.operations.loads_and_stores import request
from banksim.machine.services import SERVICES
from banksim.machine.state import CONTEXT, MEMO, REGISTERS, WARP
from banksim.requests.kinds import remote
from banksim.requests.opcodes import REACHING

LANE_TABLES = {
    "SR_LANEID": lambda lane: lane,
    "SR_EQMASK": lambda lane: 1 << lane,
    "SR_LTMASK": lambda lane: (1 << lane) - 1,
    "SR_LEMASK": lambda lane: (2 << lane) - 1,
    "SR_GTMASK": lambda lane: ~((2 << lane) - 1),
    "SR_GEMASK": lambda lane: ~((1 << lane) - 1),
}
FIXED = {
    "SRZ": 0,
    "SR_CgaSize": 0,
    "SR_SWINHI": SHARED_WINDOW >> 32,
    "SR_SWINLO": 0,
    "SR_LMEMHIOFF": 0,  # where a thread's stack ends, which code for debuggers looks at
}
Register = tuple[str, int]


def register_at(e: Emitter, warp: ir.Value, register: Register) -> ir.Value:
    """The address of a register in a warp's record."""
    file, number = register
    if file == "R":
        return e.at(warp, REGISTERS + ROW * number)
    field = {"UR": "uniform", "P": "predicates", "UP": "uniform_predicates"}[file]
    return e.field(warp, WARP, field, number)


class LLVMEngine(Routines):
    """Translates operations into the function that `emit` builds."""

    def __init__(self, emit: Emitter, memory: MemoryFunctions, stepwise: bool, shifts: bool) -> None:
        """`shifts`: whether loads are looked for that `ShiftedLoads` knows."""
        super().__init__(emit)
        self.shifts = shifts and memory.shifts
        self.memory = memory
        self.stepwise = stepwise
        self.cache: dict[Register, Value] = {}
        self.pairs: dict[tuple[ir.Block, str, str], Value] = {}
        """In a block the values whose words these are: code on doubles would else be half joining and splitting."""
        self.uses: set[Register] = set()
        self.defines: set[Register] = set()
        self.sites: list[tuple[Instruction, str, int]] = []
        self.crosses_lanes = False
        """Whether code reads registers of lanes that do not execute it."""
        self.kernel: Kernel
        self.loads: ShiftedLoads
        self.terms: dict[str, tuple[Terms, int]] = {}
        """What the addresses of the block are made of."""

    def begin_block(self, active: ir.Value) -> None:
        self.active_mask = active
        self.guard = None
        self.cache, self.pairs, self.uses, self.defines = {}, {}, set(), set()
        self.terms, self.loads = {}, ShiftedLoads(self.e, self.memory)
        self.memos = self.e.get(self.context, CONTEXT, "memos", as_type=POINTER)

    # ---- registers
    def where_is(self, register: Register) -> ir.Value:
        """The address at which the warp's record holds a register between basic blocks."""
        return register_at(self.e, self.warp, register)

    def read(self, register: Register) -> Value:
        if register not in self.cache:
            self.check_register(*register)
            self.uses.add(register)
            file, where = register[0], self.where_is(register)
            if file == "R":
                v = self.new("u", 32, LANES, self.e.load(where, WORDS))
            elif file == "UR":
                v = self.new("u", 32, 1, self.e.load(where, INT[32]))
            elif file == "P":
                v = self.new("b", 1, LANES, self.e.as_bools(self.e.load(where, INT[32])))
            else:
                v = self.new("b", 1, 1, self.e.b.trunc(self.e.load(where, INT[32]), INT[1]))
            self.cache[register] = v
        return self.cache[register]

    def assign(self, register: Register, v: Value) -> None:
        self.check_register(*register)
        if register[0] in ("R", "P"):
            if self.guard is not None:
                v = self.where(self.guard, v, self.read(register))
            v = v.spread()
        else:
            v = self.first(v)
            if self.guard is not None:
                old = self.read(register)
                some = self.e.b.not_(self.e.empty(self.executing()))
                v = v.like(self.e.b.select(some, v.ir, old.ir))
        self.cache[register] = v
        self.defines.add(register)

    def long_of(self, low: Value, high: Value) -> Value:
        words = self.e.b.block, low.ir.text, high.ir.text
        if words not in self.pairs:
            whole, (low, high) = super().long_of(low, high), low.pair(high)
            self.pairs[words] = whole.like(ir.Joined(whole.ir, low.ir, high.ir))
        return self.pairs[words]

    def low(self, v: Value) -> Value:
        return v.like(v.ir.words[0], "u", 32) if isinstance(v.ir, ir.Joined) else super().low(v)

    def high(self, v: Value) -> Value:
        return v.like(v.ir.words[1], "u", 32) if isinstance(v.ir, ir.Joined) else super().high(v)

    def words_of(self, v: Value) -> tuple[Value, Value]:
        low, high = super().words_of(v)
        self.pairs[self.e.b.block, low.ir.text, high.ir.text] = v
        return low, high

    def raw(self, o: Operand, word: int = 0) -> Value:
        if o.kind in ("R", "UR"):
            return self.const(0) if o.is_zero else self.read((o.kind, o.number + word))
        if o.kind in ("imm", "float", "code"):
            return self.const(o.number if not word else 0)
        if o.kind == "const":
            return self.constant_word(o, 4 * word)
        raise UnsupportedError(f"operand {o.text!r}")

    def constant_word(self, o: Operand, distance: int) -> Value:
        parts = [part for part in o.parts if not part.is_zero]
        place = distance + sum(part.number for part in parts)
        fixed = all(part.kind == "imm" for part in parts)
        size = CONSTANT_BANK if o.number == 0 else len(self.kernel.banks.get(o.number, b""))
        if fixed and place + 4 <= -(-size // 16) * 16 and place % 4 == 0:
            if o.number == 0 and not written(self.kernel)[place]:
                raise UnsupportedError(called(self.kernel.arch, place))
            base = self.e.get(self.context, CONTEXT, "constants", o.number, POINTER)
            return self.new("u", 32, 1, self.e.load(self.e.at(base, place), INT[32]))
        return self.load_constant(o.number, self.address(o, wide=False) + distance, 4, signed=False)

    def read_predicate(self, kind: str, number: int) -> Value:
        return self.new("b", 1, 1, INT[1](1)) if number == 7 else self.read((kind, number))

    def write(self, o: Operand, v: Value, word: int = 0) -> None:
        if not o.is_zero:
            self.assign((o.kind, o.number + word), v.like(v.ir, "u"))

    def write_predicate(self, o: Operand, v: Value) -> None:
        if not o.is_zero:
            self.assign((o.kind, o.number), v)

    # ---- the warp
    def lane(self) -> Value:
        return self.new("u", 32, LANES, vector(list(range(LANES))))

    def warp_number(self) -> Value:
        return self.new("u", 32, 1, self.e.get(self.warp, WARP, "index"))

    def active(self) -> Value:
        return self.new("u", 32, 1, self.executing())

    def ballot(self, v: Value) -> Value:
        return self.new("u", 32, 1, self.e.b.and_(self.executing(), self.e.as_mask(v.spread().ir)))

    def first(self, v: Value) -> Value:
        if v.lanes == 1:
            return v
        one = self.e.b.extract_element(v.ir, self.e.first_lane(self.executing()))
        return self.new(v.kind, v.bits, 1, one)

    def shuffle(self, v: Value, source: Value) -> Value:
        self.crosses_lanes = True
        return self.new("u", 32, LANES, self.e.chosen(v.spread().ir, source.spread().ir))

    def permute(self, v: Value, source: Sequence[int]) -> Value:
        self.crosses_lanes = True
        v = v.spread()
        return v.like(self.e.b.shuffle_vector(v.ir, ir.Constant(v.ir.type, ir.UNDEFINED), vector(list(source))))

    def service(self, i: Instruction, name: str, words: Sequence[Value]) -> tuple[Value, Value]:
        for n, v in enumerate(words):
            self.e.store(v.spread().ir, self.scratch(SERVED + ROW * n))
        number = list(SERVICES).index(name)
        self.e.call("serve", VOID, self.context, self.warp, INT[32](i.pc), INT[32](number), self.executing())
        first, second = self.results(2)
        return first, second

    def need_cluster(self, i: Instruction) -> None:
        if not self.memory.clustered:
            super().need_cluster(i)

    def bulk_copy(self, i: Instruction, name: str, shared: Value, outside: Value, size: Value) -> None:
        if name not in COPIES:
            return super().bulk_copy(i, name, shared, outside, size)
        ends = self.first(shared).ir, self.first(outside).ir
        arguments = (self.context, self.executing(), *ends, self.first(size).ir)
        done = self.e.b.call(bulk_copy(self.e, name, self.memory.shared_start, self.memory.layout), arguments)
        with self.e.b.if_then(self.e.b.not_(done), likely=False):
            super().bulk_copy(i, name, shared, outside, size)

    def special(self, name: str, uniform: bool) -> Value:
        e = self.e
        if name in FIXED:
            return self.const(FIXED[name])
        if name in LANE_TABLES:
            v = self.new("u", 32, LANES, vector([LANE_TABLES[name](lane) for lane in range(LANES)]))
        elif name == "SR_CgaCtaId":
            if not self.memory.clustered:
                return self.const(0)
            own = e.get(self.context, CONTEXT, "own_shared")
            return self.new("u", 32, 1, e.b.trunc(e.b.lshr(own, INT[64](codes.RANK_BIT)), INT[32]))
        elif name == "SR_SMEMSZ":
            return self.new("u", 32, 1, self.e.b.trunc(self.e.get(self.context, CONTEXT, "shared_allocated"), INT[32]))
        elif name.startswith("SR_CTAID."):
            return self.new("u", 32, 1, self.e.get(self.warp, WARP, "block", "XYZ".index(name[-1])))
        elif name in CLOCKS:
            v = self.clock(name)
        elif name.startswith("SR_TID."):
            where = self.e.field(self.warp, WARP, "thread", LANES * "XYZ".index(name[-1]))
            v = self.new("u", 32, LANES, self.e.load(where, WORDS))
        elif name in (known := machine(self.kernel.arch).registers):
            return self.const(known[name])
        else:
            raise unknown_special(name)
        return self.first(v) if uniform else v

    def clock(self, name: str) -> Value:
        """A word of the simulated time. Where none is simulated, every reading moves the clock on, so that code which
        waits for it goes on."""
        e = self.e
        field = "nanoseconds" if name.startswith("SR_GLOBALTIMER") else "now"
        now = e.get(self.context, CONTEXT, field)
        if not self.stepwise and not name.endswith("HI"):
            e.set(self.context, CONTEXT, field, e.b.add(now, INT[64](codes.READING)))
        v = self.new("u", 64, 1, now)
        return self.high(v) if name.endswith("HI") else self.low(v)

    # ---- memory
    def address(self, o: Operand, wide: bool) -> Value:
        total, distance = self.const(0, 64 if wide else 32), 0
        terms: list[tuple[str, int]] = []
        for part in o.parts:
            if part.kind in ("imm", "float"):
                distance += part.number - (1 << 32) if part.number >> 31 else part.number
            elif not part.is_zero:
                v = self.term(part, wide)
                scale = next((int(m[1:]) for m in part.modifiers if m[0] == "X" and m[1:].isdigit()), 1)
                total = v * scale + total if scale > 1 else v + total
                terms.append((v.ir.text, scale))
        whole = self.moved(total, distance) if distance else total
        self.terms[whole.ir.text] = tuple(terms), distance
        return whole

    def moved(self, address: Value, distance: int) -> Value:
        """An address so many bytes further, of 64 bits word by word: memory functions take each by itself."""
        if address.bits == 32:
            return address + (distance & 0xFFFFFFFF)
        before = self.low(address)
        low = before + (distance & 0xFFFFFFFF)
        high = self.high(address) + (distance >> 32 & 0xFFFFFFFF) + self.number(low < before)
        return self.long_of(low, high)

    def site(self, i: Instruction) -> ir.Value:
        """The memo of an instruction that may make requests to shared memory."""
        asked = request(i)
        if asked is None:
            return ir.Constant(POINTER, None)
        memo = self.memo(i, *asked)
        if i.name in REACHING and (self.memory.clustered or asked[0] == "remote_async"):
            for own in (False, True):  # behind the other: MemoryFunctions.one_block
                self.memo(i, remote(asked[0], own), asked[1])
        return memo

    def memo(self, i: Instruction, op: str, width: int) -> ir.Value:
        number = len(self.sites)
        self.sites.append((i, op, width))
        apart = self.at is not None  # from the block, in whose function `memos` is
        memos = self.e.get(self.context, CONTEXT, "memos", as_type=POINTER) if apart else self.memos
        return self.e.at(memos, MEMO.itemsize * number)

    def fetch(self, a: Access) -> tuple[Value, ...]:
        if a.space == "const":
            return (self.load_constant(a.bank, a.address, a.width, a.signed),)
        arguments, terms = self.access(a), self.terms.get(a.address.ir.text)
        shared = self.shifts and a.space == "shared" and a.width in FURTHEST
        if not shared or terms is None or any(one is not None for one in (a.lanes, self.guard, self.at)):
            return self.words_read(a, arguments)
        return self.loads.load(arguments, *terms, a.width, self.called)

    def words_read(self, a: Access, arguments: Sequence[ir.Value]) -> tuple[Value, ...]:
        return self.called(self.memory.load(a.space, a.width, a.signed), arguments, a.width)

    def called(self, function: ir.Function, arguments: Sequence[ir.Value], width: int) -> tuple[Value, ...]:
        """The words that a memory function gives of so many bytes a lane."""
        result = self.e.b.call(function, arguments)
        return (self.new("u", 32, LANES, result),) if width <= 4 else self.results(width // 4)

    def put(
        self, a: Access, words: Sequence[Value], other: tuple[Value, str] | None = None, source: Value | None = None
    ) -> None:
        values = [v.spread().ir for v in words]
        arguments = self.access(a)
        if other is not None:
            condition, op = other
            arguments[2] = self.e.b.select(condition.ir, self.memo(a.i, op, a.width), arguments[2])
        if source is not None:
            values.append(source.spread().ir)
        self.e.b.call(self.memory.store(a.space, a.width, source is not None), [*arguments, *values])

    def access(self, a: Access) -> list[ir.Value]:
        """The arguments that every memory function has."""
        context, warp, mask, pc = self.place(a.i, a.lanes)
        memo = self.site(a.i) if a.space in ("shared", "cluster", "generic") else ir.Constant(POINTER, None)
        words = [a.address] if a.address.bits == 32 else [self.low(a.address), self.high(a.address)]
        return [context, warp, memo, pc, mask, *(word.spread().ir for word in words)]

    def load_constant(self, bank: int, address: Value, width: int, signed: bool) -> Value:
        if bank >= CONSTANT_BANKS:
            raise UnsupportedError(f"constant bank {bank}")
        function = self.memory.constant(bank, width, signed)
        nothing, pc = ir.Constant(POINTER, None), INT[32](self.pc)
        arguments = [self.context, self.warp, nothing, pc, self.executing(), address.spread().ir]
        return self.new("u", 32, LANES, self.e.b.call(function, arguments))

    pc = 0
    """That of the instruction that is being translated."""

    def atomic(self, a: Access, kind: str, function: str, values: tuple[Value, ...], to: Operand | None) -> None:
        bits, wanted = 8 * a.width, to is not None and not to.is_zero

        def sum_of(old: ir.Value, v: ir.Value) -> ir.Value:
            found: ir.Value = added(self, kind, self.new("u", bits, 1, old), self.new("u", bits, 1, v)).ir
            return found

        float_sum = sum_of if kind in FLOATS and function == "add" else None
        callee = self.memory.atomic(a.space, kind, function, wanted, float_sum)
        given = [v.spread().ir for v in values]
        if bits == 128:
            given = [self.joined(given[n : n + 4]) for n in range(0, len(given), 4)]
        self.e.b.call(callee, [*self.access(a), *given])
        if to is None or not wanted:
            return None
        if bits == 128:
            old = self.e.b.load(self.scratch(RESULT), typ=FOURS, align=64)
            parts = (self.e.b.trunc(self.e.b.lshr(old, vector([32 * n] * LANES, 128)), WORDS) for n in range(4))
            return self.write_words(to, (self.new("u", 32, LANES, part) for part in parts))
        if bits == 64:
            v = self.new("u", 64, LANES, self.e.b.load(self.scratch(RESULT), typ=LONGS, align=64))
        else:
            (v,) = self.results(1)
        return self.write_old(to, v, bits == 64, a.lanes)

    def joined(self, words: Sequence[ir.Value]) -> ir.Value:
        """Four words of each lane as one number, the first the lowest."""
        b = self.e.b
        low, *parts = [b.shl(b.zext(v, FOURS), vector([32 * n] * LANES, 128)) for n, v in enumerate(words)]
        for part in parts:
            low = b.or_(low, part)
        return low
