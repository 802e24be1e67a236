"""Runs a notebook as a program: its code cells in order, in one `__main__`, with what IPython adds to Python.

A cell's last expression is shown, as IPython shows it. Magics for the display are left out, those that measure run
their code once; `%cd`, `%env` and `%%writefile` are obeyed. Commands of a shell that install or show something are left
out, others refused.
"""

import ast
import linecache
import os
import re
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType

from banksim.errors import InputError
from banksim.runs.programs.main_module import Ended, as_main, ended, run_file, run_module
from banksim.system.notebooks import Cell, cells
from banksim.system.visible import say

MAGIC = re.compile(r"(?P<indent>[ \t]*)(?P<mark>%%?|!!?)(?P<word>[\w./-]*)[ \t]*(?P<rest>[^\n]*)")
HELP = re.compile(r"[ \t]*(\?\??[\w.]+|[\w.]+\?\??)[ \t]*")
SHOWN_ONLY = (
    "matplotlib", "load_ext", "reload_ext", "unload_ext", "autoreload", "config", "pylab", "precision", "alias",
    "alias_magic", "autocall", "automagic", "colors", "doctest_mode", "gui", "history", "notebook", "page", "pdb",
    "pinfo", "pprint", "psearch", "xmode", "who", "whos", "who_ls", "lsmagic", "logstart", "logstop",
    "reset_selective", "store", "memit", "lprun", "mprun",
)  # fmt: skip
"""Magics that set up the display or ask about the session."""
MEASURED = ("time", "timeit", "prun", "capture")
"""Magics that measure or record the code that they run. The code is run once."""
INSTALLERS = ("pip", "pip3", "conda", "mamba", "uv", "apt", "apt-get", "nvidia-smi", "nvcc", "lscpu", "which", "uname")
SHOWING = ("cat", "head", "tail", "ls", "pwd", "free", "df", "du", "date", "hostname", "nproc", "lspci", "ldconfig")
"""Commands that install something or ask about the machine, and such as only show something unless what they say goes
to a file or another command. They are left out, with a message."""


def run_notebook(path: str, words: Sequence[str]) -> Ended:
    """Run a notebook with these arguments. InputError if it is no notebook, or needs what is not provided."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    sources = [(cell, python_of(cell)) for cell in cells(os.path.abspath(path), content)]
    main = ModuleType("__main__")
    main.__dict__.update(__builtins__=__builtins__, display=display)

    def execute() -> None:
        for cell, source in sources:
            lines = source.splitlines(keepends=True)
            linecache.cache[cell.name] = (len(source), None, lines, cell.name)
            run_cell(source, cell.name, main)

    with as_main([path, *words], os.path.dirname(os.path.realpath(path)), main):
        return ended(execute)


def run_cell(source: str, name: str, main: ModuleType) -> None:
    tree = compile(source, name, "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    assert isinstance(tree, ast.Module)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, name, "exec", dont_inherit=True), main.__dict__)
    if isinstance(last, ast.Expr):
        value = eval(compile(ast.Expression(last.value), name, "eval", dont_inherit=True), main.__dict__)
        if value is not None and not source.rstrip().endswith(";"):
            print(repr(value))


def display(*values: object, **_: object) -> None:
    """Print what IPython would show, as text."""
    for value in values:
        print(value if isinstance(value, str) else repr(value))


# ---- what IPython adds to Python
def python_of(cell: Cell) -> str:
    """A cell as Python, line by line. InputError, with the line, for a line that is neither Python nor known here."""
    first, _, rest = cell.source.partition("\n")
    if first.startswith("%%"):
        return "\n" + of_cell_magic(cell, first[2:].split(), rest)
    if parses(cell.source):
        return cell.source
    found: list[str] = []
    for number, line in enumerate(cell.source.split("\n"), 1):
        continued = bool(found) and found[-1].endswith("\\")
        match = None if continued else MAGIC.fullmatch(line)
        if match and (match["mark"] != "%" or match["word"]) and not inside(found):
            found.append(match["indent"] + (of_magic(cell, number, match) or "pass"))
        else:
            found.append("pass" if HELP.fullmatch(line) and not inside(found) else line)
    return "\n".join(found)


def parses(source: str) -> bool:
    try:
        ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    return True


def inside(before: list[str]) -> bool:
    """Whether a line stands within a string of several lines or within brackets: what precedes it is unfinished."""
    try:
        ast.parse("\n".join(before))
    except SyntaxError as error:
        return "unterminated triple-quoted" in str(error) or "was never closed" in str(error)
    return False


def of_magic(cell: Cell, number: int, match: re.Match[str]) -> str:
    """A line with a magic as Python; empty if it is left out."""
    where, word, rest = f"{cell.name}, line {number}", match["word"], match["rest"]
    if match["mark"].startswith("!") or word in ("pip", "conda", "system", "sx"):
        command = rest if word in ("system", "sx") else f"{word} {rest}"
        return left_out(where, command.strip())
    if word in SHOWN_ONLY:
        return ""
    if word in MEASURED:
        return re.sub(r"^(-\w+ ?\d* )*", "", rest)
    if word in ("cd", "env", "set_env"):
        return SETTINGS[word](rest)
    raise InputError(f"{where}: %{word}: a magic that banksim run does not know: leave it out, or write Python")


def left_out(where: str, command: str) -> str:
    program = Path(command.split()[0]).name if command.split() else ""
    shows = program in SHOWING and not re.search("[>|;&`$]", command)
    if shows or program in INSTALLERS or re.fullmatch(r"python\d?(\.\d+)? -m pip.*", command):
        say(f"{where}: {command}: not run")
        return ""
    raise InputError(f"{where}: !{command}: banksim run starts no shell from a notebook: leave the line out")


def of_cell_magic(cell: Cell, words: list[str], rest: str) -> str:
    """A cell with a magic in its first line, as Python."""
    name = words[0] if words else ""
    if name in MEASURED:
        return rest
    if name in ("html", "HTML", "javascript", "js", "latex", "markdown", "svg"):
        return ""
    if name in ("writefile", "file") and len(words) > 1:
        mode = "a" if "-a" in words else "w"
        return f"with open({words[-1]!r}, {mode!r}, encoding='utf-8') as _file: _file.write({rest!r})"
    known = ", ".join(f"%%{one}" for one in (*MEASURED, "writefile"))
    raise InputError(f"{cell.name}, line 1: %%{name}: banksim run executes cells of Python ({known} aside)")


def of_environment(rest: str) -> str:
    name, _, value = rest.replace("=", " ", 1).strip().partition(" ")
    return f"__import__('os').environ[{name!r}] = {value.strip()!r}" if value else ""


SETTINGS: dict[str, Callable[[str], str]] = {
    "cd": lambda rest: f"__import__('os').chdir({' '.join(shlex.split(rest)) or '~'!r})",
    "env": of_environment,
    "set_env": of_environment,
}


def run_python(words: Sequence[str], module: bool) -> Ended:
    """Run a Python program with its arguments: a module, a notebook or a file."""
    if module:
        return run_module(words[0], words[1:])
    return (run_notebook if words[0].endswith(".ipynb") else run_file)(words[0], words[1:])
