"""An operator's declaration under the method names of NVIDIA DALI's ``OpSchema``, for programs that look them up."""
# ruff: noqa: N802  (the names are NVIDIA DALI's)

from __future__ import annotations

from dali_lab.model.dtypes import DALIDataType, TensorLayout
from dali_lab.model.errors import GraphError
from dali_lab.schema.arguments import Arg
from dali_lab.schema.operator import Operator
from dali_lab.schema.reference import argument_text, docstring
from dali_lab.schema.registry import find_operator

_TYPES = {
    "float": (DALIDataType.FLOAT, DALIDataType._FLOAT_VEC),
    "number": (DALIDataType.FLOAT, DALIDataType._FLOAT_VEC),
    "int": (DALIDataType.INT32, DALIDataType._INT32_VEC),
    "bool": (DALIDataType.BOOL, DALIDataType._BOOL_VEC),
    "string": (DALIDataType.STRING, DALIDataType._STRING_VEC),
    "layout": (DALIDataType.TENSOR_LAYOUT, DALIDataType._TENSOR_LAYOUT_VEC),
    "dtype": (DALIDataType.DATA_TYPE, DALIDataType._DATA_TYPE_VEC),
    "image_type": (DALIDataType.IMAGE_TYPE, DALIDataType.IMAGE_TYPE),
    "interp_type": (DALIDataType.INTERP_TYPE, DALIDataType.INTERP_TYPE),
    "object": (DALIDataType.PYTHON_OBJECT, DALIDataType.PYTHON_OBJECT),
}


