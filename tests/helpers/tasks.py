"""Tasks for workers, in a module that these import quickly."""

import os
import signal


def deadly(shared: int, number: int) -> int:
    print("this is no result")
    if number == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return shared + number


class OddError(Exception):
    """Cannot be made from its text alone, as pickle does."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(f"{a} and {b}")


def failing(shared: None, number: int) -> None:
    raise OddError(number, 2)
