"""Machine code of this computer: objects linked with each other, and where banksim's own loops lie.

numba compiles the loops, and takes a third of a short command merely to be imported. So the object code of a `Callback`
is kept in the user's cache, where it is found without numba.
"""

import importlib
import os
import struct
import threading
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import llvmlite
import llvmlite.binding as llvm

from banksim.system import cache as kept

WELL = 1
"""LLVM's level of optimisation for choosing instructions and registers (0 to 3) where code is to run fast."""
PACKAGE = Path(__file__).resolve().parents[1]
COMPILED = ("requests", "architectures", "banks", "storage", "machine", "classes/compiled", "timing", "system")
"""The folders with code that numba compiles."""
SETTINGS = Path(".numba_config.yaml")
"""Numba reads settings from here too."""
HARMLESS = (
    "CACHE_", "CUDA_", "COLOR_SCHEME", "DISABLE_CUDA", "ENABLE_CUDASIM", "FORCE_CUDA_CC", "NUM_THREADS",
    "THREADING_LAYER",
)  # fmt: skip
"""Prefixes of numba's settings that do not change the code of a loop."""
OF_ERRORS = "numba_"
"""Prefix of the functions that numba's code calls to raise an error. They are never called here: an object that raises
one is not kept, and others name these functions only since LLVM does not see that what a loop calls raises none."""
AN_ERROR = b".const.picklebuf."
"""What numba's name of an error that an object raises begins with."""
CALLED_FROM_C = b"cfunc."
"""What numba's name of a function begins with that is called by its address."""
ELF, SECTIONS, SECTION = b"\x7fELF\x02\x01", struct.Struct("<40xQ10x3H"), struct.Struct("<2I4Q2I2Q")
SYMBOL, SYMBOL_TABLE = struct.Struct("<IBBHQQ"), 2
"""Of an ELF file of 64 bits (System V ABI): its header, a section's, and a symbol."""


def version_of_loops() -> str:
    """A digest of what the loops' code follows from: the sources, what compiles them, and its settings."""
    return kept.key(sources_of_loops(), compilers(), *settings())


@cache
def sources_of_loops() -> str:
    """A digest of the folders with compiled code, whose functions call each other."""
    return kept.sources(PACKAGE, COMPILED)


@cache
def compilers() -> str:
    """Which numba and llvmlite these are. Numba's is read from its file: to import numba takes long, and
    importlib.metadata some thirty milliseconds."""
    found = find_spec("numba")
    version = Path(found.origin).with_name("_version.py") if found and found.origin else Path()
    return kept.key(llvmlite.__version__, version.read_bytes() if version.is_file() else "")


def settings() -> list[str | bytes]:
    """What the user has set that changes the code which numba writes."""
    ours = [name for name in os.environ if name.startswith("NUMBA_")]
    found = [f"{name}={os.environ[name]}" for name in sorted(ours) if not name[len("NUMBA_") :].startswith(HARMLESS)]
    return [*found, *([SETTINGS.read_bytes()] if SETTINGS.is_file() else [])]


@cache
def prepare_llvm() -> str:
    """Set LLVM up, once in a process. Returns a text that tells this processor from others, for the cache."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return f"{llvm.llvm_version_info} {llvm.get_process_triple()} {llvm.get_host_cpu_name()} {host_features()}"


@cache
def host_features() -> str:
    return str(llvm.get_host_cpu_features().flatten())


def target_machine(level: int = WELL) -> llvm.TargetMachine:
    """A new one each time: the engine that takes it owns it."""
    return llvm.Target.from_default_triple().create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=host_features(), opt=level, jit=True
    )


def linked(codes: Iterable[bytes]) -> llvm.ExecutionEngine:
    """Objects linked with each other, ready to run."""
    engine = empty()
    for code in codes:
        engine.add_object_file(llvm.ObjectFileRef.from_data(code))
    engine.finalize_object()
    return engine


def empty() -> llvm.ExecutionEngine:
    """To link objects in. LLVM knows what lies in this process once there has been one."""
    prepare_llvm()
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), target_machine())


class Found(NamedTuple):
    """Where a function lies, and what keeps it there."""

    address: int
    keep: object


ONE_AT_A_TIME = threading.RLock()
CALLBACKS: dict[tuple[str, str], Found] = {}


def callback(module: str, name: str) -> Found:
    """The `Callback` of this name, once in a process: of two, the one that is not kept here would go, and with it the
    code at an address that is in use. Several threads judge at once."""
    with ONE_AT_A_TIME:
        if (module, name) not in CALLBACKS:
            CALLBACKS[module, name] = found_or_made(module, name)
        return CALLBACKS[module, name]


def found_or_made(module: str, name: str) -> Found:
    """Its code that is kept, if there is any. Else numba compiles or loads it, and it is kept."""
    key = kept.key("loop", version_of_loops(), prepare_llvm(), module, name)
    code = kept.get(key)
    found = None if code is None else loaded(code)
    if found is None:
        made = getattr(importlib.import_module(module), name)
        found = Found(made.address, made)
        if made.code is not None and (names := symbols(made.code)) and not raises(names):
            kept.put(key, made.code)
    return found


def loaded(code: bytes) -> Found | None:
    """The one function of an object that is called by its address. None if the object needs more than this process has,
    where LLVM would end it, or raises an error."""
    names = symbols(code)
    ours = [name for name, is_there in names if is_there and name.startswith(CALLED_FROM_C)]
    if len(ours) != 1 or raises(names):
        return None
    empty()
    ends = llvm.address_of_symbol("abort")
    for name in (name.decode() for name, is_there in names if not is_there):
        if llvm.address_of_symbol(name) is None:
            if ends is None or not name.startswith(OF_ERRORS):
                return None
            llvm.add_symbol(name, ends)
    engine = linked([code])
    return Found(engine.get_function_address(ours[0].decode()), engine)


def raises(names: Iterable[tuple[bytes, bool]]) -> bool:
    """Whether an object with these names can raise an error."""
    return any(name.startswith(AN_ERROR) for name, _ in names)


def symbols(code: bytes) -> list[tuple[bytes, bool]]:
    """The names in an object, and whether they are defined there; none of what is no ELF file of 64 bits."""
    if not code.startswith(ELF):
        return []
    start, size, count, _ = SECTIONS.unpack_from(code)
    headers = [SECTION.unpack_from(code, start + size * number) for number in range(count)]
    found = []
    for _, kind, _, _, offset, length, link, _, _, _ in headers:
        if kind == SYMBOL_TABLE:
            names = headers[link][4]
            for name, _, _, section, _, _ in SYMBOL.iter_unpack(code[offset : offset + length]):
                text = code[names + name : code.index(b"\0", names + name)]
                found += [(text, section != 0)] if text else []
    return found
