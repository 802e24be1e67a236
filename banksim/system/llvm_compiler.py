"""LLVM's compiler, in this process and in another: llvmlite lets one thread of a process compile at a time."""

import atexit
import os
import pickle
import threading
from collections import deque
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

import llvmlite.binding as llvm

from banksim.system.ending import OWN_THREADS, interruptible
from banksim.system.native_code import prepare_llvm, target_machine
from banksim.system.processes import Pool, Worker, cores

MUCH = 1_000_000
"""Characters of code that a process has had compiled when it begins to have a part compiled by another, whose start
takes as long as 150,000 do: some tenth of a second."""


class Code(NamedTuple):
    """LLVM code to be compiled. `how`: how LLVM chooses instructions and registers, from 0 to 3; `smaller`: whether the
    code is made smaller first."""

    text: str
    how: int
    smaller: bool = True


class SoFar:
    """How many characters this process has had compiled."""

    characters = 0


TAKEN = threading.Lock()
"""Is held while the other process compiles."""


def all_compiled(codes: Sequence[Code]) -> list[bytes]:
    """The object code of each. The other process takes what is longest, this one takes what is left."""
    SoFar.characters += sum(len(code.text) for code in codes)
    if len(codes) == 1 or SoFar.characters < MUCH or cores() == 1 or not TAKEN.acquire(blocking=False):
        return [compiled(code) for code in codes]
    made: dict[int, bytes] = {}
    left = deque(sorted(range(len(codes)), key=lambda n: -len(codes[n].text)))

    def beside() -> None:
        try:
            while True:
                try:
                    number = left.popleft()
                except IndexError:  # this process has the last ones
                    return
                try:
                    made[number] = other_process(os.getpid()).outcome((codes[number],)).result()
                except Exception:  # it is compiled here, which tells what is wrong with the code, if it is that
                    left.append(number)
                    return
        finally:
            TAKEN.release()

    thread = threading.Thread(target=beside, name=OWN_THREADS, daemon=True)
    thread.start()
    try:
        while len(made) < len(codes):
            try:
                number = left.popleft()
            except IndexError:  # the other process has the last ones
                thread.join()
                continue
            made[number] = compiled(codes[number])
    finally:
        left.clear()
    return [made[number] for number in range(len(codes))]


@lru_cache(maxsize=1)
def other_process(process: int) -> Worker:
    """The process that compiles for the one of this number. It ends with that."""
    pool = Pool(pickle.dumps((compiled_for, None)), (), "compiling")

    def end() -> None:
        if os.getpid() == process:  # a child that was forked off would wait for what it has not started
            pool.end()

    atexit.register(end)
    return Worker(pool)


def compiled_for(_: None, code: Code) -> bytes:
    return compiled(code)


def compiled(code: Code) -> bytes:
    """The object code, for this computer."""

    def work() -> bytes:
        machine = kept_machine(code.how)
        return bytes(machine.emit_object(optimised(code.text, machine, code.smaller)))

    prepare_llvm()
    return interruptible(work)


@cache
def kept_machine(how: int) -> llvm.TargetMachine:
    """One for all codes: its first takes LLVM as long as 2,000 characters of code do."""
    return target_machine(how)


def optimised(text: str, machine: llvm.TargetMachine, smaller: bool = True) -> llvm.ModuleRef:
    """A module as LLVM is to compile it, its code made `smaller` or as it is. LLVM's own pipelines take seven times as
    long as these passes, and the code is slower: they see one loop around all of it, which the scheduler is, and keep
    in registers the address of every field that it uses."""
    module = llvm.parse_assembly(text)
    module.triple = llvm.get_process_triple()
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    if smaller:
        passes.add_sroa_pass()
        passes.add_instruction_combine_pass()
        passes.add_simplify_cfg_pass()
    passes.run(module, llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options()))
    return module
