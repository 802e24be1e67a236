"""From the arguments of `banksim.pattern` to a parsed pattern."""

import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from banksim.errors import InputError
from banksim.patterns.accesses import SHARED_LIMIT
from banksim.patterns.build import Pattern
from banksim.patterns.declarations import Declarations
from banksim.patterns.evaluate import Scope, Variable
from banksim.patterns.expression import KEYWORDS, Parser, looks_like_python
from banksim.patterns.source import PatternError, Token, TokenReader, tokens
from banksim.patterns.syntax import Node
from banksim.patterns.threads import AXES, MOST_REQUESTS, Loop, Threads, block_sizes, grid_sizes, loop_values


@dataclass(frozen=True)
class Description:
    """A pattern as a user gives it; `banksim.pattern` says what each of these means."""

    accesses: str | Sequence[str]
    declare: str | Sequence[str] = ""
    block: int | Sequence[int] = (32,)
    grid: int | Sequence[int] = (1,)
    let: Mapping[str, int | str] | Sequence[str] | str | None = None
    where: str | None = None
    loops: Mapping[str, Iterable[int]] | Sequence[str] | str = ()
    stores: str | Sequence[str] = ()
    allow_out_of_bounds: bool = False


def parse(given: Description) -> Pattern:
    """The pattern that is described."""
    threads = Threads(block_sizes(given.block), grid_sizes(given.grid), ())
    reads = [tokens(text) for text in strings(given.accesses, "accesses")]
    writes = [tokens(text) for text in strings(given.stores, "stores")]
    declared = [tokens(text) for text in strings(given.declare, "declare")]
    condition = [] if given.where is None else [tokens(text) for text in strings([given.where], "where")]
    lets = let_tokens(given.let or ())
    python = any(map(looks_like_python, [*reads, *writes, *declared, *condition, *lets.values()]))

    constants = Constants(threads, lets, python)
    declarations = Declarations(constants)
    for found in declared:
        declarations.read(found)
    variables = declarations.variables()
    if not given.allow_out_of_bounds:
        require_room(variables)

    looped = read_loops(given.loops, constants)
    taken: dict[str, str] = dict.fromkeys(variables, "an array")
    for kind, names in (("a let", list(lets)), ("a loop variable", [loop.name for loop in looped])):
        for name in names:
            if name in taken:
                raise InputError(f"`{name}` is both {taken[name]} and {kind}: give it one meaning")
            taken[name] = kind

    def parser(found: list[Token]) -> Parser:
        return Parser(TokenReader(found), declarations.types, python)

    pattern = Pattern(
        threads=threads._replace(loops=looped),
        variables=variables,
        lets={name: parser(found).whole() for name, found in lets.items()},
        constants=frozenset(constants.names),
        where=parser(condition[0]).whole() if condition else None,
        statements=[node for found in reads for node in parser(found).statements()],
        stores=[node for found in writes for node in parser(found).statements()],
        python=python,
        checked=not given.allow_out_of_bounds,
    )
    if not pattern.statements and not pattern.stores:
        raise InputError("there is no access: give an expression such as `tile[threadIdx.y][threadIdx.x]`")
    return pattern


class Constants:
    """Evaluates what must be the same for all threads: lengths of arrays, bounds of loops.

    `names` are the lets that are the same for all threads.
    """

    def __init__(self, threads: Threads, lets: Mapping[str, list[Token]], python: bool) -> None:
        known = threads.names(0, 1)
        for axis in AXES:
            del known[f"blockIdx.{axis}"], known[f"b{axis}"]
        del known["grid(1)"]
        self.scope = Scope(threads, 0, known, {}, python, checked=True, constants=frozenset())
        self.names: set[str] = set()
        for name, found in lets.items():
            try:
                value = self.scope.integer(Parser(TokenReader(found), {}, python).whole())
            except PatternError:
                continue  # it needs a loop variable or an array, or is wrong: that shows when all names are known
            self.scope.names[name] = value
            if value.numbers.size == 1:
                self.names.add(name)

    def __call__(self, node: Node) -> int:
        """The value of `node`; `PatternError` if it has none or depends on the thread."""
        value = self.scope.integer(node)
        if value.numbers.size > 1:
            raise node.span.error(f"`{node.span.written}` differs between threads: a constant is needed")
        if value.fault is not None and value.fault.any():
            span, describe = self.scope.faults[int(value.fault.flat[0]) - 1]
            raise span.error(describe(0, 0))
        return int(value.numbers.flat[0])


