"""Index arithmetic is C's, and Python's where an expression is in Numba's spelling."""

import ast
import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from banksim.patterns.evaluate import Scope
from banksim.patterns.expression import Parser, looks_like_python
from banksim.patterns.integers import Value
from banksim.patterns.source import PatternError, TokenReader, tokens
from banksim.patterns.threads import Threads
from helpers.c_arithmetic import Undefined, expressions, text, value

LANES = 8
C_NAMES = {
    "t": ("unsigned", "u4", [0, 1, 2, 31, 32, 63, 1023, 2**32 - 1]),
    "k": ("int", "i4", [0, -1, 3, -7, 2**31 - 1, -(2**31), 100, 12]),
    "l": ("long long", "i8", [0, -1, 2**40, -(2**63), 5, -12345678901, 2**63 - 1, 7]),
    "z": ("size_t", "u8", [0, 1, 2**64 - 1, 2**63, 99, 2**33, 64, 31]),
    "c": ("char", "i1", [0, -1, -128, 127, 5, 64, 3, -3]),
    "h": ("unsigned short", "u2", [0, 1, 65535, 32768, 5, 64, 3, 9]),
}
"""Names with their C type, NumPy's name of it, and a value for each lane."""
TYPES = {
    "bool": "bool", "char": "int8", "unsigned char": "uint8", "short": "int16", "unsigned short": "uint16",
    "int": "int32", "unsigned": "uint32", "long long": "int64", "unsigned long long": "uint64",
    "size_t": "uint64",
}  # fmt: skip


def evaluate(written: str, names: dict[str, tuple[str, list[int]]]) -> Value:
    """The value of an expression over names of given NumPy types and values."""
    found = tokens(written)
    python = looks_like_python(found)
    values = {name: Value(np.array([numbers], type_)) for name, (type_, numbers) in names.items()}
    scope = Scope(Threads((LANES, 1, 1), (1, 1, 1), ()), 0, values, {}, python, True, frozenset())
    return scope.integer(Parser(TokenReader(found), {}, python).whole())


def lanes(found: Value) -> list[int | None]:
    """The value in each lane, None where it is undefined."""
    numbers = np.broadcast_to(found.numbers, (1, LANES))[0].tolist()
    faults = np.broadcast_to(0 if found.fault is None else found.fault, (1, LANES))[0]
    return [None if fault else int(number) for number, fault in zip(numbers, faults, strict=True)]


@given(expressions([*C_NAMES]))
def test_values_and_types_are_those_of_c(node: Any) -> None:
    found = evaluate(text(node), {name: (type_, numbers) for name, (_, type_, numbers) in C_NAMES.items()})
    for lane, mine in enumerate(lanes(found)):
        names = {name: (numbers[lane], c_type) for name, (c_type, _, numbers) in C_NAMES.items()}
        try:
            expected, c_type = value(node, names)
        except Undefined:
            assert mine is None
        else:
            assert mine == expected
            assert found.numbers.dtype.name == TYPES[c_type]


@pytest.mark.parametrize(
    ("written", "expected", "type_"),
    [
        ("t - 1", 2**32 - 1, "uint32"), ("(int)t - 1", -1, "int32"), ("t - 1 < 0", 0, "int32"),
        ("(int)t - 1 < 0", 1, "int32"), ("2147483647 + 1", -(2**31), "int32"), ("2147483648 + 0", 2**31, "int64"),
        ("0xffffffff + 1", 0, "uint32"), ("-7 / 2", -3, "int32"), ("-7 % 2", -1, "int32"),
        ("-7 / 2u", 2147483644, "uint32"), ("-1 >> 1", -1, "int32"), ("1 << 31", -(2**31), "int32"),
        ("1ll << 40", 2**40, "int64"), ("(char)200", -56, "int8"), ("(unsigned char)-1 + 1", 256, "int32"),
        ("unsigned(7) / int(2)", 3, "uint32"), ("static_cast<short>(65537)", 1, "int16"), ("~0u >> 28", 15, "uint32"),
        ("!5 + !0", 1, "int32"), ("010 + 0x10 + 0b10", 26, "int32"), ("1 | 2 ^ 3 & 4 == 4", 3, "int32"),
        ("1 + 2 << 1", 6, "int32"), ("1 ? 2 : 3 ? 4 : 5", 2, "int32"), ("0 ? 1u : -1", 2**32 - 1, "uint32"),
        ("min(3, 4) + max(5u, 6, 2)", 9, "uint32"), ("max(-1, 1u)", 2**32 - 1, "uint32"),
        ("abs(-5) + abs(7)", 12, "int32"), ("sizeof(double) * sizeof(float4*) + sizeof(int3)", 76, "uint64"),
        ("18446744073709551615u", 2**64 - 1, "uint64"),
    ],
)  # fmt: skip
def test_values_that_c_programmers_know(written: str, expected: int, type_: str) -> None:
    found = evaluate(written, {"t": ("u4", [0] * LANES)})
    assert lanes(found) == [expected] * LANES
    assert found.numbers.dtype.name == type_


