"""PyTorch beside a simulated GPU: its tensors lie in the host's memory, also where the program asks for "cuda".

The storage of a tensor on "cuda" is marked. What crosses from the one device to the other is copied, as between a host
and its GPU: two tensors that share memory here and not there would make a program's own check of its results wrong."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from banksim.errors import UnsupportedError
from banksim.kernels.compilers.numba_without_gpu import capability, replaced
from banksim.runs.programs import device


def of_host(value: Any) -> Any:
    """A tensor in the host's memory as an array from its first element to its last, as a kernel gets no more than its
    address; types that NumPy lacks as bits. Anything else as it is."""
    if not hasattr(value, "untyped_storage"):
        if hasattr(value, "data_ptr"):
            passed = "banksim run passes tensors of PyTorch; try banksim run --whole"
            raise UnsupportedError(f"a {type(value).__name__}: {passed}")
        return value
    torch = import_module("torch")
    bits = torch.empty(0, dtype=torch.uint8).set_(value.detach().untyped_storage()).numpy()
    try:
        kind = torch.empty(0, dtype=value.dtype).numpy().dtype
    except TypeError:
        kind = np.dtype(f"u{value.element_size()}")
    last = sum((size - 1) * step for size, step in zip(value.shape, value.stride(), strict=True))
    return np.ndarray(last + 1 if value.numel() else 0, kind, bits, value.storage_offset() * value.element_size())


@contextmanager
def on_host(torch: ModuleType, arch: str) -> Iterator[None]:
    """Within, the device "cuda" of PyTorch is the host's memory, and its one GPU is the simulated one."""
    about = SimpleNamespace(
        name=device.name(arch), multi_processor_count=device.attributes(arch)["MULTIPROCESSOR_COUNT"]
    )
    about.major, about.minor = capability(arch)
    answers: dict[str, object] = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "set_device": lambda *_: None,
        "_exchange_device": lambda *_: 0,
        "_maybe_exchange_device": lambda *_: 0,
        "synchronize": lambda *_: None,
        "get_device_capability": lambda *_: (about.major, about.minor),
        "get_device_properties": lambda *_: about,
        "get_device_name": lambda *_: about.name,
    }
    with ExitStack() as stack:
        for name, value in answers.items():
            stack.enter_context(replaced(torch.cuda, name, value))
        mode = mode_of_host(torch)
        own = torch.autograd.function.BackwardCFunction

        def backward(function: Any, *gradients: Any, apply: Any = own.apply) -> Any:
            """A derivative that the program itself computes: PyTorch would call it outside this mode."""
            with mode():
                return apply(function, *gradients)

        stack.enter_context(replaced(own, "apply", backward))
        stack.enter_context(mode())
        yield


def mode_of_host(torch: ModuleType) -> Any:
    """A mode of PyTorch in which tensors on "cuda" are tensors of the host whose storage is marked."""
    tensor, host, gpu = torch.Tensor, torch.device("cpu"), torch.device("cuda", 0)
    moves = (tensor.to, tensor.cuda, tensor.cpu, tensor.type_as, torch.as_tensor, torch.asarray)
    told = {
        tensor.device.__get__: (host, gpu),
        tensor.is_cuda.__get__: (False, True),
        tensor.is_cpu.__get__: (True, False),
        tensor.get_device: (-1, 0),
    }

    def tensors(value: object) -> Iterator[Any]:
        if isinstance(value, tensor):
            yield value
        elif isinstance(value, tuple | list):
            for one in value:
                yield from tensors(one)
        elif isinstance(value, Mapping):
            yield from tensors([*value.values()])

    def memory(value: Any) -> Any:
        """What is marked: views share it. Sparse tensors have no storage."""
        try:
            return value.untyped_storage()
        except NotImplementedError:
            return value

    def is_on_gpu(value: object) -> bool:
        return isinstance(value, tensor) and getattr(memory(value), "on_gpu", False)

    def asks_gpu(value: object, number: bool) -> bool | None:
        """Whether an argument names the GPU, by a number too where that is a device; None if it names no device."""
        if number and type(value) is int:
            return True
        kind = str(value).partition(":")[0] if isinstance(value, str | torch.device) else None
        return {"cuda": True, "cpu": False}.get(kind or "")

    class OnHost(torch.overrides.TorchFunctionMode):  # type: ignore[misc, name-defined]
        def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            kwargs = kwargs or {}
            if function is torch.device:
                return function(*args, **kwargs)
            if function in told:
                return told[function][is_on_gpu(args[0])]
            given = [*tensors((args, kwargs))]
            by_place = [asks_gpu(one, at == 1 and function is tensor.to) for at, one in enumerate(args)]
            by_name = {name: asks_gpu(one, name == "device") for name, one in kwargs.items()}
            asked = [one for one in (*by_place, *by_name.values()) if one is not None]
            if function is tensor.cuda:
                asked, result = [True], args[0]
            else:
                places = [host if on else one for on, one in zip(by_place, args, strict=True)]
                result = function(*places, **{name: host if by_name[name] else one for name, one in kwargs.items()})
            if function is tensor.cpu:
                asked = [False]
            if function in (tensor.to, tensor.type_as) and len(given) > 1:
                asked = [is_on_gpu(given[1])]
            if function is tensor.numpy and kwargs.get("force") and is_on_gpu(args[0]):
                return result.copy()
            on = asked[0] if asked else any(map(is_on_gpu, given))
            if function in moves and is_on_gpu(result) != on:
                result = result.clone()
            if on:
                known = {id(memory(one)) for one in given}
                for one in tensors(result):
                    if id(memory(one)) not in known:
                        memory(one).on_gpu = True
            return result

    return OnHost
