"""Runs a program in any language. Its processes find the stand-ins for NVIDIA's libraries, and through them banksim."""

import os
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from banksim.errors import InputError
from banksim.runs.programs import executable, standins
from banksim.runs.programs.main_module import Ended
from banksim.runs.programs.process import Process, has_ended
from banksim.runs.programs.shared_by_processes import Shared
from banksim.system import ending
from banksim.system.visible import say

TO_END = 1.0
"""Seconds that an interrupted program has to end by itself."""
OF_THE_LOADER = 127
"""The exit status of a program that calls a function which no library has."""


class Programs(Shared):
    """Runs the program, and serves each of its processes in a thread."""

    def accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:  # closed: the program has ended
                return
            threading.Thread(target=self.serve, args=(connection,), daemon=True).start()

    def serve(self, connection: socket.socket) -> None:
        """Serve a process until it ends. The process goes on only once it has been noted here."""
        with connection, suppress(EOFError, OSError):
            self.threads[threading.current_thread()] = connection
            try:
                Process(connection, self).serve()
            except InputError as error:
                self.failed(error)

    def wait_for_processes(self) -> None:
        """Wait until all messages of ended processes are handled. Processes in the background are not waited for, and
        behind an interrupt nothing: libraries and compilers may work for minutes, in native code."""
        for thread, connection in [*self.threads.items()]:
            thread.join(TO_END)
            with suppress(OSError, ValueError):  # it is closed
                if thread.is_alive() and self.ending.is_set():
                    ending.beside.append(thread)
                elif thread.is_alive() and has_ended(connection):
                    thread.join()

    def run(self, words: Sequence[str], zeroth: str) -> Ended:
        """Run a command to its end; `zeroth` is its argv[0]. InputError if it cannot be started."""
        libraries = standins.folder()
        with tempfile.TemporaryDirectory(prefix="banksim-") as folder:
            path = str(Path(folder) / "socket")
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listener:
                listener.bind(path)
                listener.listen(64)
                threading.Thread(target=self.accept, args=(listener,), daemon=True).start()
                environment = os.environ | standins.environment(libraries) | {"BANKSIM_SOCKET": path}
                try:
                    process = subprocess.Popen([zeroth, *words[1:]], executable=words[0], env=environment)
                except OSError as error:
                    raise InputError(executable.not_started(zeroth, Path(words[0]), error)) from None
                status = self.wait(process)
                with suppress(OSError):
                    listener.shutdown(socket.SHUT_RDWR)
        self.wait_for_processes()
        if status < 0:
            if not self.ending.is_set():
                say(f"{self.name} was ended by {signal.Signals(-status).name}")
            status = ending.BY_SIGNAL - status
        elif status == OF_THE_LOADER and (names := executable.lacking(Path(words[0]), libraries)):
            say(f"{words[0]}: not provided by banksim's stand-ins: {names}")
        if self.ending.is_set():
            return Ended(ending.interrupted())
        return Ended(status or (ending.ERROR if self.failures else 0))

    def wait(self, process: subprocess.Popen[bytes]) -> int:
        try:
            return process.wait()
        except KeyboardInterrupt:
            self.ending.set()
            for number in (None, signal.SIGTERM, signal.SIGKILL):  # a terminal's interrupt has reached it as well
                if number is not None:
                    process.send_signal(number)
                with suppress(subprocess.TimeoutExpired):
                    return process.wait(TO_END)
            raise