@pytest.mark.parametrize(
    ("written", "undefined"),
    [
        ("8 / t", [0]), ("8 % (t - 3)", [3]), ("1 << (t + 28)", [4, 5, 6, 7]), ("1ll << (t + 60)", [4, 5, 6, 7]),
        ("1 >> (2 - (int)t)", [3, 4, 5, 6, 7]), ("t ? 8 / t : 0", []), ("t > 4 || 8 / t", [0]), ("t && 8 / t", []),
        ("(8 / t) * 0", [0]), ("(8 / t) ? 1 : 1", [0]), ("t == 7 ? 1 << 40 : 8 / t", [0, 7]),
        ("t < 4 ? min(8 / t, 1) : abs(8 % (t - 5))", [0, 5]),
    ],
)  # fmt: skip
def test_undefined_values_are_those_that_are_used(written: str, undefined: list[int]) -> None:
    found = lanes(evaluate(written, {"t": ("u4", [*range(LANES)])}))
    assert [lane for lane, number in enumerate(found) if number is None] == undefined


PYTHON_NAMES = {"a": [0, 1, -1, 5, -7, 33, 100, -64], "b": [3, -2, 1, 0, 8, -5, 31, 2]}
PYTHON_OPERATORS: dict[type, Callable[[int, int], int]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod, ast.BitAnd: operator.and_, ast.BitOr: operator.or_, ast.BitXor: operator.xor,
    ast.LShift: operator.lshift, ast.RShift: operator.rshift, ast.Lt: operator.lt, ast.LtE: operator.le,
    ast.Eq: operator.eq, ast.NotEq: operator.ne,
}  # fmt: skip
PYTHON_SIGNS = ["+", "-", "*", "//", "%", "&", "|", "^", "<<", ">>", "<", "<=", "==", "!=", "and", "or"]


def python_value(node: ast.expr, names: dict[str, int]) -> int:
    """What Python makes of an expression, each step wrapped to 64 bits as Numba's integers are."""
    match node:
        case ast.Name(id=name):
            return names[name]
        case ast.Constant(value=number):
            return int(number)
        case ast.IfExp(test=test, body=body, orelse=orelse):
            return python_value(body if python_value(test, names) else orelse, names)
        case ast.BoolOp(op=op, values=values):
            for part in values:
                side = python_value(part, names)
                if bool(side) != isinstance(op, ast.And):
                    break
            return side
        case ast.UnaryOp(op=op, operand=operand):
            inner = python_value(operand, names)
            result = -inner if isinstance(op, ast.USub) else ~inner if isinstance(op, ast.Invert) else not inner
        case ast.BinOp(left=left, op=op, right=right) | ast.Compare(left=left, ops=[op], comparators=[right]):
            first, second = python_value(left, names), python_value(right, names)
            if isinstance(op, ast.LShift | ast.RShift) and not 0 <= second < 64:
                raise Undefined
            result = PYTHON_OPERATORS[type(op)](first, second)
        case _:
            raise AssertionError(ast.dump(node))
    return (int(result) + 2**63) % 2**64 - 2**63


def python_expressions() -> st.SearchStrategy[str]:
    """Expressions in the words of Python, often without parentheses."""
    leaves = st.sampled_from([*PYTHON_NAMES, "0", "1", "2", "7", "32", "0x1f"])
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.tuples(inner, st.sampled_from(PYTHON_SIGNS), inner).map(" ".join),
            st.tuples(inner, st.sampled_from(PYTHON_SIGNS), inner).map(lambda parts: f"({' '.join(parts)})"),
            st.tuples(inner, inner, inner).map(lambda parts: "({} if {} else {})".format(*parts)),
            st.tuples(st.sampled_from(["-", "~"]), inner).map("".join),
            inner.map(lambda operand: f"(not {operand})"),
        ),
        max_leaves=10,
    )


@given(python_expressions().filter(lambda written: not chained(written)))
def test_numba_spelling_has_the_values_of_python(written: str) -> None:
    written = f"({written}) // 1"  # this sign alone makes it Numba's spelling
    names = {name: ("i4", numbers) for name, numbers in PYTHON_NAMES.items()}
    tree = ast.parse(written, mode="eval").body
    for lane, mine in enumerate(lanes(evaluate(written, names))):
        try:
            expected = python_value(tree, {name: numbers[lane] for name, numbers in PYTHON_NAMES.items()})
        except (ZeroDivisionError, Undefined):
            assert mine is None
        else:
            assert mine == expected


def chained(written: str) -> bool:
    """Whether Python sees a chain of comparisons, which banksim refuses."""
    return any(len(node.ops) > 1 for node in ast.walk(ast.parse(written)) if isinstance(node, ast.Compare))


@pytest.mark.parametrize("written", ["0 <= t < 16", "t < 16 > 3", "(t // 2) == t < 5"])
def test_chains_of_comparisons_are_refused(written: str) -> None:
    with pytest.raises(PatternError, match="comparisons in a chain"):
        evaluate(written, {"t": ("u4", [0] * LANES)})
