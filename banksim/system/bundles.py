"""Named tuples of arrays that compiled code passes by their address.

numba passes a named tuple as all that its arrays consist of, some seven values each: the state of a multiprocessor has
fifty arrays. What that takes at every call of every function is most of the code of these, and of the time to compile
them; and to find the types of so many at a call from Python takes longer than simulating a small block. A `bundle` is
one address, at which stand the place and lengths of each array.
"""

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from llvmlite import ir
from numba.core import types
from numba.core.typing.templates import AttributeTemplate
from numba.extending import infer_getattr, intrinsic, lower_getattr_generic, models, register_model
from numba.np.numpy_support import from_dtype

from banksim.system.compiled_types import Code, Integer, NumbaType, Signature, TargetContext, TypingContext
from banksim.system.lowering import array_of

Class = TypeVar("Class", bound=type)
Value = TypeVar("Value")
Field = tuple[str, Any, int]
"""Its name; for an array the type of elements and the number of dimensions, for a bundle its class and 0."""
WORD = ir.IntType(64)
FIELDS: dict[type, tuple[Field, ...]] = {}
"""The fields of each class of bundles; none until the first one is made."""


def bundle(kind: Class) -> Class:
    """Let named tuples of a class be bundles. All arrays are contiguous, and of the same types in each."""
    FIELDS[kind] = ()
    return kind


class Words:
    """The words of a bundle: their `address` is good for `at` as long as this lives."""

    def __init__(self, value: Any) -> None:
        self.value, self.inside = value, []
        fields: list[Field] = []
        found: list[int] = []
        for name, one in zip(value._fields, value, strict=True):
            if type(one) in FIELDS:
                self.inside.append(Words(one))
                fields.append((name, type(one), 0))
                found.append(self.inside[-1].address)
            elif isinstance(one, np.ndarray) and one.flags.c_contiguous:
                fields.append((name, one.dtype, one.ndim))
                found += [one.ctypes.data, *one.shape]
            else:
                raise TypeError(f"{type(value).__name__}.{name} is neither a contiguous array nor a bundle: {one!r}")
        known = FIELDS[type(value)] = FIELDS[type(value)] or tuple(fields)
        if tuple(fields) != known:
            raise TypeError(f"{type(value).__name__} had fields of other types before")
        self.words = np.array(found, np.int64)

    @property
    def address(self) -> int:
        return int(self.words.ctypes.data)


class Bundle(types.Type):
    """Numba's type of a named tuple whose fields are arrays and other bundles."""

    def __init__(self, kind: type) -> None:
        self.fields: dict[str, Any] = {
            name: types.Array(from_dtype(what), dimensions, "C") if dimensions else Bundle(what)
            for name, what, dimensions in FIELDS[kind]
        }
        super().__init__(kind.__name__)

    def place(self, field: str) -> int:
        """Where the words of a field begin."""
        fields = list(self.fields)
        return sum(words(self.fields[before]) for before in fields[: fields.index(field)])


def words(kind: types.Type) -> int:
    """How many words a field has: the place of an array and its lengths, or the place of another bundle."""
    return 1 + kind.ndim if isinstance(kind, types.Array) else 1


if TYPE_CHECKING:

    def at(kind: type[Value], address: Integer) -> Value:
        """In compiled code: the bundle of a class whose words lie at an address."""

else:

    @intrinsic
    def at(typing_context: TypingContext, kind: NumbaType, address: NumbaType) -> Code:
        def generate(
            context: TargetContext, builder: ir.IRBuilder, signature: Signature, given: list[ir.Value]
        ) -> ir.Value:
            return builder.inttoptr(given[1], WORD.as_pointer())

        return Bundle(kind.instance_class)(kind, address), generate


@register_model(Bundle)
class BundleModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Bundle) -> None:
        super().__init__(manager, kind, WORD.as_pointer())


@infer_getattr
class BundleFields(AttributeTemplate):
    key = Bundle

    def generic_resolve(self, value: Any, attr: Any) -> Any:  # type: ignore[override]
        return value.fields.get(attr)


@lower_getattr_generic(Bundle)  # type: ignore[untyped-decorator]
def field_of(context: TargetContext, b: ir.IRBuilder, kind: Bundle, value: ir.Value, field: str) -> ir.Value:
    """An array, made of its words, or the address of another bundle."""
    wanted, first = kind.fields[field], kind.place(field)
    found = [constant(b, b.gep(value, [WORD(first + n)], inbounds=True)) for n in range(words(wanted))]
    if isinstance(wanted, Bundle):
        return b.inttoptr(found[0], WORD.as_pointer())
    data = b.inttoptr(found[0], context.get_data_type(wanted.dtype).as_pointer())
    return array_of(context, b, wanted, data, found[1:])


def constant(b: ir.IRBuilder, place: ir.Value) -> ir.Value:
    """Load a word that does not change while compiled code runs."""
    loaded = b.load(place)
    loaded.set_metadata("invariant.load", b.module.add_metadata([]))
    return loaded
