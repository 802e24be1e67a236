"""The names by which a type checker knows what compiled code works on: annotations there mean nothing to numba, which
gives every value its type from the call.

Records are described beside their layouts: in `compiled_records` of `machine` and of `machine.races`, and in
`timing.issue_records`.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NewType, Protocol, TypeAlias, TypeVar

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from llvmlite import ir
    from numba.core.base import BaseContext
    from numba.core.types import Type
    from numba.core.typing.context import BaseContext as BaseTypingContext
    from numba.core.typing.templates import Signature as FunctionSignature

Integer: TypeAlias = "int | np.integer[Any]"
"""An integer of any width."""
Integers: TypeAlias = npt.NDArray[np.integer[Any]]
"""An array of integers."""
Record = TypeVar("Record", covariant=True)


class Records(Protocol[Record]):
    """An array of records."""

    def __getitem__(self, at: Integer, /) -> Record: ...


Place = NewType("Place", object)
"""A pointer in compiled code, of which `carray` makes an array."""
Function = TypeVar("Function", bound=Callable[..., Any])
"""A function that numba compiles: it is called as it is written."""
Made = TypeVar("Made")

TypingContext: TypeAlias = "BaseTypingContext"
TargetContext: TypeAlias = "BaseContext"
Signature: TypeAlias = "FunctionSignature"
NumbaType: TypeAlias = "Type"
Code: TypeAlias = "tuple[Signature, Callable[[TargetContext, ir.IRBuilder, Signature, list[ir.Value]], ir.Value]]"
"""What an intrinsic returns for the numba types of its arguments: its signature, and what writes its LLVM code."""
