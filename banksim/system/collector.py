"""Python's collector of garbage, which looks for circles of objects again and again."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Have it wait: where very many objects are made that all stay for a while, it takes a fifth of the time and finds
    nothing. If two threads ask for this, it goes on when the first of them that stopped it is done."""
    runs = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if runs:
            gc.enable()
