"""`FILE:NAME`, as users name a kernel."""

import re

from banksim.errors import InputError

SUFFIXES = "py|ipynb|cu|cuh|cpp|cxx|cc|ptx|cubin|fatbin|o|obj|so|dll|exe"
FORM = re.compile(rf"(?P<file>.*?\.(?:{SUFFIXES})|[^:]+)(?::(?P<name>.+))?", re.DOTALL)


def file_and_name(text: str) -> tuple[str, str | None]:
    """The file, and the name of the kernel if one is given."""
    match = FORM.fullmatch(text)
    if match is None:
        raise InputError(f"{text!r}: give FILE:NAME with a .py, .cu, .ptx or .cubin file")
    return match["file"], match["name"]
