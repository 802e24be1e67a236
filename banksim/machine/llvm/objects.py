"""From LLVM modules to object code of this computer. Routines are objects of their own, kept for all the kernels that
share them: compiling those anew would take longer than the rest of most kernels. A long kernel is several objects, so
that they can be compiled at once.
"""

import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import banksim.system.cache
from banksim.machine.llvm import ir
from banksim.machine.llvm.emit import APART, MOVES
from banksim.system.llvm_compiler import Code, all_compiled
from banksim.system.native_code import WELL, prepare_llvm

TRANSLATING = ("requests", "architectures", "kernels", "machine", "classes")
"""The rooms whose code decides what a kernel is translated to."""
NAMED = re.compile(r'@"([^"]+)"')
QUICKLY = 0
"""How LLVM chooses instructions and registers where code need not run as fast as `WELL`: it is compiled in half the
time, but runs up to a fifth longer. Nor does it make the code smaller first."""
LONG = 860_000
"""Characters of a kernel's own code from which it is compiled quickly: some 1,200 instructions."""
PIECE = 8_000
"""Lines from which code of a kernel is an object of its own."""
MOST_KEPT = 1024
ROUTINES: dict[str, bytes] = {}
"""Object code of up to `MOST_KEPT` routines that this process has had, by their texts."""


@cache
def engine_version() -> str:
    """A digest of the sources that translate: another version of banksim translates anew."""
    return banksim.system.cache.sources(Path(banksim.__file__).parent, TRANSLATING)


def objects(module: ir.Module, how: int = WELL) -> list[bytes]:
    """The object code of a module: that of its routines one by one, and of the rest."""
    functions = [function for function in module.functions.values() if not function.is_declaration]
    apart = [text(module, [function]) for function in functions if APART in function.attributes]
    rest = [function for function in functions if APART not in function.attributes]
    known = {one: code for one in apart if (code := known_routine(one))}
    missing = [one for one in apart if one not in known]
    own = kernel([text(module, one) for one in pieces(rest)], how)
    made = all_compiled([*(Code(one, WELL) for one in missing), *own])
    for one, code in zip(missing, made, strict=False):
        banksim.system.cache.put(key_of(one), code)
        keep(one, code)
        known[one] = code
    return [known[one] for one in apart] + made[len(missing) :]


def pieces(functions: Sequence[ir.Function]) -> list[list[ir.Function]]:
    """The functions in runs that are long enough to be objects of their own."""
    runs: list[list[ir.Function]] = [[]]
    size = 0
    for function in functions:
        if size >= PIECE:
            runs.append([])
            size = 0
        runs[-1].append(function)
        size += sum(len(block.lines) for block in function.blocks)
    return runs


def text(module: ir.Module, functions: Sequence[ir.Function]) -> str:
    """Some functions of a module as a module of their own, the same wherever they are the same: what they call is
    declared, and vector moves are added."""
    bodies = "".join(map(str, functions))
    own = {function.name for function in functions}
    called = [name for name in dict.fromkeys(NAMED.findall(bodies)) if name not in own]
    outside = (MOVES.get(name) or module.declared(name) for name in called)
    return "\n".join([*outside, bodies, ir.WEIGHTS])


def key_of(routine: str) -> str:
    """The name of a routine's object code in the user's cache."""
    return banksim.system.cache.key("routine", engine_version(), prepare_llvm(), routine)


def known_routine(routine: str) -> bytes | None:
    """The object code of a routine, if any kernel had it before."""
    if routine not in ROUTINES and (code := banksim.system.cache.get(key_of(routine))) is not None:
        keep(routine, code)
    return ROUTINES.get(routine)


def keep(routine: str, code: bytes) -> None:
    if len(ROUTINES) == MOST_KEPT:
        ROUTINES.clear()
    ROUTINES[routine] = code


def kernel(texts: Sequence[str], how: int = WELL) -> list[Code]:
    """How the code of a kernel itself is to be compiled."""
    quickly = sum(map(len, texts)) > LONG
    return [Code(one, QUICKLY if quickly else how, smaller=how == WELL) for one in texts]
