"""CUDA C++ whose host part does not compile: its device code is compiled without what the host alone needs.

Headers that nobody finds are empty, and functions of the host in which errors lie are blanked, again and again, so that
every other line keeps its number. An error in device code stays one: then the compiler's first message holds.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from banksim.errors import CompileError
from banksim.kernels.compilers.headers import MISSING
from banksim.kernels.compilers.nvrtc import TOKEN

ERROR = re.compile(
    r"^(?P<file>[^\n(:]+)(?:\((?P<line>\d+)\)|:(?P<at>\d+):\d+): (?:catastrophic |fatal )?error", re.MULTILINE
)
"""As NVIDIA's compilers write it, and as the host's does."""
OF_DEVICE = re.compile(r"\b__(global|device|constant|shared|managed)__")
OPEN = re.compile(r'\b(namespace\b[^()]*|extern\s*"C(\+\+)?"\s*)$')
"""What a brace opens that holds functions itself."""
BRACKETS = re.compile(r"\([^()]*\)|<[^<>]*>")
MOST = 60
"""Times that a file is compiled."""
BLANKED: set[tuple[frozenset[str], str]] = set()
"""Headers that this process left out, and a construct in which errors lay then: as in other layouts of its file."""


@dataclass
class LeftOut:
    """What a file was compiled without: `headers` by their names, and its lines, from and to."""

    headers: list[str] = field(default_factory=list)
    lines: list[tuple[int, int]] = field(default_factory=list)

    def __str__(self) -> str:
        joined: list[tuple[int, int]] = []
        for first, last in sorted(self.lines):
            follows = joined and first <= joined[-1][1] + 1
            begun = joined.pop()[0] if follows else first
            joined.append((begun, last))
        spans = [str(first) if first == last else f"{first}–{last}" for first, last in joined]
        parts = [f"the header{'s' * (len(self.headers) > 1)} {', '.join(self.headers)}"] if self.headers else []
        one = len(spans) == 1 and spans[0].isdigit()
        parts += [f"its line{'' if one else 's'} {', '.join(spans)}"] if spans else []
        return " and ".join(parts)


Compile = Callable[[str, list[str]], bytes]
"""Compiles a text, in which headers of these names are empty."""


def compile_device_part(file: Path, nowhere: set[str], compile: Compile, error: CompileError) -> tuple[bytes, LeftOut]:
    """The cubin of a file, and what is not in it; `nowhere` are headers that no compiler finds where it looks. `error`
    if something would have to go that is not the host's alone."""
    text = file.read_text(errors="replace")
    left = LeftOut()
    said = str(error)
    for _ in range(MOST):
        headers = missing(said) - set(left.headers)
        headers |= (nowhere if headers else set()) - set(left.headers)
        headers = {name for name in headers if can_be_empty(name)}
        names = frozenset(left.headers) | headers
        if headers:
            spans = [one for one in constructs(text) if (names, text[one.start : one.end]) in BLANKED]
        else:
            spans = blamed(said, file, text)
            BLANKED.update((names, text[one.start : one.end]) for one in spans)
        if not headers and not spans:
            raise error
        left.headers += sorted(headers)
        left.lines += [(one.first, one.last) for one in spans]
        for one in sorted(spans, key=lambda one: -one.start):  # from the end on: what goes moves what follows
            text = text[: one.start] + blank(text[one.start : one.end]) + text[one.end :]
        try:
            return compile(text, left.headers), left
        except CompileError as again:
            said = str(again)
    raise error


def missing(said: str) -> set[str]:
    """The headers that a compiler did not find."""
    return {match[1] or match[2] for match in MISSING.finditer(said)}


def can_be_empty(name: str) -> bool:
    """Whether a header of this name can be made within a folder. A source that others wrote names no place outside."""
    path = PurePosixPath(name)
    return name.isprintable() and not path.is_absolute() and ".." not in path.parts


@dataclass(frozen=True)
class Construct:
    """A declaration or a function: its place in the text, its lines, and what comes before its body."""

    start: int
    end: int
    first: int
    last: int
    head: str


def blamed(said: str, file: Path, text: str) -> list[Construct]:
    """The host's constructs in which errors lie; none if there is an error elsewhere."""
    places = [(match["file"].strip(), int(match["line"] or match["at"])) for match in ERROR.finditer(said)]
    if not places or any(Path(name) != file for name, _ in places):
        return []
    known = list(constructs(text))
    found = {}
    for _, line in places:
        one = next((one for one in known if one.first <= line <= one.last), None)
        if one is None or OF_DEVICE.search(one.head):
            return []
        found[one.start] = one
    return list(found.values())


def blank(text: str) -> str:
    """As many lines, of which directives of the preprocessor are left."""
    lines = text.split("\n")
    kept = []
    goes_on = False
    for line in lines:
        directive = goes_on or line.lstrip().startswith("#")
        goes_on = directive and line.endswith("\\")
        kept.append(line if directive else "")
    return "\n".join(kept)


def constructs(text: str) -> Iterator[Construct]:
    """What stands in a file, also within namespaces."""
    at = depth = 0
    line = 1
    head = ""
    begun = 1  # the line where the construct begins

    def made(end: int) -> Construct:
        return Construct(at, end, begun, line, head or text[at:end])

    for match in TOKEN.finditer(text):
        token, end = match[0], match.end()
        before = not depth and not head and not text[at : match.start()].strip()
        if before and (token.startswith("/") or token.lstrip().startswith("#") or token == "\n"):
            line += token.count("\n")
            at, begun = end, line
            continue
        line += token.count("\n")
        if token == "{":
            if not depth and OPEN.search(text[at : match.start()].rstrip()):
                at, begun = end, line
                continue
            head = head or text[at : match.start()]
            depth += 1
        elif token == "}":
            if not depth:  # of a namespace
                at, begun, head = end, line, ""
                continue
            depth -= 1
            if not depth and is_function(head):
                yield made(end)
                at, begun, head = end, line, ""
        elif token == ";" and not depth:
            yield made(end)
            at, begun, head = end, line, ""


def is_function(head: str) -> bool:
    """Whether the body ends it, so that no semicolon follows."""
    outside = head
    while (shorter := BRACKETS.sub("", outside)) != outside:
        outside = shorter
    if re.search(r"\b(struct|class|union|enum)\b[^()]*$", head):
        return False
    return ")" in head and ("=" not in outside.replace("operator", "") or "operator" in outside)
