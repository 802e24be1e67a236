"""Where things stand in a TOML file, which tomllib does not tell: by its headers of tables and its lines `key = …`."""

import re
from collections.abc import Iterator

HEADER = re.compile(r"[ \t]*\[+[ \t]*([^\]#]+?)[ \t]*\]+")
KEY = re.compile(r"""[ \t]*["']?([\w-]+)["']?[ \t]*=""")
STRING = re.compile(r'"""|\'\'\'')


class Lines:
    """The lines of the tables and keys of a file. What is written in a rarer way has none."""

    def __init__(self, text: str) -> None:
        self.tables: dict[str, list[int]] = {}
        self.keys: dict[tuple[str, int, str], int] = {}
        """By table, its number among those of this name, and key."""
        name = ""
        for number, line in outside_strings(text):
            if header := HEADER.match(line):
                name = ".".join(part.strip().strip("\"'") for part in header[1].split("."))
                self.tables.setdefault(name, []).append(number)
            elif key := KEY.match(line):
                self.keys.setdefault((name, len(self.tables.get(name, ())), key[1]), number)

    def of(self, table: str, number: int | None = None, key: str = "") -> int | None:
        """The line of a key, else of its table (in an array of them the `number`th, from 1), else of that around it."""
        found = self.tables.get(table, [])
        at = number or len(found)
        line = self.keys.get((table, at, key)) or (found[at - 1] if 0 < at <= len(found) else None)
        above, _, name = table.rpartition(".")
        return line or (self.of(above, None, name) if table else None)


def outside_strings(text: str) -> Iterator[tuple[int, str]]:
    """The lines that begin outside strings of several lines, with their numbers."""
    within = ""
    for number, line in enumerate(text.split("\n"), 1):
        if not within:
            yield number, line
        for mark in STRING.findall(line):
            within = "" if mark == within else within or mark
