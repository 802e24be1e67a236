"""What `printf` in a kernel prints: C's formatting, of arguments as a kernel passes them, in bytes.

The ways of CUDA (programming guide, "Formatted Output"): floats are doubles; arguments lie one behind the other, each
at a multiple of its size. Of what a launch prints, a GPU keeps the last MiB unless the program asks for more; here it
is the first `MOST` bytes, and what is left out is said.
"""

import math
import re
import struct
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from banksim.errors import UnsupportedError

DIRECTIVE = re.compile(rb"%([-+ #0]*)(\*|\d*)(\.(?:\*|-?\d*))?(hh|h|ll|l|j|z|t|L)?([diouxXcsfFeEgGaAp%])")
WIDEST = 4095
"""Characters of one conversion that C guarantees; what CUDA makes of more is not known."""
SIZES = {b"hh": 1, b"h": 2, b"": 4}
"""Bytes of an integer by its length; all others are of 8."""
MOST = 64 << 20
"""Bytes that a launch may print until no more are kept."""


class Directive(NamedTuple):
    """What a format says of one argument. `width`, `precision`: None if it says nothing, -1 where an argument tells."""

    flags: bytes
    width: int | None
    precision: int | None
    size: int
    kind: bytes

    @property
    def passed(self) -> list[int]:
        """The sizes of its arguments."""
        given = 8 if self.kind in b"sp" or self.kind in b"fFeEgGaA" else 8 if self.size == 8 else 4
        return [4] * ((self.width == -1) + (self.precision == -1)) + [given]


class Plain(NamedTuple):
    """A format that Python's `%` makes the same of as C: its template, what its values lie like in memory, and which
    of them are addresses of strings."""

    template: bytes
    values: struct.Struct
    strings: tuple[int, ...]


class Format(NamedTuple):
    """A format: texts, one more than directives between them, and the place and size of every argument."""

    texts: list[bytes]
    directives: list[Directive]
    places: list[tuple[int, int]]
    plain: Plain | None = None

    @property
    def bytes(self) -> int:
        """Bytes of all arguments."""
        return sum(self.places[-1]) if self.places else 0


