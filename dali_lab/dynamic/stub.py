"""Writes the type stub of the package from the declarations of operators: ``python -m dali_lab.dynamic.stub``."""

from __future__ import annotations

import ast
import keyword
import re
from pathlib import Path
from typing import Any

from dali_lab.dynamic.functions import offered_functions
from dali_lab.schema.operator import Operator
from dali_lab.schema.stubs import function, lines

FILE = Path(__file__).with_name("__init__.pyi")
_HEADER = '''"""Operators on tensors and batches; written by ``python -m dali_lab.dynamic.stub``."""

import builtins
from collections.abc import Callable, Mapping, Sequence
from typing import Any

'''


def stub() -> str:
    """The stub file of `dali_lab.dynamic`: the imports of its text, and a function for each operator."""
    tree: dict[str, Any] = {}
    for shown, operator in offered_functions().items():
        *parents, last = shown.split(".")
        if parents[:1] == ["random"] or keyword.iskeyword(last):
            continue
        inner = tree
        for part in parents:
            inner = inner.setdefault(part, {})
        text = _function(last, operator)
        inner.setdefault(last, f"@staticmethod\n{text}" if parents else text)
    tree["experimental"]["readers"] = "readers: Any"
    imports = [
        f"from {node.module} import {one.name} as {one.name}\n"
        for node in ast.parse(Path(__file__).with_name("__init__.py").read_text()).body
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("dali_lab.dynamic")
        for one in node.names
        if one.name not in ("functions", "namespace")
    ]
    return _HEADER + "".join(imports) + "\nbool = bool_\n" + lines(tree)


def _function(name: str, operator: type[Operator]) -> str:
    """The signature of an operator of dynamic mode, which takes whatever is an array."""
    text = function(name, operator).rpartition(", device:")[0]
    text = re.sub(r": [^:=]*(ScalarConstant|DALI\w+Type)[^=,)]*?(?= =|[,)])", ": Any", text).replace("DataNode", "Any")
    text = re.sub(r"= DALI\w+Type\.\w+", "= ...", text)
    own = ["batch_size: int | None = None", *(["rng: Any = None"] if operator.random else []), "device: Any = None"]
    # `bool` is a type of tensors there.
    return re.sub(r"\bbool\b", "builtins.bool", f"{text}, {', '.join(own)}) -> Any: ...")


if __name__ == "__main__":
    FILE.write_text(stub())
