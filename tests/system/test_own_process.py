"""A call in a process of its own: what it returns, raises and says, and that its end is not ours."""

import os
import signal
import sys
import threading

import pytest

from banksim.errors import InputError
from banksim.system.own_process import Outcome, apart

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")


def test_what_is_returned_raised_and_said() -> None:
    kept = [1]

    def returns() -> list[int]:
        kept.append(2)
        os.write(2, b"from below\n")
        print("from Python", file=sys.stderr)
        return kept

    assert apart(returns) == Outcome([1, 2], None, None, "from below\nfrom Python\n")
    assert kept == [1]

    def raises() -> None:
        raise InputError("no such thing")

    done = apart(raises)
    assert isinstance(done.error, InputError)
    assert str(done.error) == "no such thing"


def test_a_process_that_ends_is_told() -> None:
    def dies() -> None:
        os.write(2, b"LLVM ERROR: it was too much\n")
        os.kill(os.getpid(), signal.SIGABRT)

    assert apart(dies) == Outcome(ended="SIGABRT", said="LLVM ERROR: it was too much\n")
    assert apart(lambda: os._exit(7)) == Outcome(ended="status 7")
    assert apart(lambda: threading.Lock()).ended == "status 1"  # it cannot be sent


def test_an_interrupt_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    waitpid, numbers = os.waitpid, list[int]()

    def interrupted(number: int, options: int) -> tuple[int, int]:
        monkeypatch.setattr(os, "waitpid", waitpid)
        numbers.append(number)
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "waitpid", interrupted)
    with pytest.raises(KeyboardInterrupt):
        apart(lambda: signal.pause())
    with pytest.raises(ProcessLookupError):
        os.kill(numbers[0], 0)
