"""The commands, one module each: `options(parser)` says what it takes, `run(options)` does it.

pattern.py        `banksim pattern`: an index expression
kernel.py         `banksim kernel`: one launch
run.py            `banksim run`: a whole program
check.py          `banksim check`: all that a project's file lists
replay.py         `banksim replay`: a trace file
advise.py         `banksim advise`: layouts
advise_kernel.py  `banksim advise kernel`: layouts in a kernel's source
advise_tile.py    `banksim advise tile`: swizzles of tensor maps
diff.py           `banksim diff`: two reports or traces
validate.py       `banksim validate`: a program here and on this machine's GPU
arch.py           `banksim arch`: the architectures
cache.py          `banksim cache`: what is kept
shared/           options of several commands

A command prints its report and returns the exit status; what a user can mend is raised as a `BanksimError`.
"""

GROUPS = {
    "count": {
        "pattern": "count the conflicts of an index expression",
        "kernel": "execute a kernel and count its conflicts by source line",
        "run": "run a whole CUDA program, and count its kernels' conflicts",
        "replay": "count the conflicts of a trace file",
    },
    "cure, and keep cured": {
        "advise": "propose a layout that cures conflicts, and prove it",
        "advise kernel": "the same in a kernel's source",
        "advise tile": "tell which swizzle of a tensor map fits a tile",
        "check": "judge all kernels and programs that a project's file lists",
        "diff": "tell what got better or worse between two reports or traces",
    },
    "know": {
        "arch": "list the architectures with the figures and the source of each",
        "validate": "run a program on a GPU too, and compare every instruction",
        "cache": "tell of the cache; empty it, or fill it before the first run",
    },
}
"""Every command with what it does, by what it is for; `banksim.commands.NAME` is its module."""
COMMANDS = {name: purpose for group in GROUPS.values() for name, purpose in group.items()}
