"""What is said of a value in other blocks holds in each block that the bounds leave.

An operation is tried on the content of one lane: its followed result against the same operation on what its operands
are in the other block. Whole numbers stand for LLVM's values."""

import operator
import random
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from banksim.classes import bounds, followed
from banksim.classes.follower import Follower
from banksim.machine.operations.integer import carrying_sum, shift_left, shift_right, shift_right_signed
from banksim.machine.operations.logic import logic

TRIES = 12
"""Of each operation in one example."""


class Literal(int):
    """A number that is known when code is made."""

    @property
    def constant(self) -> int:
        return int(self)


def literal(kind: str, bits: int, lanes: int, c: float) -> Literal:
    return Literal(int(c) & (1 << bits) - 1)


class Whole:
    """A whole number with the interface of `Value`. A shift that LLVM leaves undefined gives a number of its own."""

    lanes = 1

    def __init__(self, builder: object, kind: str, bits: int, lanes: int, ir: int) -> None:
        self.builder, self.kind, self.bits = builder, kind, bits
        self.ir = ir if isinstance(ir, Literal) else ir & (1 << bits) - 1

    def like(self, ir: int, kind: str = "") -> "Whole":
        return Whole(None, kind or self.kind, self.bits, 1, ir)

    @property
    def number(self) -> int:
        content = int(self.ir)
        return content - (1 << self.bits) if self.kind == "i" and content >> self.bits - 1 else content

    def beside(self, o: Any) -> "Whole":
        assert not isinstance(o, Whole) or o.bits == self.bits
        return self.like(o.ir if isinstance(o, Whole) else int(o) & (1 << self.bits) - 1)

    def shifted(self, o: Any, how: Callable[[int, int], int]) -> "Whole":
        count = int(self.beside(o).ir)
        return self.like(how(self.number, count) if count < self.bits else 0x5EED)

    def __lshift__(self, o: Any) -> "Whole":
        return self.shifted(o, operator.lshift)

    def __rshift__(self, o: Any) -> "Whole":
        return self.shifted(o, operator.rshift)

    def __rsub__(self, o: Any) -> "Whole":
        return self.beside(o) - self  # type: ignore[operator, no-any-return]

    def __invert__(self) -> "Whole":
        return self ^ -1  # type: ignore[operator, no-any-return]

    def __neg__(self) -> "Whole":
        return self.like(-int(self.ir))

    __hash__ = object.__hash__


def arithmetic(how: Callable[[int, int], int]) -> Callable[[Whole, Any], Whole]:
    return lambda v, o: v.like(how(int(v.ir), int(v.beside(o).ir)))


def comparison(how: Callable[[int, int], bool]) -> Callable[[Whole, Any], Whole]:
    return lambda v, o: Whole(None, "b", 1, 1, int(how(v.number, v.beside(o).number)))


for name in ("add", "sub", "mul", "and", "or", "xor"):
    setattr(Whole, f"__{name}__", arithmetic(getattr(operator, f"__{name}__")))
for name in ("add", "mul", "and", "or", "xor"):
    setattr(Whole, f"__r{name}__", getattr(Whole, f"__{name}__"))
for name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Whole, f"__{name}__", comparison(getattr(operator, name)))


def resized(kind: str, bits: int, signed: bool = False) -> Callable[[Whole], Whole]:
    return lambda v: Whole(None, kind, bits, 1, v.like(v.ir, "i").number if signed else int(v.ir))


INNER = SimpleNamespace(
    const=lambda c, bits=32: Whole(None, "u", bits, 1, literal("u", bits, 1, c)),
    where=lambda condition, a, b: a if condition.number else b,
    first=lambda v: v,
    leading_zeros=lambda v: Whole(None, "u", 32, 1, 32 - int(v.ir).bit_length()),
    popcount=lambda v: Whole(None, "u", 32, 1, int(v.ir).bit_count()),
    low=resized("u", 32),
    zext=resized("u", 64),
    sext=resized("i", 64, signed=True),
    number=resized("u", 32),
    signed=lambda v: v.like(v.ir, "i"),
    unsigned=lambda v: v.like(v.ir, "u"),
)


class Alone(Follower):
    """Notes bounds instead of narrowing a region."""

    fetch = put = atomic = None  # type: ignore[assignment]

    def __init__(self, axes: tuple[int, ...]) -> None:
        self.inner, self.axes = INNER, axes  # type: ignore[assignment]
        self.noted: list[tuple[int, int, list[int]]] = []

    def bound(self, of: Any, below: Any, above: Any, slopes: Any, step_bits: Any, *others: Any) -> None:
        room = [bounds.FAR if v is None else min(int(v.ir), bounds.FAR) for v in (below, above)]
        self.noted.append((room[0], room[1], [s.like(s.ir, "i").number for s in slopes]))

    def undecided(self, unknown: Any, mask: Any = None) -> None:
        assert unknown is None

    def holds(self, steps: tuple[int, ...]) -> bool:
        """Whether a block at this distance is still in the region."""
        moved = [(below, sum(map(operator.mul, slopes, steps)), above) for below, above, slopes in self.noted]
        return all(-below <= far <= above for below, far, above in moved)


