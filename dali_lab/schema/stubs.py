"""Writes generated files from the declarations: ``python -m dali_lab.schema.stubs``.

These are the type stubs of ``dali_lab.fn`` and the index of operators, by which one is imported without the others.
"""

from __future__ import annotations

import keyword
import textwrap
from pathlib import Path
from typing import Any

from dali_lab.model.dtypes import NamedEnum
from dali_lab.schema.arguments import REQUIRED, Arg
from dali_lab.schema.operator import Operator
from dali_lab.schema.registry import all_operators

_TYPES = {
    "float": "float",
    "int": "int",
    "bool": "bool",
    "string": "str",
    "number": "bool | int | float",
    "dtype": "DALIDataType",
    "image_type": "DALIImageType",
    "interp_type": "DALIInterpType",
    "layout": "str",
    "object": "Any",
}
_HEADER = '''"""Operators as functions; written by ``python -m dali_lab.schema.stubs``, not by hand."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dali_lab.graph.recorder import DataNode
from dali_lab.schema.operator import Operator
from dali_lab.types import DALIDataType, DALIImageType, DALIInterpType, ScalarConstant

def make_function(operator: type[Operator]) -> Callable[..., Any]: ...
def __getattr__(name: str) -> Any: ...

'''
_INDEX_HEADER = '''"""Module in ``dali_lab.operators`` and serialized name of each operator by its name under ``fn``.

Written by ``python -m dali_lab.schema.stubs``, not by hand. An operator that is missing here is found all the same, by
importing all of them.
"""

'''


def annotation(arg: Arg) -> str:
    """The type of an argument in a signature."""
    if written := getattr(arg, "annotation", None):
        return str(written)
    one = _TYPES[arg.type]
    if one == "Any":
        return "Any"
    parts = [one]
    if arg.vector:
        parts.append(f"Sequence[{one}]")
    if arg.tensor:
        parts += ["DataNode", "ScalarConstant"]
    if arg.default is None:
        parts.append("None")
    return " | ".join(parts)


def default(arg: Arg) -> str:
    """The default value of an argument in a signature."""
    value: Any = arg.default
    if isinstance(value, NamedEnum):
        return f"{type(value).__name__}.{value.name}"
    return repr(value)


def signature(operator: type[Operator], *, method: bool) -> str:
    """One function of the stub file."""
    last = operator.name.rsplit(".", 1)[-1]
    parameters: list[str] = []
    names = set()
    variadic = False
    for declared in operator.inputs:
        names.add(declared.name)
        if declared.variadic:
            parameters.append(f"*{declared.name}: Any")
            variadic = True
        else:
            parameters.append(f"{declared.name}: Any{' = None' if declared.optional else ''}")
    if operator.inputs and not variadic:
        parameters.append("/")
    if not variadic:
        parameters.append("*")
    for arg in operator.argument_table.values():
        if not arg.listed or arg.name in names or keyword.iskeyword(arg.name):
            continue
        given = "" if arg.default is REQUIRED else f" = {default(arg)}"
        parameters.append(f"{arg.name}: {annotation(arg)}{given}")
    parameters.append("device: str | None = None")
    result = "DataNode" if len(operator.outputs) == 1 and "output_count" not in vars(operator) else "Any"
    text = f"def {last}({', '.join(parameters)}) -> {result}: ..."
    return f"@staticmethod\n{text}" if method else text


def stub() -> str:
    """The whole stub file."""
    top: list[str] = []
    modules: dict[str, list[str]] = {}
    for name, operator in all_operators().items():
        if name.startswith("_"):
            continue
        module, _, last = name.rpartition(".")
        if keyword.iskeyword(last):
            continue
        if module:
            modules.setdefault(module, []).append(signature(operator, method=True))
        else:
            top.append(signature(operator, method=False))
    text = _HEADER + "\n".join(top) + "\n"
    for module, functions in sorted(modules.items()):
        if "." in module:
            continue
        nested = {name: rows for name, rows in modules.items() if name.startswith(module + ".")}
        body = "\n".join(functions)
        for name, rows in sorted(nested.items()):
            body += f"\nclass {name.rpartition('.')[2]}:\n" + textwrap.indent("\n".join(rows), "    ")
        text += f"\nclass {module}:\n" + textwrap.indent(body, "    ") + "\n"
    return text


def index() -> str:
    """The index of built-in operators."""
    prefix = "dali_lab.operators."
    rows = [
        f'    "{name}": ("{operator.__module__.removeprefix(prefix)}", "{operator.schema_name}"),\n'
        for name, operator in all_operators().items()
        if operator.__module__.startswith(prefix)
    ]
    return f"{_INDEX_HEADER}BUILT_IN: dict[str, tuple[str, str]] = {{\n{''.join(rows)}}}\n"


def path() -> Path:
    """Path of the stub file."""
    return Path(__file__).parent.parent / "fn.pyi"


def index_path() -> Path:
    """Path of the index."""
    return Path(__file__).with_name("index.py")


if __name__ == "__main__":
    path().write_text(stub())
    index_path().write_text(index())
