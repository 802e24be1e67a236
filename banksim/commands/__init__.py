"""The commands, one module each: `options(parser)` says what it takes, `run(options)` does it.

A command prints its report and returns the exit status; what a user can mend is raised as a `BanksimError`.
"""

from __future__ import annotations

COMMANDS = {
    "pattern": "count the conflicts of an index expression",
    "arch": "list the architectures with the figures and the source of each",
}
"""Every command with what it does; `banksim.commands.NAME` is its module."""