@lru_cache(1024)
def parsed(text: bytes) -> Format:
    """A format. `UnsupportedError` for a width or a precision beyond what C guarantees."""
    texts, directives, places = [b""], list[Directive](), list[tuple[int, int]]()
    at = end = 0
    for match in DIRECTIVE.finditer(text):
        flags, width, precision, length, kind = match.groups(b"")
        texts[-1] += text[at : match.start()]
        at = match.end()
        if kind == b"%":
            texts[-1] += b"%"
            continue
        size = SIZES.get(length, 8)
        directive = Directive(flags, figure(width), figure(precision[1:] or b"0") if precision else None, size, kind)
        for one in directive.passed:
            begin = -(-end // one) * one
            places.append((begin, one))
            end = begin + one
        directives.append(directive)
        texts.append(b"")
    texts[-1] += text[at:]
    format = Format(texts, directives, places)
    return format._replace(plain=plain(format))


PLAIN_FLAGS = {b"di": b"-+ 0", b"uxXo": b"-0", b"fFeEgG": b"-+ 0", b"cs": b"-"}
"""The flags with which Python's `%` does what C does, by the kinds that have them (without a precision: `plain`)."""
CODES = {1: "b3x", 2: "h2x", 4: "i", 8: "q"}


def plain(format: Format) -> Plain | None:
    """How the arguments of many lanes are printed at once; None if what C makes of them is not what Python does."""
    template, codes, end = format.texts[0].replace(b"%", b"%%"), "<", 0
    if not format.directives:
        return None
    for directive, text in zip(format.directives, format.texts[1:], strict=True):
        flags, width, precision, size, kind = directive
        may_have = next((some for kinds, some in PLAIN_FLAGS.items() if kind in kinds), None)
        if may_have is None or set(flags) - set(may_have) or -1 in (width, precision):
            return None
        if precision is not None and kind not in b"fFeEgGs":
            return None
        shown = b"" if precision is None else b".%d" % precision
        template += b"%%%b%b%b%b" % (flags, b"%d" % width if width else b"", shown, kind) + text.replace(b"%", b"%%")
    for directive, (place, size) in zip(format.directives, format.places, strict=True):
        codes += f"{place - end}x" + code(directive)
        end = place + size
    strings = tuple(n for n, directive in enumerate(format.directives) if directive.kind == b"s")
    return Plain(template, struct.Struct(codes), strings)


def code(directive: Directive) -> str:
    """An argument as `struct` writes it."""
    if directive.kind in b"fFeEgG":
        return "d"
    if directive.kind in b"cs":
        return "Q" if directive.kind == b"s" else "c3x"
    return CODES[directive.size] if directive.kind in b"di" else CODES[directive.size].upper().replace("X", "x")


def lines(plain: Plain, arguments: bytes, string: Callable[[int, int], bytes]) -> list[bytes] | None:
    """What a format makes of the arguments of several lanes, which lie one behind the other; None where one of them is
    no number. `string` reads the text at an address, for the lane of a number."""
    template, found = plain.template, list[bytes]()
    for number, values in enumerate(plain.values.iter_unpack(arguments)):
        if plain.strings:
            values = tuple(string(v, number) if n in plain.strings else v for n, v in enumerate(values))
        found.append(template % values)
        for value in values:
            if value.__class__ is float and not math.isfinite(value):
                return None
    return found


def figure(text: bytes) -> int | None:
    if text == b"*":
        return -1
    return limited(text) if text else None


def limited(text: bytes | int) -> int:
    """A width or a precision. `UnsupportedError` if it is more than C guarantees."""
    shown = str(text) if isinstance(text, int) else text.decode()
    if len(shown) > 9 or abs(int(shown)) > WIDEST:
        raise UnsupportedError(f"printf: a width or precision of {shown[:40]}: C guarantees no more than {WIDEST:,}")
    return int(shown)


def printed(format: Format, arguments: bytes, string: Callable[[int], bytes]) -> bytes:
    """What a format makes of its arguments. `string` reads the text at an address."""
    if not format.directives:
        return format.texts[0]
    values = iter([arguments[begin : begin + size] for begin, size in format.places])
    found = [format.texts[0]]
    for directive, text in zip(format.directives, format.texts[1:], strict=True):
        flags, width, precision = directive.flags, directive.width, directive.precision
        if width == -1:
            width = limited(int.from_bytes(next(values), "little", signed=True))
            flags, width = (flags + b"-" if width < 0 else flags), abs(width)
        if precision == -1:
            precision = limited(int.from_bytes(next(values), "little", signed=True))
        if precision is not None and precision < 0:
            precision = None
        sign, shown = converted(directive, flags, precision, next(values), string)
        if b"0" in flags and b"-" not in flags and may_have_zeros(directive.kind, precision, shown):
            shown = shown.rjust((width or 0) - len(sign), b"0")
        shown = sign + shown
        found += [shown.ljust(width or 0) if b"-" in flags else shown.rjust(width or 0), text]
    return b"".join(found)


def converted(
    directive: Directive, flags: bytes, precision: int | None, value: bytes, string: Callable[[int], bytes]
) -> tuple[bytes, bytes]:
    """The sign or prefix of one argument, and the rest, which zeros may stand between."""
    kind, plus = directive.kind, b"+" if b"+" in flags else b" " if b" " in flags else b""
    if kind in b"di":
        number = int.from_bytes(value[: directive.size], "little", signed=True)
        return b"-" if number < 0 else plus, digits(b"%d" % abs(number), precision)
    if kind in b"ouxX":
        number = int.from_bytes(value[: directive.size], "little")
        shown = digits((f"%{kind.decode()}" % number).encode(), precision)
        if b"#" in flags and kind == b"o" and not shown.startswith(b"0"):
            shown = b"0" + shown
        return b"0" + kind if b"#" in flags and kind in b"xX" and number else b"", shown
    if kind == b"c":
        return b"", value[:1]
    if kind == b"s":
        return b"", string(int.from_bytes(value, "little"))[:precision]
    if kind == b"p":
        address = int.from_bytes(value, "little")
        return b"", b"%#x" % address if address else b"(nil)"
    (real,) = struct.unpack("<d", value)
    sign, real = b"-" if math.copysign(1, real) < 0 else plus, abs(real)
    if not math.isfinite(real):
        shown = b"%f" % real
    elif kind in b"aA":
        sign, shown = sign + b"0x", hexadecimal(real, precision)
    else:
        shown = (
            f"%{'#' if b'#' in flags else ''}{'' if precision is None else f'.{precision}'}{kind.decode()}" % real
        ).encode()
    return (sign.upper(), shown.upper()) if kind.isupper() else (sign, shown)


def may_have_zeros(kind: bytes, precision: int | None, shown: bytes) -> bool:
    """Whether the flag 0 means something: for numbers, but for no infinity and no integer with a precision."""
    return precision is None if kind in b"diouxX" else kind in b"fFeEgGaA" and shown.lower() not in (b"inf", b"nan")


def hexadecimal(value: float, precision: int | None) -> bytes:
    """A double as C's %a prints it, without sign and 0x."""
    if precision is not None:
        raise UnsupportedError("printf: %a with a precision")
    shown, _, exponent = value.hex()[2:].partition("p")
    return f"{shown.rstrip('0').rstrip('.') if '.' in shown else shown}p{exponent}".encode()


def digits(text: bytes, precision: int | None) -> bytes:
    """An integer with as many digits as the precision wants; none of 0 where it wants none."""
    return b"" if precision == 0 and text == b"0" else text.rjust(precision or 0, b"0")
