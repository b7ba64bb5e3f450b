"""Arrays in compiled code over memory at an address, without a count of references."""

from __future__ import annotations

from typing import Any

from llvmlite import ir  # type: ignore[import-untyped]
from numba import types as nb_types
from numba.core import cgutils
from numba.core.typing.context import Context
from numba.core.typing.templates import Signature

from dali_lab.kernels.cpu.machine.emission import Builder, Definition, Target, Value, emitted, load, typed_intrinsic


@typed_intrinsic
def array_at(_: Context, address: nb_types.Type, shape: nb_types.BaseTuple, like: nb_types.Array) -> Definition:
    """A C-contiguous array over memory that somebody else owns.

    Parameters
    ----------
    address
        Address of the first element, from a sample table (``int64``).
    shape
        A tuple of integers; its length fixes the number of dimensions.
    like
        Any array of the wanted dtype (an empty one will do); it selects the compiled variant.
    """
    kind = nb_types.Array(like.dtype, len(shape), "C")
    signature = kind(address, shape, like)

    def codegen(context: Target, builder: Builder, sig: Signature, args: list[Value]) -> Value:
        from numba.np import arrayobj as numba_arrays

        arrayobj: Any = numba_arrays
        index = context.get_value_type(nb_types.intp)
        parts: Any = cgutils.unpack_tuple(builder, args[1])  # type: ignore[no-untyped-call]
        sizes = [context.cast(builder, size, of, nb_types.intp) for size, of in zip(parts, sig.args[1], strict=True)]
        item_size = index(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
        strides = [item_size]
        for size in reversed(sizes[1:]):
            strides.insert(0, builder.mul(size, strides[0]))
        made = arrayobj.make_array(kind)(context, builder)
        arrayobj.populate_array(
            made,
            data=builder.inttoptr(args[0], made.data.type),
            shape=sizes,
            strides=strides,
            itemsize=item_size,
            meminfo=None,
        )
        return made._getvalue()

    return signature, codegen


@emitted(lambda _: nb_types.int64(nb_types.int64))
def byte_at(builder: Builder, address: Value) -> Value:
    """A byte in memory; passing an array on to a part for each of them would count its references each time."""
    return builder.zext(load(builder, address, ir.IntType(8)), ir.IntType(64))


@typed_intrinsic
def borrowed(_: Context, array: nb_types.Array) -> Definition:
    """An array without a count of its references; it must be a kernel's argument, which the caller keeps.

    A part that is called for every element and has several ways out counts the references to each array that it is
    given, which takes longer than what most parts do.
    """

    def codegen(context: Target, builder: Builder, sig: Signature, args: list[Value]) -> Value:
        made = context.make_array(sig.args[0])(context, builder, value=args[0])
        made.meminfo = cgutils.get_null_value(made.meminfo.type)  # type: ignore[no-untyped-call]
        return made._getvalue()

    return array(array), codegen
