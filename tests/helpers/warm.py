"""Commands in processes that begin with banksim imported: one process imports it, and forks for each command.

Most of the time of a short command is what Python needs to import. What it does and prints is the same, but for what
happens while it imports, which tests/commands/test_commands.py and tests/system test with processes that begin cold.

`starter` is a shell's line that runs Python's own words (`-m banksim …`, or a program and its words) so, with the
standard streams, folder and environment that it is run with, and ends with the same status.
"""

import atexit
import functools
import gc
import importlib
import json
import os
import runpy
import select
import shlex
import signal
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

IMPORTED = (
    *("banksim.runs.run", "banksim.runs.languages.language", "banksim.classes.counting", "banksim.layouts"),
    *("banksim.report.text.picture", "banksim.report.text.races", "banksim.report.html.page", "banksim.storage"),
    *("numba.cuda.compiler", "numba.cuda.printimpl", "numba.cuda.libdeviceimpl", "jinja2", "pygments", "rich.console"),
)
"""Beside the commands. None starts a thread, which a process that is forked would lack."""
LENGTH = 8
"""Bytes of the number in front of a request."""


@functools.cache
def starter() -> str:
    """The line that runs what stands behind it in a process that has imported banksim, until this process ends."""
    folder = tempfile.TemporaryDirectory(prefix="warm-")
    atexit.register(folder.cleanup)
    address = str(Path(folder.name) / "socket")
    server = subprocess.Popen(
        [sys.executable, "-P", __file__, "serve", address],
        stdin=subprocess.PIPE,  # it ends where this ends
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert server.stdout is not None
    assert server.stdout.read(1) == b"."
    atexit.register(server.communicate)
    return shlex.join([sys.executable, "-I", "-S", __file__, "run", address])


def run(address: str, words: list[str]) -> int:
    """Have the process at `address` fork for these words; their exit status."""
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(address)
        request = json.dumps([words, os.getcwd(), dict(os.environ)]).encode()
        socket.send_fds(connection, [len(request).to_bytes(LENGTH, "little")], [0, 1, 2])
        connection.sendall(request)
        return connection.recv(1)[0]


def serve(address: str) -> None:
    """Fork for each request, until standard input ends."""
    from banksim.commands import COMMANDS

    for name in (*(f"banksim.commands.{name.replace(' ', '_')}" for name in COMMANDS), *IMPORTED):
        importlib.import_module(name)
    from numba.cuda.descriptor import cuda_target

    cuda_target.typing_context.refresh()  # a third of a second, which the first kernel that is compiled takes
    assert len(os.listdir("/proc/self/task")) == 1
    gc.collect()
    gc.freeze()
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for those that answer
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(address)
        listener.listen()
        os.write(1, b".")
        while sys.stdin not in select.select([listener, sys.stdin], [], [])[0]:
            connection = listener.accept()[0]
            if os.fork() == 0:
                listener.close()
                answer(connection)
                return
            connection.close()


def answer(connection: socket.socket) -> None:
    """Run the words of a request in one more process, and tell its exit status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    size, streams, _, _ = socket.recv_fds(connection, LENGTH, 3)
    with connection.makefile("rb") as rest:
        words, folder, environment = json.loads(rest.read(int.from_bytes(size, "little")))
    if process := os.fork():
        status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
        connection.sendall(bytes([status if status >= 0 else 128 - status]))
        os._exit(0)
    connection.close()
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    paths = environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [path for path in paths if path and path not in sys.path]
    sys.argv = words
    if words[0] == "-m":
        del sys.argv[0]
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    else:
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(sys.argv[2])
    else:
        sys.exit(run(sys.argv[2], sys.argv[3:]))
