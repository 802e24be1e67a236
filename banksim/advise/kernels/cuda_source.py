"""Shared arrays in the source of a CUDA C++ kernel, found in the syntax tree that tree-sitter makes of it."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from banksim.advise.kernels.source import SourceArray, SourceSpan, Use
from banksim.architectures.bank_rules import Architecture
from banksim.errors import BanksimError, InputError
from banksim.kernels.compilers.source import Compilation, resolved
from banksim.patterns.types import ALIASES, FUNDAMENTAL
from banksim.system.extras import missing

if TYPE_CHECKING:
    from tree_sitter import Node

UNREAD = re.compile(
    rb"\b(?:__align__|alignas|__launch_bounds__|_Pragma)\s*\((?:[^()]|\([^()]*\))*\)"
    rb"|^[ \t]*#[ \t]*pragma\b(?:\\\r?\n|[^\n])*",
    re.MULTILINE,
)
"""Attributes and pragmas, which the grammar does not accept everywhere that C++ allows them."""
PURE = re.compile(r"(?:(?:cuda::)?std::)?(?:min|max|abs)|__(?:ffs|clz|popc|brev|mul24|umul24)|int|unsigned|size_t")
"""Functions that an index may call twice."""
DEFINITIONS = ("preproc_def", "preproc_function_def")
SIDE_EFFECTS = ("update_expression", "assignment_expression")
CASTS = ("reinterpret_cast", "static_cast", "const_cast")
TAKES_16_BYTES = re.compile(r"__cvta_generic_to_shared|(?:\w+::)*memcpy_async|__pipeline_memcpy_async")
"""Functions that take an address and access no more than 16 aligned bytes there."""
WRAPPERS = ("parenthesized_expression", "cast_expression", "pointer_type_cast")


class CudaSource:
    """A kernel of a CUDA C++ file."""

    def __init__(
        self,
        file: str | Path,
        name: str,
        defines: Sequence[str] = (),
        includes: Sequence[str | Path] = (),
        std: str | None = None,
        arch: str = "sm_90",
        constants: Mapping[str, Any] | None = None,
    ) -> None:
        """`arch`: what to compile for; `constants`: values of the module's variables; the others: as `banksim.load`."""
        self.constants = constants or {}
        self.file, self.name, self.arch = Path(file), name, arch
        self.options: dict[str, Any] = {"defines": tuple(defines), "includes": resolved(includes), "std": std}
        try:
            self.content = self.file.read_bytes()
        except OSError as error:
            raise InputError(f"{file}: {error.strerror}") from None
        reader = reader_of(self.content, name)
        if reader is None:
            unseen = "one that a macro makes or another file has is not seen"
            raise InputError(f"{file}: its text defines no kernel {name} ({unseen})")
        self.declared = tuple(reader.arrays())

    def kernel(self, content: bytes) -> Any:
        from banksim.kernels.load import Module, SeveralCubins

        def compiled(*instances: str) -> Mapping[str, Any]:
            return SeveralCubins([self.cubin(content, instances)])

        kernels = compiled(*(self.instances if content != self.content else ()))
        found = Module(kernels, str(self.file), compiled)[self.name]
        found.constants.update(self.constants)
        return found

    def ahead(self, contents: Iterable[bytes], args: Sequence[object], archs: Sequence[Architecture]) -> None:
        from banksim.kernels.cubin import decode_ahead

        cubins = []
        for content in contents:
            with suppress(BanksimError):  # `kernel` will raise it again
                cubins.append(self.cubin(content, self.instances))
        decode_ahead(cubins)

    def cubin(self, content: bytes, instances: Sequence[str]) -> bytes:
        from banksim.kernels.compilers.cuda import compiled
        from banksim.kernels.compilers.included import folders
        from banksim.system import cache

        file, options = self.file.resolve(), {**self.options, "instances": tuple(instances)}
        if content != self.content:  # its headers stay where they are
            options["helpers"] = tuple(folders([file], self.options["includes"]))
            options["includes"] = (file.parent, *self.options["includes"])
            file = cache.keep(content, file.name)
        cubin, _ = compiled(Compilation(file, self.arch, **options))  # what is left out was said where it was loaded
        return cubin

    @functools.cached_property
    def instances(self) -> tuple[str, ...]:
        """The kernel's own name, if it is of a template that the file does not instantiate."""
        from banksim.kernels.load import SeveralCubins, matching

        is_template = "<" in self.name and not matching(self.name, SeveralCubins([self.cubin(self.content, ())]))
        return (self.name,) if is_template else ()


