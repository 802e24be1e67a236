"""The names by which a type checker knows what compiled code works on: annotations there mean nothing to numba, which
gives every value its type from the call.

The fields of a record are annotated with their types in memory as well (I4 …), from which NumPy's dtype is made.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, NewType, Protocol, TypeAlias, TypeVar

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
I4: TypeAlias = Annotated[Integer, "i4"]
I8: TypeAlias = Annotated[Integer, "i8"]
U4: TypeAlias = Annotated[Integer, "u4"]
U8: TypeAlias = Annotated[Integer, "u8"]
"""Fields of a record; a vector is Annotated[Integers, "i4", shape]."""
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


def fields(record: type) -> list[tuple[str, np.dtype]]:
    """The names of a record's fields, and their types in memory."""
    return [(name, np.dtype((*kind.__metadata__, ())[:2])) for name, kind in record.__annotations__.items()]
