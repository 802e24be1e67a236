"""What numba looks up while it compiles a loop: how functions are called, and what a call gives."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from llvmlite import ir
from numba.core import callconv
from numba.core.cpu import CPUContext
from numba.core.typing.context import Context

from banksim.system.compiled_types import NumbaType, Signature

NO_ERRORS = ("<=", callconv.RETCODE_OK), ("==", callconv.RETCODE_NONE)


class Conventions(callconv.CPUCallConv):
    """Numba's calls, for functions that no exception of Python passes through and that catch none."""

    def _get_return_status(self, builder: ir.IRBuilder, code: ir.Value, excinfoptr: ir.Value) -> callconv.Status:
        error, never = builder.icmp_signed(">", code, callconv.RETCODE_OK), ir.IntType(1)(0)
        good, none = (builder.icmp_signed(how, code, limit) for how, limit in NO_ERRORS)
        return callconv.Status(code, good, none, error, never, never, error, excinfoptr)

    def return_status_propagate(self, builder: ir.IRBuilder, status: callconv.Status) -> None:
        builder.store(status.excinfoptr, self._get_excinfo_argument(builder.function))
        self._return_errcode_raw(builder, status.code)


class LoopTarget(CPUContext):
    @property
    def call_conv(self) -> Conventions:
        return Conventions(self)

    def refresh(self) -> None:
        """An intrinsic is defined for each type that it is first used with."""
        for registry in self._registries:
            self.install_registry(registry)


class LoopTyping(Context):
    """Remembers what a call of a function with arguments of some types gives. Numba finds it out at each call anew,
    first for arguments that are literals, and the outcome is always the same."""

    known: dict[tuple[object, tuple[NumbaType, ...]], Signature]

    def resolve_function_type(self, func: object, args: Sequence[NumbaType], kws: object) -> Signature | None:
        if kws or isinstance(func, str):  # names stand for indices that are numbers or slices
            named: Signature | None = super().resolve_function_type(func, args, kws)
            return named
        call = func, tuple(args)
        found = self.known.get(call)
        if found is None:
            found = super().resolve_function_type(func, args, kws)
            if found is not None:
                self.known[call] = found
        return found

    def refresh(self) -> None:
        """Nothing: `contexts` refreshes what this shares with numba's own context."""


@cache
def loop_contexts(typing: Context, target: CPUContext) -> tuple[LoopTyping, LoopTarget]:
    """What knows all that numba's own contexts know, now and later: they share it."""
    our_typing, our_target = LoopTyping.__new__(LoopTyping), LoopTarget.__new__(LoopTarget)
    vars(our_typing).update(vars(typing), known={})
    vars(our_target).update(vars(target), typing_context=our_typing)
    return our_typing, our_target


def contexts(typing: Context, target: CPUContext) -> tuple[LoopTyping, LoopTarget]:
    """The contexts to compile a function in. New definitions are looked for once, before the outermost function."""
    if not len(typing.callstack):
        typing.refresh()
        target.refresh()
    return loop_contexts(typing, target)