def cuda_arrays(content: bytes, name: str) -> Iterator[SourceArray]:
    """The shared arrays that the kernel `name` declares, as `copy<32>` or `ns::copy` too."""
    reader = reader_of(content, name)
    return reader.arrays() if reader else iter(())


def reader_of(content: bytes, name: str) -> CudaReader | None:
    """What reads the kernel's body, if the text defines it."""
    try:
        import tree_sitter
        import tree_sitter_cuda
    except ImportError:
        raise missing("advice on CUDA C++ needs tree-sitter-cuda", "cuda") from None
    code = UNREAD.sub(lambda match: re.sub(rb"[^\n]", b" ", match[0]), content)
    parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_cuda.language()))
    root = parser.parse(code).root_node
    last = name.partition("<")[0].partition("(")[0].rpartition("::")[2]
    body = next((found for node in nodes(root) if (found := body_of(node, last))), None)
    if body is None:
        return None
    return CudaReader(content, body, {text_of(one): one for one in nodes(root) if one.type in DEFINITIONS})


def nodes(root: Node) -> Iterator[Node]:
    """A node and all within it, in the order of the text."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)


def text_of(node: Node | None) -> str:
    return (node.text or b"").decode(errors="surrogateescape") if node is not None else ""


def body_of(node: Node, name: str) -> Node | None:
    """The body of a kernel of this name, if the node is its definition."""
    if node.type != "function_definition" or not any(child.type == "__global__" for child in node.children):
        return None
    declarator = node.child_by_field_name("declarator")
    called = declarator.child_by_field_name("declarator") if declarator is not None else None
    return node.child_by_field_name("body") if text_of(called).partition("<")[0] == name else None


@dataclass(frozen=True)
class CudaReader:
    """Finds shared arrays and their uses in the body of a kernel; `macros`: the file's by their text."""

    content: bytes
    body: Node
    macros: Mapping[str, Node]

    def arrays(self) -> Iterator[SourceArray]:
        found = [array for node in nodes(self.body) if is_shared(node) for array in self.declared_by(node)]
        dynamic = [array.name for array in found if not array.lengths]
        for array in found:
            if not array.lengths and len(dynamic) > 1:
                array = replace(array, fixed=f"{' and '.join(dynamic)} are at one address")
            yield array if array.fixed else self.with_uses(array)

    def declared_by(self, node: Node) -> Iterator[SourceArray]:
        type_ = text_of(node.child_by_field_name("type"))
        known = FUNDAMENTAL.get(type_) or ALIASES.get(type_)
        for declarator in node.children_by_field_name("declarator"):
            lengths: list[SourceSpan] = []
            inner: Node | None = declarator
            while inner is not None and inner.type == "array_declarator":
                size = inner.child_by_field_name("size")
                lengths[:0] = [self.place(size)] if size is not None else []
                inner = inner.child_by_field_name("declarator")
            is_dynamic = not lengths and text_of(node).startswith("extern")
            if inner is not None and inner.type == "identifier" and (lengths or is_dynamic):
                yield SourceArray(
                    name=text_of(inner),
                    line=inner.start_point[0] + 1,
                    end=node.end_byte,
                    lengths=tuple(lengths),
                    size=known.size if known else None,
                )

    def place(self, node: Node) -> SourceSpan:
        text = self.content[node.start_byte : node.end_byte].decode(errors="surrogateescape")
        return SourceSpan(node.start_byte, node.end_byte, text, int(text) if text.isdecimal() else None)

    def with_uses(self, array: SourceArray) -> SourceArray:
        word = re.compile(rf"\b{array.name}\b")
        for text, node in self.macros.items():
            if word.search(text):
                return replace(array, fixed=f"line {node.start_point[0] + 1} names it in a macro")
        uses = []
        for node in nodes(self.body):
            if node.type == "ERROR" or node.is_missing:
                return replace(array, fixed=f"line {node.start_point[0] + 1} cannot be parsed")
            if node.type == "identifier" and text_of(node) == array.name and not is_declared(node):
                use = self.use(node, max(1, len(array.lengths)))
                if isinstance(use, str):
                    return replace(array, fixed=f"line {node.start_point[0] + 1} {use}")
                uses.append(use)
        return replace(array, uses=tuple(uses))

    def use(self, node: Node, dimensions: int) -> Use | str:
        """The access to one element that a mention of an array makes, or why it makes none."""
        indices: list[Node] = []
        while len(indices) < dimensions:
            outer = node.parent
            if outer is None or outer.type != "subscript_expression" or outer.child_by_field_name("argument") != node:
                return "uses it whole"
            index = outer.child_by_field_name("indices")
            given = index.named_children if index is not None else []
            if len(given) != 1:
                return "uses it whole"
            indices, node = [*indices, given[0]], outer
        for part in (part for index in indices for part in nodes(index)):
            if part.type in SIDE_EFFECTS:
                return "changes a variable in an index"
            if part.type == "call_expression" and not PURE.fullmatch(text_of(part.child_by_field_name("function"))):
                return f"calls {text_of(part.child_by_field_name('function'))} in an index"
        wide = self.is_wide(node)
        if wide is None:
            return "keeps the address of an element"
        return Use(node.start_byte, node.end_byte, tuple(map(self.place, indices)), wide)

    def is_wide(self, node: Node) -> bool | None:
        """Whether an element may be accessed with its neighbours, through a cast; None if its address is kept."""
        node, parent = unwrapped(node)
        if parent.type != "pointer_expression" or parent.children[0].type != "&":
            called = callee(parent)
            return "&" in cast_type(node) or (called.isupper() or f"#define {called}(" in "".join(self.macros))
        node, parent = unwrapped(parent)
        if parent.type == "pointer_expression" and parent.children[0].type == "*":
            return True
        if parent.type == "subscript_expression" and parent.child_by_field_name("argument") == node:
            indices = parent.child_by_field_name("indices")
            return True if text_of(indices) == "[0]" else None
        called = callee(parent)
        if called.startswith("atomic"):
            return False
        return True if TAKES_16_BYTES.fullmatch(called) else None


