"""The kernels by name: how each is launched, on which inputs, and what NumPy says that it must compute."""

import difflib
import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from banksim.errors import InputError
from cuda_kernels.numba_cuda import Dispatcher, require

FAMILIES = (
    "tiles", "transposes", "reductions", "scans", "histograms", "stencils", "sorting", "rows", "products", "widths",
    "blocks",
)  # fmt: skip
"""The modules with kernels, in the order of the listing."""


@dataclass(frozen=True)
class Launch:
    """A kernel with all that a launch takes. `arguments` are NumPy arrays, which the kernel changes, and scalars.

    `expected` maps the number of an argument to what must be in it afterwards, bit for bit unless `tolerance`
    (relative, to the largest expected number) says otherwise. `clocks` is the number of the argument where a kernel
    that measures itself leaves its clocks: int64[passes, warps, 2], when a warp began and ended a pass; the first one
    is cold.
    """

    kernel: Dispatcher
    grid: tuple[int, ...]
    block: tuple[int, ...]
    arguments: tuple[Any, ...]
    expected: Mapping[int, np.ndarray] = field(default_factory=dict)
    dynamic_shared: int = 0
    tolerance: float = 0.0
    clocks: int | None = None

    def wrong(self, arguments: Sequence[Any]) -> str:
        """What is wrong with the arguments after the launch; "" if nothing is."""
        for number, expected in self.expected.items():
            found = arguments[number]
            if self.tolerance:
                limit = self.tolerance * float(np.abs(expected).max())
                with np.errstate(invalid="ignore"):
                    bad = ~(np.abs(found - expected) <= limit)
            else:
                bad = found != expected
            if bad.any():
                place = tuple(int(i) for i in np.argwhere(bad)[0])
                where = "".join(f"[{i}]" for i in place)
                return (
                    f"argument {number + 1}: {int(bad.sum()):,} of {bad.size:,} elements are wrong, "
                    f"the first at {where}: {found[place]} instead of {expected[place]}"
                )
        return ""


@dataclass(frozen=True)
class Entry:
    """A kernel of the catalogue. `variants` of one group compute the same, so their times can be compared.

    `race` says why no oracle holds: the kernel is wrong on purpose.
    """

    name: str
    family: str
    group: str
    about: str
    make: Callable[..., Launch]
    race: str = ""

    @property
    def options(self) -> tuple[str, ...]:
        """What can be chosen: `block`, `pad`."""
        return tuple(name for name in inspect.signature(self.make).parameters if name in ("block", "pad"))

    def launch(self, **chosen: object) -> Launch:
        """The launch with fresh arguments. InputError for a choice that this kernel does not have."""
        require()
        for name in chosen:
            if name not in self.options:
                known = " and ".join(f"--{option}" for option in self.options) or "nothing"
                raise InputError(f"{self.name} has no --{name}: one can choose {known}")
        return self.make(**chosen)


_entries: dict[str, Entry] = {}


def add(name: str, group: str, about: str, make: Callable[..., Launch], race: str = "") -> None:
    """Put a kernel into the catalogue; its family is the module of its maker."""
    if name in _entries:
        raise ValueError(f"two kernels are called {name}")
    module = inspect.unwrap(getattr(make, "func", make)).__module__
    _entries[name] = Entry(name, module.rpartition(".")[2], group, about, make, race)


def entries() -> dict[str, Entry]:
    """All kernels by name, in the order of `FAMILIES` whichever module was imported first."""
    for family in FAMILIES:
        importlib.import_module(f"cuda_kernels.kernels.{family}")
    return dict(sorted(_entries.items(), key=lambda item: FAMILIES.index(item[1].family)))


def find(names: Sequence[str]) -> list[Entry]:
    """The kernels of these names, families or groups; all of them for no name."""
    known = entries()
    if not names:
        return list(known.values())
    found: dict[str, Entry] = {}
    for name in names:
        chosen = [e for e in known.values() if name in (e.name, e.family, e.group)]
        if not chosen:
            words = [*known, *FAMILIES, *(e.group for e in known.values())]
            near = difflib.get_close_matches(name, words, 3) or FAMILIES
            raise InputError(f"no kernel, family or group {name!r}: is it {' or '.join(dict.fromkeys(near))}?")
        found |= {e.name: e for e in chosen}
    return list(found.values())


def small_integers(dtype: str, *shape: int, seed: int = 0, low: int = -2, high: int = 3) -> np.ndarray:
    """Random integers in [low, high) as `dtype`: sums and products of them are exact in any order."""
    return np.random.default_rng(seed).integers(low, high, shape).astype(dtype)
