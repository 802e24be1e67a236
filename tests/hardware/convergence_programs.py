"""Programs of one warp about convergence barriers, as lists of operations: small ones that ask one question each, and
random ones by number. convergence.py says what an operation does."""

import random
from collections.abc import Iterator

ALL = 0xFFFFFFFF
BARRIERS = 3
PARTITIONS = (
    (0xFFFF0000,), (0x0000FFFF,), (0xF0000000,), (0x0000000F,), (0xFFFFFF00,), (0x55555555,),
    (0x00FF0000, 0xFF000000), (0x0000FF00, 0x00FF0000), (0x000000FF, 0x0000FF00, 0x00FF0000),
    (0xFF000000, 0x00FF0000, 0x0000FF00), (0x11111111, 0x22222222, 0x44444444), (0x80000000, 0x00000001),
    (0xFFF00000, 0x000F0000),
)  # fmt: skip
Operation = tuple[str | int, ...]
Program = tuple[list[Operation], list[int]]
"""Operations, and a word for each lane, whose bits say where it branches."""
LOGS = 40
"""Most logs of a random program."""


def words(parts: tuple[int, ...], leave: int = 0, other: int = 0) -> list[int]:
    """Bit k: the thread goes to part k; bit 8: it leaves; bit 9: any other choice."""
    return [
        next((1 << k for k, mask in enumerate(parts) if mask >> lane & 1), 0)
        | (leave >> lane & 1) << 8
        | (other >> lane & 1) << 9
        for lane in range(32)
    ]


def groups_of(parts: tuple[int, ...]) -> list[int]:
    """The masks of the parts, and last that of all other threads."""
    left, found = ALL, []
    for mask in parts:
        found.append(mask & left)
        left &= ~mask
    return [*found, left]


def both(number: int, mask: int) -> list[Operation]:
    """Barrier `number` gathers the threads of a mask."""
    return [("mov", 8, mask), ("set", number, 8)]


# ---- one question each
def crossed() -> Iterator[tuple[str, Program]]:
    """Two groups come to two barriers, each to the other's behind its own."""
    for low, high in ((0, 2), (2, 0), (1, 1), (0, 1), (1, 0)):
        for part in (0xFFFF0000, 0xF0000000, 0x0000FFFF, 0xFFFFFFF0):
            ops = [one for b in sorted({low, high}) for one in both(b, ALL)]
            ops += [("bit", 0, 0), ("bra", "UP", "P0"), ("log",), ("bsync", low), ("log",), ("bsync", high), ("log",)]
            ops += [("bra", "LAST", "PT"), ("mark", "UP"), ("log",), ("bsync", high), ("log",)]
            ops += [("bsync", low), ("log",)]
            yield f"cross {low} {high} {part:08x}", (ops, words((part,)))


def met() -> Iterator[tuple[str, Program]]:
    """One group waits at a barrier, the other for all threads elsewhere."""
    waits: dict[str, Operation] = {"all": ("warpsync",), "mask": ("warpsync", 8), "bsync": ("bsync", 5)}
    for how in ("bssy", "set"):
        for part in (0xFFFF0000, 0xF0000000):
            for b in range(BARRIERS):
                for name, wait in waits.items():
                    ops: list[Operation] = []
                    for n in (b, 5):
                        ops += [("bssy", n, "END")] if how == "bssy" else both(n, ALL)
                    ops += [("bit", 0, 0), ("bra", "UP", "P0"), ("log",), ("mark", "END"), ("bsync", b), ("log",)]
                    ops += [("bra", "MEET", "PT"), ("mark", "UP"), ("log",), ("mark", "MEET"), ("mov", 8, ALL)]
                    ops += [wait, ("log",)]
                    yield f"meet {how} B{b} {name} {part:08x}", (ops, words((part,)))


def outside() -> Iterator[tuple[str, Program]]:
    """The first group comes to a barrier of some mask; the second changes the mask, or comes to it."""
    then: dict[str, list[Operation]] = {
        "set": both(0, 0x0000FFFF), "clear": [("clear", 9, 0)], "bsync": [("bsync", 0)],
        "break": [("break", 0, "PT")], "bssy": [("bssy", 0, "LAST")], "exit": [("bit", 1, 0), ("exit", "P1")],
    }  # fmt: skip
    for mask in (0, 0xFFFF0000, 0x0000FFFF, 0xFF000000, 0x000000FF, ALL, 0xFF0000FF):
        for part in (0xFFFF0000, 0x0000FFFF, 0xF0000000):
            for name, change in then.items():
                ops = [*both(0, mask), ("bit", 0, 0), ("bra", "UP", "P0"), ("log",), ("bsync", 0), ("log",)]
                ops += [("bra", "LAST", "PT"), ("mark", "UP"), ("log",), *change]
                ops += [("log",), ("log",), ("yield",), ("log",)]
                yield f"outside {mask:08x} {name} {part:08x}", (ops, words((part,)))