def strings(given: str | Sequence[str], what: str) -> list[str]:
    """One string or several as a list."""
    found = [given] if isinstance(given, str) else list(given)
    for text in found:
        if not isinstance(text, str):
            raise InputError(f"{what}: {text!r} is no string")
    return found


def let_tokens(given: Mapping[str, int | str] | Sequence[str] | str) -> dict[str, list[Token]]:
    """The tokens of each let's value, by name."""
    lets: dict[str, list[Token]] = {}
    if isinstance(given, Mapping):
        for name, value in given.items():
            if len(named := tokens(str(name))) != 2 or named[0].kind != "name" or name in KEYWORDS:
                raise InputError(f"let: {name!r} cannot be a name")
            lets[name] = tokens(value if isinstance(value, str) else digits(name, value))
        return lets
    for text in strings(given, "let"):
        reader = TokenReader(tokens(text))
        name = defined_name(reader)
        if name in lets:
            raise reader.tokens[0].span.error(f"`{name}` is given twice")
        lets[name] = reader.tokens[reader.position :]
    return lets


def defined_name(reader: TokenReader) -> str:
    """The name in `name = …`; the reader then stands behind the `=`."""
    token = reader.name("a name, as in `N=32`")
    if token.word in KEYWORDS:
        raise token.span.error(f"`{token.word}` cannot be a name")
    reader.expect("=")
    return token.word


def digits(name: str, value: object) -> str:
    """An integer as text."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InputError(f"let {name}: {value!r} is neither a whole number nor an expression") from None
    if not -(2**63) < number < 2**64:
        raise InputError(f"let {name}: the number does not fit in 64 bits")
    return str(number)


def read_loops(given: Mapping[str, Iterable[int]] | Sequence[str] | str, constants: Constants) -> tuple[Loop, ...]:
    """The loops, from a mapping or from texts."""
    if isinstance(given, Mapping):
        return tuple(loop_values(name, values) for name, values in given.items())
    found: dict[str, Loop] = {}
    for text in strings(given, "loops"):
        loop = read_loop(text, constants)
        if loop.name in found:
            raise InputError(f"two loops over `{loop.name}`: give each a name of its own")
        found[loop.name] = loop
    return tuple(found.values())


def read_loop(text: str, constants: Constants) -> Loop:
    """`k=0..31`, `k=0..62..2` or `s=64,32,16`."""
    before, equals, after = text.partition("=")
    start = len(before) + len(equals)
    name = defined_name(TokenReader(tokens(text, 0, start)))
    bounds: list[int] = []
    parts = after.split("..")
    for part in parts:
        parser = Parser(TokenReader(tokens(text, start, start + len(part))), {}, constants.scope.python)
        bounds.append(constants(parser.part()))
        while len(parts) == 1 and parser.reader.accept(","):
            bounds.append(constants(parser.part()))
        if parser.reader.token.kind != "end":
            raise parser.reader.surprise("`..` or the end" if len(parts) > 1 else "`,`, `..` or the end")
        start += len(part) + 2
    if len(parts) == 1:
        return loop_values(name, bounds)
    first, last, step = [*bounds, 1][:3]
    whole = tokens(text)[0].span._replace(end=len(text))
    if len(parts) > 3:
        raise whole.error("a loop is first..last or first..last..step")
    if step == 0 or (last - first) // step < 0:
        raise whole.error(f"from {first} to {last} in steps of {step} there is no value")
    if (last - first) // step >= MOST_REQUESTS:
        raise whole.error(f"the loop has more than {MOST_REQUESTS} values")
    return loop_values(name, range(first, last + (1 if step > 0 else -1), step))


def require_room(variables: Mapping[str, Variable]) -> None:
    """Refuse arrays that fit no GPU's shared memory."""
    for variable in variables.values():
        if variable.base + variable.type.size > SHARED_LIMIT:
            raise variable.span.error(
                f"`{variable.name}` ends at byte {variable.base + variable.type.size}, and no GPU gives a "
                f"block more than {SHARED_LIMIT} bytes (--allow-out-of-bounds reports anyway)"
            )