class Draw(random.Random):
    """Contents and slopes, often next to where something overflows."""

    def content(self, bits: int) -> int:
        ones, power, little = (1 << bits) - 1, self.randrange(bits), self.randrange(1, 8)
        return ones & self.choice(
            [self.getrandbits(bits), little, -little, (1 << power) + little - 4, little << power, -(little << power),
             ones >> power, self.getrandbits(bits) >> power]
        )  # fmt: skip

    def value(self, x: Alone, bits: int, kind: str = "u") -> Any:
        content, kind_of_value = self.content(bits), self.random()
        slopes = [0 if self.random() < 0.25 else self.content(bits) for _ in x.axes if kind_of_value < 0.7]
        plain = Whole(None, kind, bits, 1, Literal(content) if kind_of_value > 0.85 else content)
        return followed.Followed(x, plain, tuple(Whole(None, "u", bits, 1, s) for s in slopes))  # type: ignore[arg-type]


def there(x: Alone, v: Any, steps: tuple[int, ...]) -> Any:
    """What a value is in the block at some distance."""
    content = int(v.plain.ir) + sum(int(s.ir) * k for s, k in zip(v.slopes, steps, strict=False))
    return followed.Followed(x, v.plain.like(content) if v.slopes else v.plain)


def sum_with_carries(u: Any, v: Any, w: Any) -> Any:
    total, (once, twice) = carrying_sum(u.x, [u, v, w], 1, (), 2)
    return total + u.x.number(once) * 5 + u.x.number(twice) * 7


TWO: dict[str, Callable[[Any, Any], Any]] = {
    name: getattr(operator, name)
    for name in ("add", "sub", "mul", "and_", "or_", "xor", "lt", "le", "gt", "ge", "eq", "ne")
}
WORDS: dict[str, tuple[int, Callable[..., Any]]] = {
    "zext": (1, lambda v: v.x.zext(v)),
    "sext": (1, lambda v: v.x.sext(v)),
    "popcount": (1, lambda v: v.x.popcount(v)),
    "long_of": (2, lambda u, v: v.x.long_of(u, v)),
    "where": (3, lambda u, v, w: u.x.where(u < 77, v, w)),
    "put_together": (3, lambda u, v, w: (u << (w & 31)) | v),
    "sum_with_carries": (3, sum_with_carries),
    "logic": (3, lambda u, v, w: logic(0xE8, [u, v, w]) + logic(0x72, [u, v, w])),
    "places": (2, lambda u, v: ((u >> 3 & 31) << 2 | v & 3) ^ (u >> 30)),
}
LONGS: dict[str, Callable[[Any], Any]] = {"low": lambda v: v.x.low(v), "high": lambda v: v.x.high(v)}


def trials(draw: Draw, x: Alone) -> list[tuple[str, Callable[..., Any], list[Any]]]:
    """Each operation with operands."""
    bits, kind = draw.choice([32, 32, 64]), draw.choice("ui")
    found: list[tuple[str, Callable[..., Any], list[Any]]] = [
        (name, how, [draw.value(x, bits, kind), draw.value(x, bits, kind)]) for name, how in TWO.items()
    ]
    found += [(one.__name__, one, [draw.value(x, bits, kind)]) for one in (operator.neg, operator.invert)]
    found += [(name, how, [draw.value(x, 32) for _ in range(count)]) for name, (count, how) in WORDS.items()]
    found += [(name, how, [draw.value(x, 64)]) for name, how in LONGS.items()]
    for how in (shift_left, shift_right, shift_right_signed):
        amount = draw.value(x, bits) if draw.random() < 0.2 else INNER.const(draw.randrange(bits), bits)
        if not isinstance(amount, followed.Followed):
            known = amount.ir if draw.random() < 0.5 else int(amount.ir)
            amount = followed.Followed(x, amount.like(known))
        found.append((how.__name__, lambda v, s, how=how: how(v.x, v, s, v.plain.bits), [draw.value(x, bits), amount]))
    return found


@pytest.fixture(scope="module", autouse=True)
def whole_numbers() -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(followed, "Value", Whole)
        patch.setattr(followed, "ir", SimpleNamespace(Constant=Literal))
        for module in (followed, bounds):
            patch.setattr(module, "constant", literal)
        yield


@settings(max_examples=25)
@given(st.integers(0, 10**9))
def test_values_are_right_wherever_bounds_hold(seed: int) -> None:
    draw = Draw(seed)
    distances = [(1, 0), (0, 1), (1, 1), (2, 0), (3, 1), (draw.randrange(9), draw.randrange(9)), (100, 0)]
    for _ in range(TRIES):
        x, alone = Alone((0, 1)), Alone(())
        for name, how, operands in trials(draw, x):
            x.noted = []
            result = how(*operands)
            for steps in filter(x.holds, distances):
                wanted = how(*(there(alone, v, steps) for v in operands))
                assert int(there(alone, result, steps).plain.ir) == int(wanted.plain.ir), (name, steps, operands)
