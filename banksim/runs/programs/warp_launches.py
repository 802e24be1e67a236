"""Launches the kernels of programs that use Warp.

Without a GPU, Warp's arrays lie in the host's memory, and its other functions run on the CPU, as they are. Launches are
replaced: the kernels are compiled for the simulated GPU, which takes the arrays. The device "cuda" is the CPU."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from types import ModuleType
from typing import Any

from banksim.architectures.bank_rules import Architecture
from banksim.errors import UnsupportedError
from banksim.kernels.compilers.numba_without_gpu import replaced
from banksim.kernels.kernel import Kernel
from banksim.runs.languages import warp
from banksim.runs.languages.language import decoded
from banksim.runs.options import Call, Options
from banksim.runs.programs.changed_modules import changed
from banksim.runs.programs.launches import Execute, Shape
from banksim.runs.resolve import launched

PUBLIC, CONTEXT = "warp", "warp._src.context"


@contextmanager
def simulated_warp(rules: Sequence[Architecture], arch: str, execute: Execute) -> Iterator[None]:
    """Within, Warp launches its kernels on the simulated GPU. Nothing happens unless the program imports Warp."""
    with ExitStack() as stack:
        own: dict[str, object] = {}

        def change(context: ModuleType) -> None:
            launcher = Launcher(context, rules, arch, execute)
            for name in ("init", "launch", "launch_tiled"):
                own[name] = getattr(context, name)
                stack.enter_context(replaced(context, name, getattr(launcher, name)))

        def change_public(warp: ModuleType) -> None:
            """Warp's package has names of its own for the same functions."""
            for name, function in own.items():
                stack.callback(setattr, warp, name, function)
                setattr(warp, name, getattr(sys.modules[CONTEXT], name))

        changes = {CONTEXT: change, PUBLIC: change_public}
        stack.enter_context(changed(changes))
        yield


class Launcher:
    """The functions of Warp that are replaced."""

    def __init__(self, context: ModuleType, rules: Sequence[Architecture], arch: str, execute: Execute) -> None:
        self.context, self.rules, self.arch, self.execute = context, rules, arch, execute
        self.prepare: Callable[[], None] = context.init
        self.kernels: dict[tuple[bytes, str], Kernel] = {}

    def init(self) -> None:
        self.prepare()
        runtime = self.context.runtime
        for name in ("cuda", "cuda:0"):
            runtime.device_map.setdefault(name, runtime.cpu_device)

    def launch(
        self,
        kernel: Any,
        dim: int | Sequence[int],
        inputs: Sequence[object] = (),
        outputs: Sequence[object] = (),
        **how: Any,
    ) -> None:
        """`wp.launch`."""
        self.init()
        for name in ("adjoint", "record_cmd"):
            if how.get(name):
                raise UnsupportedError(f"wp.launch({name}=True): banksim run does not simulate it")
        if self.context.runtime.tape is not None and how.get("record_tape", True):
            raise UnsupportedError("wp.Tape: banksim run executes no kernels backwards")
        sizes = (dim,) if isinstance(dim, int) else tuple(map(int, dim))
        if 0 in sizes:
            return
        block = how.get("block_dim") or warp.BLOCK
        call = Call(kernel, None, block, [*inputs, *outputs], {"dim": sizes})
        compiled = warp.compile(call, self.arch)
        key = compiled.cubin, compiled.name
        if key not in self.kernels:
            self.kernels[key] = replace(decoded(compiled), plain_name=warp.title(kernel)[0])
        packed = Call(self.kernels[key], warp.grid(call, compiled), None, warp.pack(call, compiled))
        launch = launched(packed, self.rules, Options())
        self.execute(launch, Shape.of(launch), tuple(str(one) for one in warp.title(kernel)[1]))

    def launch_tiled(self, kernel: Any, dim: int | Sequence[int], block_dim: int, **how: Any) -> None:
        """`wp.launch_tiled`: the threads of a block are one more dimension."""
        sizes = (dim,) if isinstance(dim, int) else tuple(dim)
        self.launch(kernel, (*sizes, block_dim), block_dim=block_dim, **how)
