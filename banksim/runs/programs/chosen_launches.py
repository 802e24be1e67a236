"""Which launches of a program are counted and reported; all are executed."""

import re
from dataclasses import dataclass

from banksim.errors import InputError
from banksim.kernels import demangling

REGEX = "regex:"


@dataclass(frozen=True)
class Choice:
    """Which launches are counted: of those whose kernel `matches` names, the first `skip` are left out, then `count`
    are taken (None: all)."""

    matches: re.Pattern[str] | None = None
    exact: bool = True
    skip: int = 0
    count: int | None = None

    def takes(self, number: int) -> bool:
        """Whether the launch of this number, from 0, among those of kernels that `names` names, is taken."""
        return number >= self.skip and (self.count is None or number < self.skip + self.count)

    def names(self, symbol: str) -> bool:
        """Whether the kernel is one that it names: exactly, in any of the ways to write it, or by a part of its name
        where a regular expression was given, as in Nsight Compute."""
        if self.matches is None:
            return True
        if not self.exact:
            return any(self.matches.search(form(symbol)) for form in SHORT)
        forms = {symbol, *(form(symbol) for form in (*SHORT, *LONG))}
        return any(self.matches.fullmatch(demangling.normalised(form)) for form in forms)


SHORT = (demangling.last_part, demangling.unqualified, demangling.plain_name)
LONG = (demangling.template_name, demangling.signature)


def choice(kernel: str | None, skip: int = 0, count: int | None = None) -> Choice:
    """A choice by a name, or by `regex:` and a regular expression. InputError where that is none."""
    if kernel is None:
        return Choice(None, True, skip, count)
    if not kernel.startswith(REGEX):
        return Choice(re.compile(re.escape(demangling.normalised(kernel))), True, skip, count)
    try:
        return Choice(re.compile(kernel.removeprefix(REGEX)), False, skip, count)
    except re.error as error:
        raise InputError(f"-k {kernel}: no regular expression: {error}") from None
