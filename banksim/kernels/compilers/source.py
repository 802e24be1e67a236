"""What a compiler of CUDA C++ is given: a file, what to compile it for, and the options that nvcc and NVRTC share."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from banksim.errors import InputError

ARCHITECTURE = re.compile(r"(?:sm|compute)_\d+[af]?")
STANDARD = re.compile(r"(?:--?std=)?((?:c|gnu)\+\+\w+)")
UNPRINTABLE = re.compile(r"[\0-\x1f\x7f]")


@dataclass(frozen=True)
class Compilation:
    """A file of CUDA C++ and how to compile it, all paths absolute. `instances`: kernel templates to instantiate
    (`transpose<32>`). InputError for what no compiler takes, or takes for something else."""

    file: Path
    arch: str
    defines: tuple[str, ...]
    includes: tuple[Path, ...]
    std: str | None
    instances: tuple[str, ...]
    relocatable: bool = False
    helpers: tuple[Path, ...] = ()

    def preprocessing(self) -> list[str]:
        """The options that the user words: macros, and folders of headers."""
        return [*(f"-D{name}" for name in self.defines), *(f"-I{folder}" for folder in self.includes)]

    def options(self) -> list[str]:
        """The other options that nvcc and NVRTC share."""
        standard = STANDARD.fullmatch(self.std or "")
        chosen = ["-lineinfo", *([f"-std={standard[1]}"] if standard else [])]
        return chosen + (["-rdc=true"] if self.relocatable else [])

    def __post_init__(self) -> None:
        if not ARCHITECTURE.fullmatch(self.arch):
            raise InputError(f"no architecture {self.arch!r} to compile for: give one such as sm_90")
        if self.std and not STANDARD.fullmatch(self.std):
            raise InputError(f"{self.std!r} is no standard of C++: give one such as c++17")
        for option in self.preprocessing():
            if UNPRINTABLE.search(option):
                raise InputError(f"{option!r}: neither a macro nor a folder can have line breaks or control characters")
        if UNPRINTABLE.search(str(self.file)) or '"' in str(self.file):
            what = "quotation marks or control characters, which line tables cannot name"
            raise InputError(f"{str(self.file)!r}: the path has {what}: rename it")


def resolved(folders: Sequence[str | Path]) -> tuple[Path, ...]:
    return tuple(Path(folder).resolve() for folder in folders)


def require_source(file: Path) -> None:
    """InputError if there is no such file, or it is no text: compilers complain of binary data a hundred times."""
    if not file.is_file():
        raise InputError(f"{file}: no such file")
    with open(file, "rb") as opened:
        if b"\0" in opened.read(8000):
            raise InputError(f"{file}: binary data and no source to compile")
