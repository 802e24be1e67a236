"""What a compiler of CUDA C++ is given: a file, what to compile it for, and the options that nvcc and NVRTC share."""

import re
from dataclasses import dataclass
from pathlib import Path

from banksim.errors import InputError

ARCHITECTURE = re.compile(r"(?:sm|compute)_\d+[af]?")
STANDARD = re.compile(r"(?:c|gnu)\+\+\w+")
UNPRINTABLE = re.compile(r"[\0-\x1f\x7f]")


@dataclass(frozen=True)
class Compilation:
    """A file of CUDA C++ and how to compile it. `instances`: kernel templates to instantiate (`transpose<32>`)."""

    file: Path
    arch: str
    defines: tuple[str, ...]
    includes: tuple[Path, ...]
    std: str | None
    instances: tuple[str, ...]
    relocatable: bool
    helpers: tuple[Path, ...] = ()

    def preprocessing(self) -> list[str]:
        """The options that the user words: macros, and folders of headers."""
        return [*(f"-D{name}" for name in self.defines), *(f"-I{folder}" for folder in self.includes)]

    def options(self) -> list[str]:
        """The other options that nvcc and NVRTC share."""
        chosen = ["-lineinfo", *([f"-std={self.std}"] if self.std else [])]
        return chosen + (["-rdc=true"] if self.relocatable else [])

    def check(self) -> None:
        """InputError for what no compiler takes, or takes for something else."""
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
