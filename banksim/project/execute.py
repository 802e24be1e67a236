"""Runs the command of an entry, as its user would by hand, in a process of its own: none can harm another."""

import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from banksim.errors import BanksimError
from banksim.project import kept
from banksim.project.file import Entry, Project

DONE = (0, 1)
"""The exit statuses of a command that has made its report."""
REPORT = re.compile(r"^\{$.*", re.MULTILINE | re.DOTALL)
"""The report in what a kernel's command prints, where the kernel's file may print too when it is imported."""


@dataclass(frozen=True)
class Executed:
    """What became of an entry's command: its report, or the error that it ended with. `kept`: from the cache."""

    report: dict[str, Any] | None
    error: str
    seconds: float
    kept: bool = False


class Commands:
    """Runs commands, several at a time; `end` ends those that run, and no more are begun."""

    def __init__(self, project: Project, fresh: bool = False) -> None:
        self.project, self.fresh = project, fresh
        self.lock, self.ended = Lock(), False
        self.running: set[subprocess.Popen[str]] = set()

    def execute(self, entry: Entry) -> Executed:
        """The report of an entry: a kept one if nothing has changed, unless it is to be `fresh`."""
        began = time.perf_counter()
        key = kept.key(self.project, entry)
        found = kept.get(key, self.project.folder) if key and not self.fresh else None
        if found is not None:
            return Executed(found, "", time.perf_counter() - began, kept=True)
        with tempfile.TemporaryDirectory(prefix="banksim-") as scratch:
            read, output = Path(scratch, "read.json"), Path(scratch, "report.json")
            report, error = self.report(entry, read, output)
            if report is not None and key is not None and read.is_file():
                kept.put(key, self.project.folder, report, json.loads(read.read_text(encoding="utf-8")))
        return Executed(report, error, time.perf_counter() - began)

    def report(self, entry: Entry, read: Path, output: Path) -> tuple[dict[str, Any] | None, str]:
        """The report of a command, or its error."""
        command, *rest = entry.words
        more = ["--output", str(output)] if entry.kind == "program" else []
        status, printed, said = self.run([str(read), command, "--json", *more, *rest])
        if entry.kind == "program":
            printed = output.read_text(encoding="utf-8") if output.is_file() else ""
        found = REPORT.search(printed)
        if found is None:
            return None, complaint(status, said)
        report: dict[str, object] = json.loads(found[0])
        if status not in DONE or report.get("status"):
            return None, complaint(status, said)
        return report, ""

    def run(self, words: Sequence[str]) -> tuple[int, str, str]:
        """Exit status, standard output and standard error of a command of this banksim."""
        code = f"import sys; sys.path[:] = {sys.path!r}; from banksim.project.files_read import main; main()"
        with self.lock:
            if self.ended:
                raise BanksimError("ended")
            process = subprocess.Popen(
                [sys.executable, "-c", code, *words],
                cwd=self.project.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,  # Ctrl-C is for this process, which ends the others
            )
            self.running.add(process)
        try:
            printed, said = process.communicate()
        finally:
            with self.lock:
                self.running.discard(process)
        return process.returncode, printed, said

    def end(self) -> None:
        with self.lock:
            self.ended = True
            for process in self.running:
                process.terminate()


def complaint(status: int, said: str) -> str:
    """What a command said last, from the line on that begins with its name, and how it ended if it said nothing."""
    lines = [line for line in said.splitlines() if line.strip()]
    if status < 0:
        return f"signal {-status} ended it"
    own = [number for number, line in enumerate(lines) if line.startswith("banksim: ")]
    if status == 2 and own:
        return "\n".join(lines[own[-1] :]).removeprefix("banksim: ")
    return f"it ended with status {status}{f': {lines[-1].strip()}' if lines else ''}"
