"""Routines beside a kernel's own function: code of some length that many of its instructions share."""

from collections.abc import Callable, Sequence

from banksim.kernels.kernel import Instruction
from banksim.machine.engine import Engine, Routine, Table
from banksim.machine.llvm import ir
from banksim.machine.llvm.arithmetic import Arithmetic
from banksim.machine.llvm.emit import Emitter
from banksim.machine.llvm.scratch import RESULT, ROW
from banksim.machine.llvm.values import INT, LANES, POINTER, VOID, WORDS, Value
from banksim.machine.state import CONTEXT


class Routines(Arithmetic):
    """Of the engine: where the code that it writes stands, and how it leaves there for a routine."""

    def __init__(self, emit: Emitter) -> None:
        self.e = emit
        self.warp: ir.Value
        self.context: ir.Value
        self.active_mask: ir.Value
        self.guard: Value | None = None
        self.at: ir.Value | None = None
        """In a routine: the pc of the instruction that called it."""
        self.routines: dict[str, int] = {}
        """How many words each gives."""

    def executing(self) -> ir.Value:
        """The mask of the lanes that execute the instruction."""
        if self.guard is None:
            return self.active_mask
        if self.guard.lanes == 1:
            return self.e.b.select(self.guard.ir, self.active_mask, INT[32](0))
        return self.e.b.and_(self.active_mask, self.e.as_mask(self.guard.ir))

    def apart(self, name: str, function: Routine, values: Sequence[Value]) -> tuple[Value, ...]:
        def build(results: ir.Value, *arguments: ir.Value) -> None:
            given = [self.new("u", 32, LANES, v) for v in arguments]
            made = function(self, *given)
            for n, v in enumerate(made):
                self.e.store(v.spread().ir, self.e.at(results, ROW * n))
            self.routines[name] = len(made)
            self.e.b.ret_void()

        routine = self.e.outline(name, VOID, [POINTER, *[WORDS] * len(values)], build)
        self.e.b.call(routine, [self.scratch(RESULT), *(v.spread().ir for v in values)])
        return self.results(self.routines[name])

    def lanewise(self, name: str, function: Callable[..., Value], values: Sequence[Value]) -> Value:
        given = [v.spread() for v in values]

        def build(*arguments: ir.Value) -> None:
            made = function(self, *(v.like(a) for v, a in zip(given, arguments, strict=True)))
            self.e.b.ret(made.spread().ir)

        routine = self.e.outline(name, given[0].ir.type, [v.ir.type for v in given], build)
        return given[0].like(self.e.b.call(routine, [v.ir for v in given]))

    def rarely(self, condition: Value, v: Value, other: Callable[[], Value]) -> Value:
        b = self.e.b
        v, start = v.spread(), b.block
        with b.if_then(b.not_(self.e.empty(self.e.as_mask(condition.spread().ir))), likely=False):
            chosen, end = self.where(condition, other(), v).spread(), b.block
        either = b.phi(v.ir.type)
        either.add_incoming(v.ir, start)
        either.add_incoming(chosen.ir, end)
        return v.like(either)

    def tabulated(
        self, name: str, function: Callable[[Engine, Value, Table], Value], v: Value, columns: Sequence[Sequence[int]]
    ) -> Value:
        def looked_up(x: Routines, u: Value) -> Value:
            def table(column: int, row: Value) -> Value:
                return row.like(x.e.looked_up(f"{name}_{column}", columns[column], row.ir))

            return function(x, u, table)

        return self.lanewise(name, looked_up, [v])

    def read_apart(
        self, i: Instruction, name: str, function: Routine, values: Sequence[Value], lanes: Value | None = None
    ) -> tuple[Value, ...]:
        def build(*arguments: ir.Value) -> None:
            outside = self.context, self.warp, self.active_mask, self.guard, self.at
            self.context, self.warp, self.active_mask, self.at = arguments[:4]
            self.guard = None
            with self.e.b.if_then(self.e.empty(self.active_mask), likely=False):
                self.e.b.ret_void()
            made = function(self, *(self.new("u", 32, LANES, v) for v in arguments[4:]))
            for n, v in enumerate(made):
                self.e.store(v.spread().ir, self.scratch(RESULT + ROW * n))
            self.routines[name] = len(made)
            self.e.b.ret_void()
            self.context, self.warp, self.active_mask, self.guard, self.at = outside

        kinds = [POINTER, POINTER, INT[32], INT[32], *[WORDS] * len(values)]
        routine = self.e.outline(name, VOID, kinds, build)
        self.e.b.call(routine, [*self.place(i, lanes), *(v.spread().ir for v in values)])
        return self.results(self.routines[name])

    def place(self, i: Instruction, lanes: Value | None) -> list[ir.Value]:
        """Context, warp, the mask of those of `lanes` that execute the instruction, and its pc."""
        mask = self.executing()
        if lanes is not None:
            mask = self.e.b.and_(mask, self.e.as_mask(lanes.spread().ir))
        return [self.context, self.warp, mask, self.at or INT[32](i.pc)]

    def scratch(self, place: int) -> ir.Value:
        return self.e.at(self.e.get(self.context, CONTEXT, "scratch", as_type=POINTER), place)

    def results(self, words: int) -> tuple[Value, ...]:
        """The rows that a function left in scratch memory."""
        rows = [self.e.load(self.scratch(RESULT + ROW * word), WORDS) for word in range(words)]
        return tuple(self.new("u", 32, LANES, row) for row in rows)
