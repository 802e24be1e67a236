"""The types of a kernel's parameters as its source declares them: of extern "C", whose name tells none, and whose PTX
tells no more of a pointer than that it is one."""

import re
from collections.abc import Iterable, Iterator

JOINED = re.compile(r"\\[ \t]*\r?\n")
"""Where a line goes on in the next."""
IGNORED = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
CV = ("const", "volatile")
QUALIFIERS = frozenset((*CV, "__restrict__", "__restrict", "restrict", "__grid_constant__"))
VECTORS = {
    f"{kind}{n}" for kind in ("char", "short", "int", "long", "longlong", "float", "double") for n in range(1, 5)
}
VECTORS |= {f"u{kind}" for kind in VECTORS if kind[0] in "csil"}
PLAIN = VECTORS | {"bool", "char", "short", "int", "long", "float", "double", "void", "__half"}
WORDS = ("unsigned", "signed", "short", "long", "int", "char")
FIXED = {
    "int8_t": "signed char", "uint8_t": "unsigned char", "int16_t": "short", "uint16_t": "unsigned short",
    "int32_t": "int", "uint32_t": "unsigned int", "int64_t": "long", "uint64_t": "unsigned long",
    "size_t": "unsigned long", "half": "__half",
}  # fmt: skip

ATTRIBUTE = re.compile(
    r"\[\[[^\[\]]*\]\]|\b(?:__align__|alignas|__attribute__|__declspec)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)"
)
OWN = re.compile(
    r"#[ \t]*define[ \t]+(\w+)|\busing\s+(?:[\w:]*::\s*)?(\w+)\s*[=;]|\}\s*(\w+)\s*;|"
    r"\b(?:struct|class|union|enum(?:\s+(?:class|struct))?|typename)\b\s*(?:\.\.\.\s*)?(\w+(?:[ \t]+\w+)*)"
)
"""What gives a name a meaning of the source's own, `typedef` aside, in a text without attributes. (What a macro stands
for may come before it.)"""
TYPEDEF = re.compile(r"\btypedef\b([^;{}]*);")


def parameter_types(texts: Iterable[str], name: str) -> tuple[str | None, ...]:
    """The types of the parameters of a kernel in the source and the headers that it includes; None where one is no
    number, vector or pointer to such by a name of the language's own, or the source uses that name for something else.
    Nothing where it is not declared there, or in several ways."""
    between = "[^;{}()]*"
    bounds = rf"(?:__launch_bounds__\s*\([^()]*\){between})?"
    start = re.compile(rf"__global__\b{between}{bounds}\b{re.escape(name)}\s*\(([^()]*)\)")
    plain_texts = [IGNORED.sub(" ", JOINED.sub("", text)) for text in texts]
    own = frozenset(name for text in plain_texts for name in own_names(text))
    found = {
        tuple(one_type(one, own) for one in listed.split(",")) if listed.strip() not in ("", "void") else ()
        for text in plain_texts
        for listed in start.findall(text)
    }
    return found.pop() if len(found) == 1 else ()


def own_names(text: str) -> Iterator[str]:
    """The names that a source uses for types or macros of its own, whatever the scope and whether compiled or not."""
    text = ATTRIBUTE.sub(" ", text)
    for names in OWN.findall(text):
        yield from " ".join(names).split()
    for body in TYPEDEF.findall(text):
        declarators = re.sub(r"\([^()]*\)", "", re.sub(r"\(\s*\*\s*(\w+)\s*\)", r"\1", body))
        yield from re.findall(r"(\w+)\s*(?:\[[^\]]*\]\s*)*(?:,|$)", declarators.strip())


def one_type(declared: str, own: frozenset[str]) -> str | None:
    """A parameter's type as a mangled name has it; None for one by the source's `own` names."""
    parts = re.findall(r"\w+|\S", declared.partition("=")[0])
    stars = parts.count("*")
    words = [part for part in parts if part not in QUALIFIERS and part != "*"]
    if stars > 1 or not all(re.fullmatch(r"\w+", word) for word in words):
        return None
    named = words if plain(words) else words[:-1]
    kind = None if own.intersection(named) else plain(named)
    pointed = parts[: parts.index("*")] if stars else ()
    return "".join([kind, *(f" {one}" for one in CV if one in pointed), "*" * stars]) if kind else None


def plain(words: list[str]) -> str | None:
    """A type of the language or CUDA's own headers, spelled as in a mangled name."""
    if len(words) == 1 and (words[0] in PLAIN or words[0] in FIXED):
        return FIXED.get(words[0], words[0])
    if not words or not set(words) <= set(WORDS):
        return None
    unsigned = "unsigned " * ("unsigned" in words)
    if "char" in words:
        return f"{'signed ' * ('signed' in words)}{unsigned}char"
    size = "short" if "short" in words else " ".join(["long"] * words.count("long")) or "int"
    return unsigned + size
