"""Any input at all: a command works or says in a line why not; it neither crashes nor hangs nor leaves a file.

python tests/fuzz/harness.py [--inputs 100000] [--first 0] [TARGET…]   runs inputs of every target, in processes that
may be killed, and prints those that do harm. An input is known by its target and number: `--one TARGET NUMBER` runs it.
"""

import argparse
import contextlib
import io
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Iterator
from pathlib import Path
from random import Random

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1])]

LIMIT = 30
"""Seconds of processors that one input may take; none should take more than a few."""
BATCH = 1000
"""Inputs of one process."""
MEMORY = 12 << 30
"""Bytes of address space of such a process: what claims more is to be refused, not tried."""
COMPILERS = ("compiler", "error:", "nvcc", "ptxas")


class HangError(BaseException):
    """An input that took too long."""


def harm(target: str, number: int) -> str | None:
    """What is wrong with how banksim takes an input; None if nothing is."""
    from fuzz import targets

    random = Random(f"{target} {number}")
    with tempfile.TemporaryDirectory(prefix="fuzz") as folder, contextlib.chdir(folder):
        words, stdin = targets.TARGETS[target](random)
        before = everything()
        status, _, err = run(words, stdin)
        left = everything() - before
    problem = judged(status, err)
    if left:
        problem = f"left {', '.join(sorted(left))}"
    return problem and f"{target} {number}: {problem}\n  words {words!r}\n  status {status}, error {err[:2000]!r}"


def everything() -> set[str]:
    return {os.path.join(folder, name) for folder, _, names in os.walk(".") for name in names}


def run(words: list[str], stdin: bytes = b"") -> tuple[int | str, str, str]:
    """The exit status of a command, or what it raised; its output; its errors."""
    from banksim.__main__ import main

    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    given = io.TextIOWrapper(io.BytesIO(stdin))
    before = sys.stdin
    status: int | str
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), limited():
        sys.stdin = given
        try:
            status = main(words)
        except SystemExit as end:
            status = f"SystemExit {end.code}" if end.code else 0
        except BaseException:
            status = traceback.format_exc()
        finally:
            sys.stdin = before
    return status, *(stream.buffer.getvalue().decode("utf-8", "replace") for stream in (out, err))  # type: ignore[attr-defined]


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Raise `HangError` after some seconds of work."""

    def stop(*_: object) -> None:
        raise HangError

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def judged(status: int | str, err: str) -> str | None:
    """What is wrong with how a command ended."""
    if status not in (0, 1, 2):
        return "crashed"
    if "internal error" in err or "Traceback" in err:
        return "an internal error"
    if status == 2:
        lines = err.splitlines()
        complaints = [number for number, line in enumerate(lines) if line.startswith("banksim: ")]
        if not complaints:
            return "no complaint"
        rest = lines[complaints[-1] + 1 :]
        excerpt = len(rest) == 2 and set(rest[1].strip()) <= {"^"}
        if rest and not excerpt and not any(word in err for word in COMPILERS):
            return "a complaint of several lines"
        if not lines[complaints[-1]].removeprefix("banksim: ").strip():
            return "an empty complaint"
    return None


def batch(target: str, first: int, count: int) -> int:
    """In a process of its own: run some inputs; the number of those that did harm."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    bad = 0
    for number in range(first, first + count):
        print(f"at {target} {number}", file=sys.stderr, flush=True)
        problem = harm(target, number)
        if problem:
            bad += 1
            print(problem, flush=True)
    return bad


def main() -> int:
    from fuzz import targets

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=", ".join(targets.TARGETS))
    parser.add_argument("--inputs", type=int, default=100_000, help="of all targets together")
    parser.add_argument("--first", type=int, default=0, help="number of the first input of each target")
    parser.add_argument("--one", nargs=2, metavar=("TARGET", "NUMBER"))
    parser.add_argument("--batch", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.batch:
        target, first, count = options.batch
        return batch(target, int(first), int(count)) > 0
    if options.one:
        problem = harm(options.one[0], int(options.one[1]))
        print(problem or "no harm")
        return problem is not None
    names = options.targets or [*targets.TARGETS]
    shares = {name: targets.SHARES[name] for name in names}
    left = {name: options.inputs * share // sum(shares.values()) for name, share in shares.items()}
    done = dict.fromkeys(names, 0)
    bad = 0
    while any(left.values()):
        for name in names:
            count = min(left[name], max(BATCH * shares[name] // max(shares.values()), 1))
            if count:
                bad += in_a_process(name, options.first + done[name], count)
                left[name], done[name] = left[name] - count, done[name] + count
        print(f"{sum(done.values()):,} inputs, {bad} batches with harm: {done}", flush=True)
    return bad > 0


def in_a_process(target: str, first: int, count: int) -> int:
    """Whether a batch did harm, which is printed."""
    words = [sys.executable, __file__, "--batch", target, str(first), str(count)]
    folder = tempfile.mkdtemp(prefix="fuzzed")
    try:
        environment = {**os.environ, "TMPDIR": folder}
        done = subprocess.run(words, capture_output=True, timeout=LIMIT * count, env=environment, check=False)
    except subprocess.TimeoutExpired as error:
        print(f"hangs: {(error.stderr or b'').splitlines()[-1:]}", flush=True)
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(done.stdout.decode(errors="replace"), end="", flush=True)
    if done.returncode not in (0, 1):
        print(f"died with {done.returncode}: {done.stderr.splitlines()[-3:]}", flush=True)
    return int(done.returncode != 0)


if __name__ == "__main__":
    sys.exit(main())
