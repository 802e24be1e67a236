"""Launches the kernels of programs that use Warp.

Without a GPU, Warp's arrays lie in the host's memory, and its other functions run on the CPU, as they are. The device
"cuda" is a second one over the host's memory, so that what goes from the one to the other is copied. Launches on it are
replaced: the kernels are compiled for the simulated GPU, which takes the arrays."""

import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import copy
from dataclasses import replace
from functools import wraps
from types import ModuleType, SimpleNamespace
from typing import Any

from banksim.architectures.bank_rules import Architecture
from banksim.errors import UnsupportedError
from banksim.kernels.compilers.numba_without_gpu import replaced
from banksim.kernels.kernel import Kernel
from banksim.runs.languages import warp
from banksim.runs.languages.language import decoded
from banksim.runs.options import Call, Options
from banksim.runs.programs.kernel_launches import Shape
from banksim.runs.programs.launches import Execute
from banksim.runs.resolve import launched
from banksim.system.changed_modules import changed

PUBLIC, CONTEXT, TYPES = "warp", "warp._src.context", "warp._src.types"


@contextmanager
def simulated_warp(rules: Sequence[Architecture], arch: str, execute: Execute) -> Iterator[None]:
    """Within, Warp launches its kernels on the simulated GPU. Nothing happens unless the program imports Warp."""
    with ExitStack() as stack:
        own: dict[str, object] = {}

        def change(context: ModuleType) -> None:
            launcher = Launcher(context, rules, arch, execute)
            for name in ("init", "copy", "launch", "launch_tiled"):
                own[name] = getattr(context, name)
                stack.enter_context(replaced(context, name, getattr(launcher, name)))

        def change_public(warp: ModuleType) -> None:
            """Warp's package has names of its own for the same functions."""
            for name, function in own.items():
                stack.callback(setattr, warp, name, function)
                setattr(warp, name, getattr(sys.modules[CONTEXT], name))

        def change_arrays(types: ModuleType) -> None:
            stack.enter_context(replaced(types.array, "__init__", copying(types.array)))

        changes = {TYPES: change_arrays, CONTEXT: change, PUBLIC: change_public}
        stack.enter_context(changed(changes))
        yield


class Launcher:
    """The functions of Warp that are replaced."""

    def __init__(self, context: ModuleType, rules: Sequence[Architecture], arch: str, execute: Execute) -> None:
        self.context, self.rules, self.arch, self.execute = context, rules, arch, execute
        self.own_init: Callable[[], None] = context.init
        self.own_copy: Callable[..., None] = context.copy
        self.own_launch: Callable[..., object] = context.launch
        self.own_launch_tiled: Callable[..., object] = context.launch_tiled
        self.signature = inspect.signature(context.launch)
        self.kernels: dict[tuple[bytes, str], Kernel] = {}

    def init(self) -> None:
        self.own_init()
        runtime = self.context.runtime
        if "cuda" not in runtime.device_map:
            runtime.device_map.update(dict.fromkeys(("cuda", "cuda:0"), second(runtime.cpu_device)))
            runtime.set_default_device("cuda")

    def is_gpu(self, device: object, stream: object) -> bool:
        """Whether a launch on this device, or if that is None on the default one, is one on the simulated GPU."""
        if stream is not None:
            raise UnsupportedError("wp.launch(stream=…): banksim run does not simulate it")
        return self.context.runtime.get_device(device) is not self.context.runtime.cpu_device

    def copy(self, dest: object, src: object, *rest: object, **how: object) -> None:
        """`wp.copy`. Between two devices Warp asks a stream whether it is captured; those of the host have none."""
        quiet = SimpleNamespace(is_capturing=False)
        if len(rest) < 4 and how.get("stream") is None:
            how["stream"] = quiet
        self.own_copy(dest, src, *rest, **how)

    def launch(self, *args: object, **how: object) -> object:
        """`wp.launch`."""
        self.init()
        given = self.signature.bind(*args, **how)
        given.apply_defaults()
        asked = given.arguments
        if not self.is_gpu(asked["device"], asked["stream"]):
            return self.own_launch(*args, **how)
        for name in ("adjoint", "record_cmd", "max_blocks"):
            if asked.get(name):
                raise UnsupportedError(f"wp.launch({name}={asked[name]}): banksim run does not simulate it")
        if self.context.runtime.tape is not None and asked["record_tape"]:
            raise UnsupportedError("wp.Tape: banksim run executes no kernels backwards")
        if getattr(self.context.runtime, "_apic_capture", None) is not None:
            raise UnsupportedError("a launch within wp.ScopedCapture: banksim run does not capture launches of Warp")
        kernel: Any = asked["kernel"]
        dim: Any = asked["dim"]
        sizes = (dim,) if isinstance(dim, int) else tuple(map(int, dim))
        if 0 not in sizes:
            block = max(asked["block_dim"] or 0, 0) or warp.BLOCK
            self.run(Call(kernel, None, block, [*asked["inputs"], *asked["outputs"]], {"dim": sizes}))
        return None

    def run(self, call: Call) -> None:
        kernel = call.kernel
        compiled = warp.compile(call, self.arch)
        key = compiled.cubin, compiled.name
        if key not in self.kernels:
            self.kernels[key] = replace(decoded(compiled), plain_name=warp.title(kernel)[0])
        packed = Call(self.kernels[key], warp.grid(call, compiled), None, warp.pack(call, compiled))
        launch = launched(packed, self.rules, Options())
        self.execute(launch, Shape.of(launch), tuple(str(one) for one in warp.title(kernel)[1]))

    def launch_tiled(self, *args: Any, **how: Any) -> object:
        """`wp.launch_tiled`: the threads of a block are one more dimension."""
        self.init()
        device, stream = (how.get(name, *args[at : at + 1] or (None,)) for name, at in (("device", 6), ("stream", 7)))
        if not {"dim", "block_dim"} <= how.keys() or not self.is_gpu(device, stream):
            return self.own_launch_tiled(*args, **how)
        dim, block = how["dim"], max(how["block_dim"] or 0, 0) or warp.BLOCK
        sizes = (dim,) if isinstance(dim, int) else tuple(dim)
        return self.launch(*args, **{**how, "dim": (*sizes, block), "block_dim": block})


def second(host: Any) -> Any:
    """A device like that of the host's memory, and another one: Warp takes devices for the same by their contexts."""
    made = copy(host)
    made.alias, made._context, made.make_current = "cuda:0", "simulated", lambda: None
    return made


def copying(array: Any) -> Callable[..., None]:
    """An array's __init__ that copies host memory for an array on the GPU, even where it need not (copy=False)."""
    own = array.__init__

    @wraps(own)
    def made(self: object, data: object = None, *rest: object, **how: Any) -> None:
        if how.get("copy") is False and data is not None and not isinstance(data, array):
            context = sys.modules[CONTEXT]
            how["copy"] = context.get_device(how.get("device")) is not context.runtime.cpu_device
        own(self, data, *rest, **how)

    return made