def is_shared(node: Node) -> bool:
    return node.type == "declaration" and any(
        part.type == "__shared__" for child in node.children for part in (child, *child.children)
    )


def is_declared(node: Node) -> bool:
    """Whether this mention of an array is its shared declaration."""
    parent = node.parent
    while parent is not None and parent.type == "array_declarator":
        parent = parent.parent
    return parent is not None and is_shared(parent)


def unwrapped(node: Node) -> tuple[Node, Node]:
    """The outermost of the brackets and casts around a node, and what these stand in."""
    parent = node.parent
    assert parent is not None
    while parent.type in WRAPPERS or (parent.type == "argument_list" and callee(parent).partition("<")[0] in CASTS):
        node = parent if parent.type in WRAPPERS else parent.parent or parent
        assert node.parent is not None
        parent = node.parent
    return node, parent


def callee(node: Node) -> str:
    """What is called with these arguments; empty if it is no argument list."""
    call = node.parent if node.type == "argument_list" else None
    return text_of(call.child_by_field_name("function")) if call is not None else ""


def cast_type(node: Node) -> str:
    """The type that a cast makes."""
    if node.type == "cast_expression":
        return text_of(node.child_by_field_name("type"))
    return text_of(node.child_by_field_name("function")) if node.type == "call_expression" else ""
