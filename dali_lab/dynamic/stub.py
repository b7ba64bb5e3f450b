"""Writes the type stubs of the package from the declarations of operators: ``python -m dali_lab.dynamic.stub``."""

from __future__ import annotations

import ast
import keyword
import re
from pathlib import Path
from typing import Any

from dali_lab.dynamic.functions import offered_functions, offered_readers
from dali_lab.schema.operator import Operator
from dali_lab.schema.stubs import NODES, TYPES, class_of, function, lines, results_of

_HERE = Path(__file__).parent
_HEADER = f'''"""Operators on tensors and batches; written by ``python -m dali_lab.dynamic.stub``."""

# mypy: disable-error-code="overload-overlap"
# The first signature is for calls without a batch, the second for all others: it takes tensors as well.

import builtins
from collections.abc import Callable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Generic, Literal, Protocol, TypeAlias, TypeVar, overload

from dali_lab.dynamic.batch import Batch as Batch
from dali_lab.dynamic.modes import EvalContext as EvalContext
from dali_lab.dynamic.reader import Reader
from dali_lab.dynamic.tensor import Tensor as Tensor
from dali_lab.dynamic.values import Value

{TYPES}class _DeviceArray(Protocol):
    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...

class _OneArray(Protocol):  # not a list of tensors of a pipeline, which is a batch
    @property
    def shape(self) -> Sequence[int]: ...
    def __array__(self, *args: Any, **kwargs: Any) -> Any: ...

_Plain: TypeAlias = float | list[Any] | tuple[Any, ...]
_One: TypeAlias = Tensor | _Plain | _OneArray | _DeviceArray
_Data: TypeAlias = Value | _Plain | _Array | _DeviceArray
_Results = TypeVar("_Results")

class _Reader(Reader, Generic[_Results]):
    @overload
    def next_epoch(
        self, batch_size: int, ctx: EvalContext | None = None, capture: builtins.bool = False
    ) -> Iterator[_Results]: ...
    @overload
    def next_epoch(
        self, batch_size: int | None = None, ctx: EvalContext | None = None, capture: builtins.bool = False
    ) -> Iterator[Any]: ...

'''


def stub() -> str:
    """The stub file of `dali_lab.dynamic`: the imports of its text, and a function for each operator."""
    tree = _declared()
    del tree["random"]  # a module of its own
    imports = [
        f"from {node.module} import {one.name} as {one.name}\n"
        for node in ast.parse((_HERE / "__init__.py").read_text()).body
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("dali_lab.dynamic")
        for one in node.names
        if one.name not in ("functions", "namespace")
    ]
    return _HEADER + "".join(imports) + "\nbool = bool_\n" + lines(tree)


def random_stub() -> str:
    """The stub file of the operators of `dali_lab.dynamic.random`."""
    functions = {name: text.replace("@staticmethod\n", "") for name, text in _declared()["random"].items()}
    return _HEADER + lines(functions)


def _declared() -> dict[str, Any]:
    """The declarations of all operators by the parts of their names."""
    tree: dict[str, Any] = {}
    for shown, operator in {**offered_functions(), **offered_readers()}.items():
        *parents, last = shown.split(".")
        if keyword.iskeyword(last):
            continue
        inner = tree
        for part in parents:
            inner = inner.setdefault(part, {})
        if "readers" in parents:
            inner[last] = _reader(last, operator)
        else:
            texts = _function(last, operator)
            decorators = [*(["@overload"] if len(texts) > 1 else []), *(["@staticmethod"] if parents else [])]
            inner.setdefault(last, "\n".join("\n".join([*decorators, text]) for text in texts))
    return tree


def _function(name: str, operator: type[Operator]) -> list[str]:
    """The signatures of an operator of dynamic mode, which takes anything like an array.

    Where the number of results is known, one for tensors and one for batches.
    """
    texts = []
    rest = f"{'rng: Any = None, ' if operator.random else ''}device: Any = None) -> "
    for signature, of_nodes in function(name, operator):
        text = _of_arrays(signature.rpartition(", device:")[0])
        result = "Any" if of_nodes == NODES else of_nodes
        if "DataNode" in result:
            single = re.sub(r"\b_Data\b", "_One", text)
            texts.append(f"{single}, batch_size: None = None, {rest}{result.replace('DataNode', 'Tensor')}: ...")
        texts.append(f"{text}, batch_size: int | None = None, {rest}{result.replace('DataNode', 'Batch')}: ...")
    return texts


def _reader(name: str, operator: type[Operator]) -> str:
    """The class of a reader; arguments that must be given may be given to its call as well."""
    text = _of_arrays(class_of(name, operator)).replace("*, ", "")
    text = text.replace("self, ", "self, *, batch_size: int | None = None, ")
    text = text.replace("device: str | None = None", "device: Any = 'cpu', enable_checkpointing: builtins.bool = False")
    result, given = results_of(operator)[0]
    made = result.replace("DataNode", "Batch")
    if result == NODES or (given and not result.startswith("dict")):
        made = "tuple[Batch, ...]"
    elif result == "DataNode":
        made = "tuple[Batch]"
    return re.sub(r"OperatorObject\[.*?\](?=\):)", f"_Reader[{made}]", text, count=1)


def _of_arrays(text: str) -> str:
    """A declaration whose arguments are arrays in place of nodes; `bool` is a type of tensors in that module."""
    text = re.sub(r": [^:=]*DALI\w+Type[^=,)]*?(?= =|[,)])", ": Any", text)
    text = text.replace("DataNode | ScalarConstant | _Array", "_Data").replace("DataNode", "Any")
    return re.sub(r"\bbool\b", "builtins.bool", re.sub(r"= DALI\w+Type\.\w+", "= ...", text))


FILES = {_HERE / "__init__.pyi": stub, _HERE / "draws.pyi": random_stub}

if __name__ == "__main__":
    for file, text in FILES.items():
        file.write_text(text())
