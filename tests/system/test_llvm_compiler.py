"""What two processes compile, and how both end."""

import os
import subprocess
import sys
import threading
from collections import deque

import pytest

from banksim.system import llvm_compiler
from banksim.system.llvm_compiler import Code, all_compiled, compiled
from banksim.system.native_code import target_machine

CODES = [Code(f"define i32 @f{n}() {{\n ret i32 {n}\n}}\n", 2) for n in range(6)]
FORKS = """
import os, sys
from banksim.system import llvm_compiler
llvm_compiler.MUCH, llvm_compiler.cores = 0, lambda: 2
llvm_compiler.all_compiled([llvm_compiler.Code("define void @f() {\\n ret void\\n}\\n", 2)] * 2)
llvm_compiler.other_process(os.getpid()).outcome((llvm_compiler.Code("", 2),))  # it runs, however quick this one was
if child := os.fork():
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
else:
    sys.exit(3)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_that_was_forked_off_ends_by_itself() -> None:
    """The process that compiles is not its own, and goes on."""
    done = subprocess.run([sys.executable, "-c", FORKS], capture_output=True, text=True, timeout=30, check=False)
    assert (done.stdout, done.returncode) == ("3\n", 0), done.stderr


def test_what_is_left_may_be_taken_by_the_other_at_any_time(monkeypatch: pytest.MonkeyPatch) -> None:
    class Taken(deque[int]):
        def __bool__(self) -> bool:
            return True  # as it was a moment before

    raised: list[threading.ExceptHookArgs] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    monkeypatch.setattr(llvm_compiler, "MUCH", 0)
    monkeypatch.setattr(llvm_compiler, "cores", lambda: 2)
    monkeypatch.setattr(llvm_compiler, "deque", Taken)
    assert len(all_compiled(CODES)) == len(CODES)
    assert llvm_compiler.TAKEN.acquire(timeout=30), "the thread has ended"
    llvm_compiler.TAKEN.release()
    assert not raised


def test_codes_compiled_by_one_machine_are_those_of_machines_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[int] = []
    monkeypatch.setattr(llvm_compiler, "target_machine", lambda how: made.append(how) or target_machine(how))
    llvm_compiler.kept_machine.cache_clear()
    together, alone = [compiled(code) for code in CODES], list[bytes]()
    for code in CODES:
        llvm_compiler.kept_machine.cache_clear()
        alone.append(compiled(code))
    assert together == alone
    assert made == [2] * (1 + len(CODES))
    assert len(set(alone)) == len(CODES)
