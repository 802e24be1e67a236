"""The commands, one module each: `options(parser)` says what it takes, `run(options)` does it.

A command prints its report and returns the exit status; what a user can mend is raised as a `BanksimError`.
"""

from __future__ import annotations

COMMANDS = {
    "pattern": "count the conflicts of an index expression",
    "kernel": "execute a kernel and count its conflicts by source line",
    "run": "run a whole Python program without a GPU, and count the conflicts of its kernels",
    "replay": "count the conflicts of a trace file",
    "advise": "propose a layout that cures conflicts, and prove it",
    "diff": "tell what got better or worse between two reports or traces",
    "arch": "list the architectures with the figures and the source of each",
}
"""Every command with what it does; `banksim.commands.NAME` is its module."""
