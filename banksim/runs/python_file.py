"""A Python file with kernels, imported with or without a GPU.

Many such files are whole programs: between their kernels they ask for a GPU, launch kernels and compare results. What
fails of that can be left out, statement by statement; the kernels remain.
"""

import __future__

import ast
import importlib.util
import io
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stdout
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import cast

from banksim.errors import BanksimError, InputError
from banksim.kernels.compilers.numba_without_gpu import importable
from banksim.runs.languages.language import LANGUAGES, Language

WHEELS = {"cuda.tile": "'cuda-tile[tileiras]'", "tilelang": "tilelang", "triton": "triton", "warp": "warp-lang"}
"""The modules of languages whose kernels may be in a file, and the wheel that has each."""
NEEDED = {
    *sys.stdlib_module_names,
    *LANGUAGES,
    "jinja2",
    "llvmlite",
    "numba",
    "numpy",
    "pyarrow",
    "pygments",
    "rich",
    "torch",
}
"""Modules that banksim and the languages import: no file may stand for them because it has such a name."""
FOUND = set[str]()
"""The modules that the file before found in its folders: others may lie in those of the next, or another GPU answer."""
FUTURE = sum(getattr(__future__, name).compiler_flag for name in __future__.all_feature_names)


def load_python(path: str | Path, arch: str = "sm_90", left_out: list[InputError] | None = None) -> ModuleType:
    """Import a Python file, with a stand-in for a GPU of `arch` where the file asks which one there is.

    What it prints goes to standard error. A statement that fails is an `InputError`, and nothing is left of the import.
    With `left_out` it is appended there, and the statements after it are executed; what they print may tell of results
    that are not there, and is dropped.
    """
    file = Path(path).resolve()
    if not file.is_file():
        raise InputError(f"{path}: no such file")
    top, name = in_package(file)
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None:
        raise InputError(f"{path}: not a Python file")
    try:
        tree = ast.parse(file.read_bytes(), str(file))
        flags = compile(tree, str(file), "exec", dont_inherit=True).co_flags & FUTURE
    except (SyntaxError, ValueError) as error:
        raise failure(path, error) from error
    loaded = importlib.util.module_from_spec(spec)
    # without its package, which may import the file too, as a module of its own
    loaded.__name__ = f"{file.stem}_" if file.stem in NEEDED else file.stem
    loaded.__doc__ = ast.get_docstring(tree, clean=False)
    with findable(loaded, str(top), str(file.parent)), answered(tree, arch), ExitStack() as output:
        output.enter_context(redirect_stdout(sys.stderr))
        for statement in tree.body:
            code = compile(ast.Module([statement], []), str(file), "exec", flags, dont_inherit=True)
            try:
                exec(code, vars(loaded))
            except BanksimError:
                raise
            except (Exception, SystemExit) as error:
                told = failure(f"{path}:{statement.lineno}", error)
                if left_out is None:
                    raise told from error
                left_out.append(told)
                output.enter_context(redirect_stdout(io.StringIO()))
                if isinstance(error, SystemExit):
                    break
    return loaded


def failure(place: str | Path, error: BaseException) -> InputError:
    """What failed, in one line, and its cure if one is known."""
    if type(error).__name__ == "CudaSupportError":  # Numba's, of launches too
        return InputError(f"{place}: importing it needs a GPU: banksim run executes whole programs")
    wheel = WHEELS.get(str(error.name)) if isinstance(error, ModuleNotFoundError) else None
    cure = f": pip install {wheel}" if wheel else ""
    return InputError(f"{place}: importing it failed with {type(error).__name__}: {' '.join(str(error).split())}{cure}")


def in_package(file: Path) -> tuple[Path, str]:
    """The folder in which a file's package lies, and the file's name as a module of that package. A package with the
    name of a needed module, such as kernels/triton, is taken for a part of the folder around it."""
    top, names = file.parent, [file.stem.replace(".", "_")]
    while (top / "__init__.py").is_file() or (names[1:] and names[0] in NEEDED):
        names.insert(0, top.name)
        top = top.parent
    return top, ".".join(names)


@contextmanager
def findable(loaded: ModuleType, top: str, own: str) -> Iterator[None]:
    """Let a module import what lies in the folder of its package, `top`, and in its `own`, and be imported by its name
    from then on, if nothing fails."""
    for name in [name for name in sys.modules if name.partition(".")[0] in FOUND]:
        del sys.modules[name]
    FOUND.clear()
    before, known = sys.modules.keys() - {loaded.__name__}, sys.modules.get(loaded.__name__)
    sys.path.insert(0, top)
    sys.path.append(own)
    sys.modules[loaded.__name__] = loaded
    try:
        yield
    except BaseException:
        del sys.modules[loaded.__name__]
        if known is not None:
            sys.modules[loaded.__name__] = known
        raise
    finally:
        sys.path.remove(top)
        del sys.path[-1 - sys.path[::-1].index(own)]
        roots = {name.partition(".")[0] for name in sys.modules.keys() - before}
        FOUND.update(name for name in roots if folder_of(sys.modules.get(name)) in (top, own))


def folder_of(module: ModuleType | None) -> str:
    """The folder in which a module or a package was found."""
    places = [*getattr(module, "__path__", ()), getattr(module, "__file__", None)]
    return str(Path(places[0]).parent) if places[0] else ""


@contextmanager
def answered(tree: ast.Module, arch: str) -> Iterator[None]:
    """Within, what the packages that a file imports would ask a GPU is answered."""
    packages = {name.partition(".")[0] for node in ast.walk(tree) for name in imported(node)}
    with ExitStack() as stack:
        stack.enter_context(importable())
        for module in sorted({LANGUAGES[name] for name in packages & LANGUAGES.keys()}):
            language = cast(Language, import_module(module))
            stack.enter_context(language.importing(arch))
        yield


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [one.name for one in node.names]
    return [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
