"""The parser of Gluon's layouts as Python prints them, and as Triton's IR does.

`BlockedLayout(size_per_thread=[1, 8], …)` and `#ttg.blocked<{sizePerThread = [1, 8], …}>`.
"""

import re
from dataclasses import MISSING, fields
from typing import Any

from banksim.errors import UnsupportedError
from banksim.layouts.gluon import CLASSES, DistributedLinearLayout, PaddedSharedLayout, are_sizes
from banksim.patterns.source import Span, TokenReader, tokens

DEEPEST = 16
IR: dict[str, tuple[str, dict[str, str]]] = {
    "blocked": (
        "BlockedLayout",
        {
            "sizePerThread": "size_per_thread", "threadsPerWarp": "threads_per_warp", "warpsPerCTA": "warps_per_cta",
            "order": "order",
        },
    ),
    "slice": ("SliceLayout", {"dim": "dim", "parent": "parent"}),
    "linear": (
        "DistributedLinearLayout",
        {"register": "reg_bases", "lane": "lane_bases", "warp": "warp_bases", "block": "block_bases"},
    ),
    "swizzled_shared": (
        "SwizzledSharedLayout",
        {"vec": "vec", "perPhase": "per_phase", "maxPhase": "max_phase", "order": "order"},
    ),
    "nvmma_shared": (
        "NVMMASharedLayout",
        {
            "swizzlingByteWidth": "swizzle_byte_width", "elementBitWidth": "element_bitwidth", "rank": "rank",
            "transposed": "transposed", "fp4Padded": "fp4_padded",
        },
    ),
}  # fmt: skip
"""Triton's IR: the class of a layout, and of each attribute the field."""
CLUSTER = {"CTAsPerCGA", "CTASplitNum", "CTAOrder", "CGALayout"}
"""Attributes that only clusters of blocks change."""
HEAD = re.compile(r"\s*(?:#\w+\s*=\s*)?#ttg\.|\s*(?:\w+\.)*(?=[A-Z]\w*Layout\s*[.(])")


def looks_like(text: str) -> bool:
    """Whether a text is one of Gluon's layouts, and not in CuTe's notation."""
    return HEAD.match(text) is not None


def parse(text: str, shape: tuple[int, ...]) -> object:
    """The layout that `text` describes; `shape`: of the tensor, where the text does not tell it. `PatternError`."""
    head = HEAD.match(text)
    assert head is not None
    reader = Reader(TokenReader(tokens(text, head.end())), shape)
    return reader.whole("#ttg." in head[0])


