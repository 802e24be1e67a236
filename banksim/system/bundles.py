"""Named tuples of arrays that compiled code passes by their address.

numba passes a named tuple as all that its arrays consist of, some seven values each: the state of a multiprocessor has
fifty arrays. What that takes at every call of every function is most of the code of these, and of the time to compile
them. A `bundle` is one pointer, behind which stand the place and lengths of each array.
"""

from __future__ import annotations

from typing import Any, TypeVar

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.typing.templates import AttributeTemplate
from numba.core.typing.typeof import typeof, typeof_impl
from numba.extending import NativeValue, infer_getattr, lower_getattr_generic, models, register_model, unbox
from numba.np import arrayobj

from banksim.system.compiled_types import TargetContext
from banksim.system.lowering import array_of

Class = TypeVar("Class", bound=type)
WORD = ir.IntType(64)


class Bundle(types.Type):
    """Of a named tuple whose fields are arrays and other bundles."""

    def __init__(self, name: str, fields: tuple[tuple[str, types.Type], ...]) -> None:
        self.fields: dict[str, Any] = dict(fields)
        self.said = f"{name}({', '.join(f'{field}: {kind}' for field, kind in fields)})"
        super().__init__(name)

    @property
    def key(self) -> str:
        return self.said

    def place(self, field: str) -> int:
        """Where the words of a field begin."""
        fields = list(self.fields)
        return sum(words(self.fields[before]) for before in fields[: fields.index(field)])


def words(kind: types.Type) -> int:
    """How many stand for a field: the place of an array and its lengths, or that of another bundle."""
    return 1 + kind.ndim if isinstance(kind, types.Array) else 1


def bundle(kind: Class) -> Class:
    """Have compiled code pass a class of named tuples so. All arrays are contiguous."""

    def type_of(value: Any, context: Any) -> Bundle:
        fields = tuple((name, typeof(one)) for name, one in zip(value._fields, value, strict=True))
        for name, field in fields:
            if not isinstance(field, Bundle) and not (isinstance(field, types.Array) and field.layout == "C"):
                raise TypeError(f"{kind.__name__}.{name} is neither a contiguous array nor a bundle: {field}")
        return Bundle(kind.__name__, fields)

    typeof_impl.register(kind)(type_of)
    return kind


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


@unbox(Bundle)  # type: ignore[untyped-decorator]
def unboxed(kind: Bundle, value: ir.Value, c: Any) -> NativeValue:
    """What Python passes: the words are on the stack of the call."""
    place = cgutils.alloca_once(c.builder, WORD, size=sum(map(words, kind.fields.values())))
    wrong = cgutils.false_bit
    for n, (name, field) in enumerate(kind.fields.items()):
        native = c.unbox(field, c.pyapi.tuple_getitem(value, n))
        wrong = c.builder.or_(wrong, native.is_error)
        if isinstance(field, Bundle):
            found = [native.value]
        else:
            array = arrayobj.make_array(field)(c.context, c.builder, native.value)
            found = [array.data, *cgutils.unpack_tuple(c.builder, array.shape)]
        for k, one in enumerate(found):
            word = one if one.type == WORD else c.builder.ptrtoint(one, WORD)
            c.builder.store(word, c.builder.gep(place, [WORD(kind.place(name) + k)], inbounds=True))
    return NativeValue(hidden(c.builder, place), is_error=wrong)


def hidden(b: ir.IRBuilder, place: ir.Value) -> ir.Value:
    """The same address, but so that LLVM cannot tell where it comes from. Otherwise, once the called function is
    inlined, it may move loads that are said to be `constant` in front of the stores above."""
    kind = ir.FunctionType(place.type, [place.type])
    return b.asm(kind, "", "=r,0,~{memory}", [place], side_effect=True)