# ---- random ones
def step(r: random.Random, masks: list[int], label: str, own: int) -> list[Operation]:
    """What the threads of `own` do next."""
    kind = r.choice(
        ["bsync"] * 8 + ["warpsync", "warpsync all", "yield", "break", "clear", "set", "bssy", "exit", "split"]
    )
    b = r.randrange(BARRIERS)
    if kind == "warpsync":
        return [("mov", 8, r.choice([mask for mask in masks if not own & ~mask])), ("warpsync", 8)]
    if kind == "break":
        return [("bit", 1, 8), ("break", b, r.choice(["P1", "PT"]))]
    if kind == "set":
        return [("mov", 10, r.choice([*masks, 0])), ("set", b, 10)]
    given: dict[str, list[Operation]] = {
        "bsync": [("bsync", b)],
        "warpsync all": [("warpsync",)],
        "yield": [("yield",)],
        "clear": [("clear", 9, b)],
        "bssy": [("bssy", b, "LAST")],
        "exit": [("bit", 1, 8), ("exit", "P1")],
        "split": [("bit", 2, 9), ("bra", label, "P2"), ("log",), ("mark", label)],
    }
    return given[kind]


def apart(seed: int) -> Program:
    """Barriers hold given masks; the warp parts into groups, and each executes operations of its own."""
    r = random.Random(seed)
    parts = r.choice(PARTITIONS)
    groups = groups_of(parts)
    masks = [ALL, *groups] + [a | b for a in groups for b in groups if a < b]
    masks += [mask & 0x7FFF7FFE for mask in masks]
    ops = [one for b in range(BARRIERS) for one in both(b, r.choice([ALL] * 4 + masks))]
    ops.append(("log",))
    for k in range(len(parts)):
        ops += [("bit", 0, k), ("bra", f"P{k}", "P0")]
    for k in reversed(range(len(groups))):
        if k < len(parts):
            ops.append(("mark", f"P{k}"))
        for n in range(r.randrange(1, 4)):
            if n or r.random() < 0.5:
                ops.append(("log",))
            ops += step(r, masks, f"S{k}{n}", groups[k])
        ops += [("log",), ("bra", "LAST", "PT")]
    leave = r.choice([0, 0, 0x80008001, 0x00FF00F0, 0xF0F0F0F0, 0x01010101])
    return ops, words(parts, leave, r.choice([0x3333CCCC, 0x00FFFF00, 0x0F0F0F0F]))


class Nested:
    """Nested branches with barriers that inner code saves, uses and restores, as functions do; and parts that no
    barrier gathers."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.ops: list[Operation] = []
        self.labels = self.logs = 0
        self.body(4, [])

    def label(self) -> str:
        self.labels += 1
        return f"L{self.labels - 1}"

    def log(self) -> None:
        if self.logs < LOGS:
            self.logs += 1
            self.ops.append(("log",))

    def condition(self, predicate: int) -> None:
        self.ops.append(("bit", predicate, self.r.randrange(16)))

    def body(self, depth: int, within: list[int]) -> None:
        nested = ("one", "two", "loose", "function")
        kinds = ["one", "two", "loose", "loose", "function", "function", "leave", "exit", "yield", "log", "together"]
        for _ in range(self.r.randrange(1, 3)):
            kind = self.r.choice(kinds)
            b = self.r.randrange(BARRIERS)
            if kind in nested and depth:
                self.branch(kind, b, depth, within)
            elif kind == "leave" and within:
                self.condition(1)
                self.ops += [("break", within[-1], "P1"), ("bra", "LAST", "P1")]
            elif kind == "exit" and self.r.random() < 0.3:
                self.condition(1)
                self.ops.append(("exit", "P1"))
            elif kind == "yield":
                self.ops.append(("yield",))
            elif kind == "together" and self.r.random() < 0.5:
                self.ops += [("vote", 8), ("warpsync", 8)]
            else:
                self.log()

    def branch(self, kind: str, b: int, depth: int, within: list[int]) -> None:
        """A branch around a part (`one`), or to one of two: behind a BSSY, with no barrier (`loose`), or with one that
        the code saves before and restores behind (`function`)."""
        save = 9 + depth
        if kind == "function":
            self.ops.append(("clear", save, b))
        other = self.label() if kind in ("two", "loose") else ""
        end = self.label()
        self.condition(0)
        if kind != "loose":
            self.ops.append(("bssy", b, end))
        self.ops.append(("bra", other or end, "P0"))
        self.log()
        self.body(depth - 1, [*within, b] if kind == "one" else within)
        if other:
            self.ops += [("bra", end, "PT"), ("mark", other)]
            self.log()
            self.body(depth - 1, within)
        self.ops.append(("mark", end))
        if kind != "loose":
            self.ops.append(("bsync", b))
        if kind == "function":
            self.ops.append(("set", b, save))
        self.log()


def nested(seed: int) -> Program:
    made = Nested(seed)
    return made.ops, [made.r.randrange(1 << 16) for _ in range(32)]


def programs() -> dict[str, Program]:
    made = {name: program for family in (crossed, met, outside) for name, program in family()}
    made |= {f"apart {seed}": apart(seed) for seed in range(1200)}
    made |= {f"calls {seed}": nested(seed) for seed in range(500)}
    return made