class OpSchema:
    """An operator's declaration: inputs, arguments, devices, documentation.

    Parameters
    ----------
    operator
        The declaration.
    name
        The serialized name that it was asked for by.
    """

    def __init__(self, operator: type[Operator], name: str) -> None:
        self._operator = operator
        self._name = name

    def Name(self) -> str:
        """The serialized name, as ``readers__File``."""
        return self._name

    def OperatorName(self) -> str:
        """The name without its modules, as ``File``."""
        return self._name.rpartition("__")[2]

    def ModulePath(self) -> list[str]:
        """The modules that it is in, as ``["readers"]``."""
        return self._name.split("__")[:-1]

    def Dox(self) -> str:
        """The reference as text."""
        return docstring(self._operator)

    def GetSupportedBackends(self) -> list[str]:
        """The devices on which it can be placed."""
        return list(self._operator.devices)

    def MinNumInput(self) -> int:
        """The number of inputs that it needs at least."""
        return sum(not declared.optional for declared in self._operator.inputs)

    def MaxNumInput(self) -> int:
        """The number of inputs that it takes at most."""
        inputs = self._operator.inputs
        return 999 if any(declared.variadic for declared in inputs) else len(inputs)

    def HasInputDox(self) -> bool:
        """Whether inputs have names and descriptions: here they always do."""
        return True

    def GetInputName(self, index: int) -> str:
        """The name of an input."""
        return self._operator.inputs[index].name

    def GetInputDox(self, index: int) -> str:
        """The description of an input."""
        return self._operator.inputs[index].doc

    def GetSupportedLayouts(self, index: int) -> list[TensorLayout]:
        """The layouts that an input may have, or an empty list where it may have any."""
        return [TensorLayout(layout) for layout in self._operator.inputs[index].layouts or ()]

    def GetInputDevice(
        self, index: int, actual_device: str | None = None, operator_device: str | None = None
    ) -> str | None:
        """Device that reads an input: the operator's, but for positions, sizes and inputs whose shape alone counts.

        Parameters
        ----------
        index
            Number of the input; one which there is not is taken as any other.
        actual_device
            Where the input is, if that is known.
        operator_device
            Where the operator runs.
        """
        inputs = self._operator.inputs
        if index >= len(inputs):
            return operator_device
        return inputs[index].device_for(operator_device, actual_device)

    def GetArgumentNames(self, include_hidden: bool = False) -> list[str]:
        """The arguments, in the order of the alphabet; old names are not among them."""
        table = self._operator.argument_table
        return sorted(name for name, arg in table.items() if include_hidden or arg.listed)

    def HasArgument(self, name: str) -> bool:
        """Whether there is an argument of this name."""
        return name in self._operator.argument_table

    def IsArgumentOptional(self, name: str) -> bool:
        """Whether there is such an argument, and it may be left out."""
        return self.HasArgument(name) and not self._argument(name).required

    def IsTensorArgument(self, name: str) -> bool:
        """Whether there is such an argument, and it takes nodes."""
        return self.HasArgument(name) and self._argument(name).tensor

    def ArgSupportsPerFrameInput(self, name: str) -> bool:
        """Whether there is such an argument, and it takes a value for each frame."""
        return self.HasArgument(name) and self._argument(name).per_frame

    def GetArgumentDox(self, name: str) -> str:
        """The description of an argument."""
        return argument_text(self._argument(name))

    def GetArgumentType(self, name: str) -> DALIDataType:
        """The type of an argument."""
        argument = self._argument(name)
        return _TYPES[argument.type][argument.vector]

    def HasArgumentDefaultValue(self, name: str) -> bool:
        """Whether an argument has a default."""
        argument = self._argument(name)
        return not argument.required and argument.default is not None

    def GetArgumentDefaultValueString(self, name: str) -> str:
        """The default of an argument, as Python writes it.

        Raises
        ------
        ValueError
            If there is none.
        """
        if not self.HasArgumentDefaultValue(name):
            raise ValueError(f"the argument '{name}' of '{self._name}' has no default")
        default = self._argument(name).default
        return str(default) if isinstance(default, DALIDataType) else repr(default)

    def IsDeprecatedArg(self, name: str) -> bool:
        """Whether there is such an argument, and it is an old name, or without effect."""
        return self.HasArgument(name) and bool(self._argument(name).renamed_to or self._argument(name).removed)

    def IsDeprecated(self) -> bool:
        """Whether another operator took its place."""
        return bool(self._operator.deprecated)

    def IsStateful(self) -> bool:
        """Whether its output depends on earlier batches: readers, random operators, Python functions."""
        return self._operator.source or self._operator.random or self._operator.in_order

    def HasRandomSeedArg(self) -> bool:
        """Whether it draws random numbers and takes a seed for them."""
        return self._operator.random

    def HasRandomStateArg(self) -> bool:
        """Whether it draws random numbers and takes the state of a generator for them."""
        return "_random_state" in self._operator.argument_table

    def AllowsSequences(self) -> bool:
        """Whether sequences are cut into frames for it."""
        return self._operator.frames

    def IsDocHidden(self) -> bool:
        """Whether the reference leaves it out."""
        return self._operator.hidden

    def IsDocPartiallyHidden(self) -> bool:
        """Whether the reference has its name alone: that of none."""
        return False

    def IsInternal(self) -> bool:
        """Whether it is for other parts of the package alone."""
        return self._operator.hidden

    def IsAbstract(self) -> bool:
        """Whether there are no operators of this declaration: there are always."""
        return False

    def IsNoPrune(self) -> bool:
        """Whether its nodes are kept even if nothing uses them."""
        return not self._operator.outputs

    def AliasFor(self) -> str:
        """The name of the operator that this one is another name of, or nothing."""
        return "" if self._name == self._operator.schema_name else self._operator.schema_name

    def _argument(self, name: str) -> Arg:
        table = self._operator.argument_table
        if name not in table:
            raise KeyError(f"'{self._name}' has no argument '{name}'")
        return table[name]

    def __repr__(self) -> str:
        return f"<OpSchema of {self._name}>"


def find_schema(name: str) -> OpSchema | None:
    """The declaration of the operator with a serialized name, current or of older releases; `None` without one."""
    from dali_lab.schema.aliases import ALIASES

    successors = {alias.schema_name: alias.successor for alias in ALIASES.values()}
    try:
        operator = find_operator(successors.get(name, name))
    except GraphError:
        return None
    return OpSchema(operator, name) if name in successors or name == operator.schema_name else None


__all__ = ["OpSchema", "find_schema"]