class Reader:
    """Goes through a printed layout from left to right."""

    def __init__(self, reader: TokenReader, shape: tuple[int, ...]) -> None:
        self.reader = reader
        self.shape = shape

    def whole(self, ir: bool) -> object:
        found = self.of_ir(0) if ir else self.of_python(0)
        if self.reader.token.kind != "end":
            raise self.reader.surprise("the end")
        return found

    def of_python(self, depth: int) -> object:
        """`BlockedLayout(size_per_thread=[1, 8], …)`."""
        name = self.reader.name("a layout of Gluon")
        while name.word not in CLASSES and self.reader.accept("."):
            name = self.reader.name("a layout of Gluon")
        if name.word not in CLASSES:
            raise name.span.error(f"of Gluon's layouts those known are {', '.join(CLASSES)}")
        names = [one.name for one in fields(CLASSES[name.word])]
        plain = CLASSES[name.word] is PaddedSharedLayout and self.reader.accept(".") is not None
        if plain:
            self.reader.expect("with_identity_for", "or `(`")
            names = ["interval_padding_pairs", "shape", "order", "cga_layout"]
        self.reader.expect("(", "and the fields")
        given: dict[str, Any] = {}
        while not self.reader.at(")"):
            key, value = self.field(names, len(given), depth)
            given[key] = value
            if not self.reader.accept(","):
                break
        span = name.span.to(self.reader.expect(")", "or `,`").span)
        if plain:
            return self.identity(given, span)
        return self.made(name.word, given, span)

    @staticmethod
    def identity(given: dict[str, Any], span: Span) -> PaddedSharedLayout:
        """What `PaddedSharedLayout.with_identity_for(…)` makes."""
        sizes = given.get("shape"), given.get("order")
        if "interval_padding_pairs" not in given or not all(map(are_sizes, sizes)):
            raise span.error("give pairs of an interval and a padding, a shape and an order")
        if sorted(given["order"]) != list(range(len(given["shape"]))):
            raise span.error("the order does not name each axis of the shape once")
        return PaddedSharedLayout.with_identity_for(**given)

    def field(self, names: list[str], place: int, depth: int) -> tuple[str, object]:
        """`order=[1, 0]`, or the value alone of the field at this place."""
        token = self.reader.token
        if token.kind == "name" and self.reader.ahead(1).word == "=":
            self.reader.take()
            self.reader.take()
            key = token.word
        else:
            key = names[place] if place < len(names) else ""
        if key not in names:
            raise token.span.error(f"the fields are {', '.join(names)}")
        return key, self.value(depth + 1)

    def of_ir(self, depth: int) -> object:
        """`blocked<{sizePerThread = [1, 8], …}>`."""
        name = self.reader.name("a layout of Triton's IR")
        if name.word not in IR:
            raise name.span.error(f"of #ttg's layouts those known are {', '.join(IR)}")
        kind, known = IR[name.word]
        self.reader.expect("<", "and the attributes")
        self.reader.expect("{", "and the attributes")
        given: dict[str, Any] = {}
        while not self.reader.at("}"):
            key = self.reader.name("an attribute")
            if key.word not in known and key.word not in CLUSTER:
                raise key.span.error(f"the attributes are {', '.join(known)}")
            self.reader.expect("=", "and a value")
            start = self.reader.token.span
            value = self.value(depth + 1)
            if key.word in known:
                given[known[key.word]] = value
            elif key.word != "CTAOrder" and any(number not in (0, 1) for number in flat(value)):
                raise start.error("clusters of blocks are not known")
            if not self.reader.accept(","):
                break
        self.reader.expect("}", "or `,`")
        end = self.reader.expect(">", "behind the attributes")
        if CLASSES[kind] is DistributedLinearLayout:
            given["shape"] = self.shape
        elif kind == "NVMMASharedLayout":
            given.setdefault("rank", len(self.shape))
        return self.made(kind, given, name.span.to(end.span))

    def made(self, name: str, given: dict[str, Any], span: Span) -> Any:
        kind = CLASSES[name]
        required = [one.name for one in fields(kind) if one.default is MISSING and one.default_factory is MISSING]
        if missing := [one for one in required if one not in given]:
            raise span.error(f"{name} lacks {', '.join(missing)}")
        return kind(**given)

    def value(self, depth: int) -> object:
        """A number, a truth value, a list, or another layout."""
        token = self.reader.token
        if depth > DEEPEST:
            raise token.span.error(f"more than {DEEPEST} lists are inside each other")
        if token.kind == "number" and token.word.isdecimal() and len(token.word) < 10:
            self.reader.take()
            return int(token.word)
        if token.word in ("True", "False", "true", "false"):
            self.reader.take()
            return token.word in ("True", "true")
        if close := {"[": "]", "(": ")"}.get(token.word):
            self.reader.take()
            found: list[object] = []
            while not self.reader.at(close):
                found.append(self.value(depth + 1))
                if not self.reader.accept(","):
                    break
            self.reader.expect(close, "or `,`")
            return found
        if token.kind == "name":
            return self.of_python(depth)
        raise self.reader.surprise("a number, a list or a layout")


def flat(value: object) -> list[object]:
    """The numbers of lists inside each other."""
    return [number for one in value for number in flat(one)] if isinstance(value, list) else [value]


def parse_or_native(given: object, shape: tuple[int, ...]) -> object:
    """A layout of Gluon from its text, or as it is."""
    if isinstance(given, str):
        if not looks_like(given):
            raise UnsupportedError(f"{given}: with a layout of Gluon, give the other as Gluon has it too")
        return parse(given, shape)
    return given
