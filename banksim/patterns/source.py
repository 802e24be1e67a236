"""The text that a user wrote, and errors that point into it."""

from __future__ import annotations

from banksim.errors import InputError


class PatternError(InputError):
    """Something wrong in an expression or a declaration, with its place.

    `message` is one line; `text` what the user wrote; the fault is `text[start:end]`. The exception's own text
    is the message, the line of `text` that holds the fault, and a line of carets under it.
    """

    def __init__(self, message: str, text: str, start: int, end: int) -> None:
        self.message = message
        self.text = text
        self.start = start
        self.end = max(end, start + 1)
        super().__init__(f"{message}\n{self.excerpt()}")

    def excerpt(self) -> str:
        """Two lines: the line of `text` with the fault, and carets under it."""
        first = self.text.rfind("\n", 0, self.start) + 1
        line = self.text[first:].split("\n", 1)[0].replace("\t", " ")
        column = self.start - first
        carets = "^" * max(1, min(self.end, first + len(line)) - self.start)
        return f"  {line}\n  {' ' * column}{carets}"
