"""What banksim asks of the computer: files, processes, signals, caches, terminals; and how its own loops are compiled.

writing.py          files are written whole or not at all
cache.py            the user's cache folder
cached_files.py     what is in it
jit.py              compiling with numba
compiler.py         … in less of its passes
contexts.py         … with what it looks up found once
lowering.py         … to less LLVM code
bundles.py          … arrays that compiled code passes together
folder_locks.py     … by one process at a time
native_code.py      machine code that is ready, without numba
llvm_compiler.py    LLVM's compiler, in this process and in another
compiled_types.py   types of what compiled code works on, for a type checker
processes.py        workers of this computer
own_process.py      a call in a process of its own
collector.py        Python's collector of garbage
ending.py           exit status, errors, signals
progress.py         how far a long piece of work is
visible.py          texts of others in a terminal
paths.py            paths from a project's root
source_files.py     lines of sources
changed_modules.py  other packages' modules, changed when they are imported
notebooks.py        cells of notebooks, which are sources too
dates.py            the date that reports bear
reported.py         what objects tell of themselves
extras.py           what is missing, and how to install it
"""
