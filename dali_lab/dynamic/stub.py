"""Writes the type stubs of the package from the declarations of operators: ``python -m dali_lab.dynamic.stub``."""

from __future__ import annotations

import ast
import keyword
import re
from pathlib import Path
from typing import Any

from dali_lab.dynamic.functions import offered_functions, offered_readers
from dali_lab.schema.operator import Operator
from dali_lab.schema.stubs import ARRAY, class_of, function, lines

_HERE = Path(__file__).parent
_HEADER = f'''"""Operators on tensors and batches; written by ``python -m dali_lab.dynamic.stub``."""

import builtins
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from dali_lab.dynamic.reader import Reader
from dali_lab.dynamic.values import Value

{ARRAY}class _DeviceArray(Protocol):
    def __dlpack__(self, *args: Any, **kwargs: Any) -> Any: ...

_Data: TypeAlias = Value | float | list[Any] | tuple[Any, ...] | _Array | _DeviceArray

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
    functions = {name: text.removeprefix("@staticmethod\n") for name, text in _declared()["random"].items()}
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
            text = _function(last, operator)
            inner.setdefault(last, f"@staticmethod\n{text}" if parents else text)
    return tree


def _function(name: str, operator: type[Operator]) -> str:
    """The signature of an operator of dynamic mode, which takes anything like an array."""
    text = _of_arrays(function(name, operator)[-1].rpartition(", device:")[0])
    own = ["batch_size: int | None = None", *(["rng: Any = None"] if operator.random else []), "device: Any = None"]
    return f"{text}, {', '.join(own)}) -> Any: ..."


def _reader(name: str, operator: type[Operator]) -> str:
    """The class of a reader; arguments that must be given may be given to its call as well."""
    text = _of_arrays(class_of(name, operator)).replace("OperatorObject", "Reader").replace("*, ", "")
    text = text.replace("self, ", "self, *, batch_size: int | None = None, ")
    return text.replace("device: str | None = None", "device: Any = 'cpu', enable_checkpointing: builtins.bool = False")


def _of_arrays(text: str) -> str:
    """A declaration whose arguments are arrays in place of nodes; `bool` is a type of tensors in that module."""
    text = re.sub(r": [^:=]*DALI\w+Type[^=,)]*?(?= =|[,)])", ": Any", text)
    text = text.replace("DataNode | ScalarConstant | _Array", "_Data").replace("DataNode", "Any")
    return re.sub(r"\bbool\b", "builtins.bool", re.sub(r"= DALI\w+Type\.\w+", "= ...", text))


FILES = {_HERE / "__init__.pyi": stub, _HERE / "draws.pyi": random_stub}

if __name__ == "__main__":
    for file, text in FILES.items():
        file.write_text(text())
