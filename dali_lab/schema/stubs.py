"""Writes generated files from the declarations: ``python -m dali_lab.schema.stubs``.

These are the type stubs of ``dali_lab.fn`` and ``dali_lab.ops``, and the index of operators, by which one is imported
without the others. Type checkers know operators by the stubs alone: those that a program registers are unknown to them.
"""

from __future__ import annotations

import keyword
import re
import textwrap
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from dali_lab.model.dtypes import NamedEnum
from dali_lab.schema.aliases import ALIASES
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
TYPES = """class _Array(Protocol):
    def __array__(self, *args: Any, **kwargs: Any) -> Any: ...

_Path: TypeAlias = str | PathLike[str]
"""
"""Types in stubs: anything that NumPy takes as an array, such as tensors of PyTorch, and paths."""

NODES = "_Nodes"
"""The type of a node, or of a list of nodes: which of them depends on the arguments."""

_HEADER = f'''"""Operators as functions; written by ``python -m dali_lab.schema.stubs``, not by hand."""

# mypy: disable-error-code="overload-overlap"
# Flags add outputs: the first signatures are for those that are written out, the last one for all others.

from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Protocol, TypeAlias, overload

from dali_lab.graph.recorder import DataNode
from dali_lab.schema.operator import Operator
from dali_lab.types import DALIDataType, DALIImageType, DALIInterpType, ScalarConstant
from typing_extensions import deprecated

{TYPES}_Data: TypeAlias = DataNode | ScalarConstant | float | list[Any] | tuple[Any, ...] | _Array

class {NODES}(DataNode, list[DataNode]):  # type: ignore[misc]
    """One node or a list of nodes: how many there are depends on the arguments."""

def make_function(operator: type[Operator]) -> Callable[..., Any]: ...

'''
_OPS_HEADER = f'''"""Operators as objects; written by ``python -m dali_lab.schema.stubs``, not by hand."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any, Generic, Protocol, TypeAlias, overload

from dali_lab.graph.recorder import DataNode
from dali_lab.schema.aliases import Alias
from dali_lab.schema.op_schema import OpSchema
from dali_lab.schema.operator import Operator
from dali_lab.types import DALIDataType, DALIImageType, DALIInterpType, ScalarConstant
from typing_extensions import TypeVar, deprecated

{TYPES}_Result = TypeVar("_Result", default=Any)

class {NODES}(DataNode, list[DataNode]):  # type: ignore[misc]
    """One node or a list of nodes: how many there are depends on the arguments."""

class OperatorObject(Generic[_Result]):
    @property
    def device(self) -> str: ...
    @property
    def preserve(self) -> bool: ...
    @property
    def schema(self) -> OpSchema: ...
    @overload
    def __call__(self, inputs: list[DataNode], /, *more: Any, **arguments: Any) -> list[Any]: ...
    @overload
    def __call__(self, *inputs: Any, **arguments: Any) -> _Result: ...

class Compose:
    def __init__(self, op_list: Sequence[Callable[..., Any]]) -> None: ...
    def __call__(self, *inputs: Any, **arguments: Any) -> Any: ...

def cpu_ops() -> set[str]: ...
def gpu_ops() -> set[str]: ...
def mixed_ops() -> set[str]: ...
def make_class(operator: type[Operator], alias: Alias | None = None) -> type[OperatorObject]: ...

'''
_PIPELINES_HEADER = '''"""Functions that make pipelines; written by ``python -m dali_lab.schema.stubs``, not by hand."""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, ParamSpec, overload

from dali_lab.executor.bad_samples import OnError
from dali_lab.executor.policies import OperatorConcurrency, StreamPolicy
from dali_lab.pipeline.pipeline import Pipeline

P = ParamSpec("P")

class PipelineFunction(Generic[P]):
    """Takes the arguments of the function that defines the graph, and with one of the pipeline's beside them any."""

    def __get__(self, instance: object, owner: object = None) -> Callable[..., Pipeline]: ...
    @overload
    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Pipeline: ...
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
    one = "_Path" if arg.widget in ("path", "folder") else _TYPES[arg.type]
    if one == "Any":
        return "Any"
    if arg.type == "string" and any(word == "true" for word, _ in arg.synonyms):
        one = "bool | str"
    parts = [one]
    if arg.vector:
        parts.append(f"Sequence[{one}]")
    if arg.tensor:
        parts += ["DataNode", "ScalarConstant"]
    if arg.vector or arg.tensor:
        parts.append("_Array")
    if arg.default is None:
        parts.append("None")
    return " | ".join(parts)


def default(arg: Arg) -> str:
    """The default value of an argument in a signature."""
    value: Any = arg.default
    if isinstance(value, NamedEnum):
        return f"{type(value).__name__}.{value.name}"
    return repr(value)


def _keywords(operator: type[Operator], *, required: bool, types: Mapping[str, str] = {}) -> Iterator[str]:
    """Its arguments as keyword parameters: those that must be given without a default where `required`."""
    inputs = {declared.name for declared in operator.inputs}
    for arg in operator.argument_table.values():
        if not arg.listed or arg.name in inputs or keyword.iskeyword(arg.name):
            continue
        if arg.default is REQUIRED:
            function = "Callable[..., Any]" if arg.name in operator.python_objects else ""
            kind = types.get(arg.name) or function or annotation(arg)
            yield f"{arg.name}: {kind}{'' if required else ' = ...'}"
        else:
            source = "Callable[..., Any] | Iterable[Any] | None"
            kind = types.get(arg.name) or (source if arg.name == "source" else annotation(arg))
            # A value other than the default has to be given for the signature with its type.
            differs = kind.startswith("Literal[") and kind != f"Literal[{arg.default!r}]"
            yield f"{arg.name}: {kind}{'' if differs else f' = {default(arg)}'}"


def results_of(operator: type[Operator]) -> list[tuple[str, dict[str, str]]]:
    """The types of the result, each with the types that some arguments must have for it; the last for all others."""
    bases = operator.__mro__[: operator.__mro__.index(Operator)]
    own = {name for base in bases for name in vars(base)}
    if number := operator.argument_table.get("num_outputs"):
        kind = "None" if number.default is None else f"Literal[{number.default}]"
        return [("DataNode", {"num_outputs": kind}), (NODES, {})]
    if "output_keys" in own:
        tables = {arg.name: annotation(arg).split(" | ")[0] for arg in operator.arguments}
        tables = {name: kind for name, kind in tables.items() if kind.startswith("Mapping[")}
        return [("dict[str, DataNode]", tables), (NODES, {})]
    if own & {"output_count", "count_outputs", "present_outputs"}:
        one = {output.each: "str" for output in operator.outputs if output.each}
        return [*([("DataNode", one)] if one else []), (NODES, {})]
    without = _nodes(sum(not output.when for output in operator.outputs))
    flags = {flag for output in operator.outputs for flag in output.when}
    if not flags:
        return [(without, {})]
    result = [(without, dict.fromkeys(flags, "Literal[False]")), (NODES, {})]
    if len(flags) == 1:
        result.insert(1, (_nodes(len(operator.outputs)), dict.fromkeys(flags, "Literal[True]")))
    return result


def _nodes(count: int) -> str:
    """So many nodes, in fact in a list; the length of a tuple is known to type checkers."""
    nodes = ["DataNode"] * count
    return nodes[0] if count == 1 else f"tuple[{', '.join(nodes) or '()'}]"


def function(name: str, operator: type[Operator]) -> list[tuple[str, str]]:
    """The signatures of an operator under `fn`, each with the type of its result."""
    return [(f"def {name}({', '.join(_signature(operator, types))})", result) for result, types in results_of(operator)]


def _signature(operator: type[Operator], types: Mapping[str, str]) -> Iterator[str]:
    """The parameters of an operator under `fn`; some arguments have the type in `types`."""
    variadic = bool(operator.inputs) and operator.inputs[-1].variadic
    for declared in operator.inputs:
        if declared.optional and declared.variadic:
            continue
        yield f"{declared.name}: _Data{' | None = None' if declared.optional else ''}"
    if any(not (declared.optional and declared.variadic) for declared in operator.inputs):
        yield "/"
    if variadic:
        yield "*more: _Data"
    keywords = [*_keywords(operator, required=True, types=types)]
    positional = keywords[: len(operator.positional_arguments)] if operator.fed else []
    yield from positional
    if not variadic:
        yield "*"
    yield from (text for text in keywords if text not in positional)
    yield "device: str | None = None"


def class_of(name: str, operator: type[Operator]) -> str:
    """The class of an operator under `ops`; what must be given may be given to its call as well."""
    first = operator.positional_arguments
    parameters = ["self", *(f"{given}: Any = None" for given in first), "*"]
    parameters += [text for text in _keywords(operator, required=False) if text.partition(":")[0] not in first]
    parameters.append("device: str | None = None")
    results = [result for result, _ in results_of(operator)]
    result = results[0] if len(results) == 1 else "Any" if "dict[str, DataNode]" in results else NODES
    return f"class {name}(OperatorObject[{result}]):\n    def __init__({', '.join(parameters)}) -> None: ..."


def _all_names(serialized: bool) -> Iterator[tuple[str, type[Operator], str | None]]:
    """Each name under `fn`, or under `ops`, with its operator, and what to write instead where it is an old name."""
    named = {
        name: operator.schema_name.replace("___", "__").replace("__", ".") if serialized else name
        for name, operator in all_operators().items()
        if not name.startswith("_")
    }
    for name, shown in named.items():
        yield shown, all_operators()[name], None
    for alias in ALIASES.values():
        shown = alias.schema_name.replace("___", "__").replace("__", ".") if serialized else alias.name
        yield shown, all_operators()[alias.successor], named[alias.successor] if alias.warns else None


def _declarations(serialized: bool) -> str:
    """The declarations of all names, those with dots in a class for each part before the last."""
    tree: dict[str, Any] = {}
    for shown, operator, successor in _all_names(serialized):
        *path, last = shown.split(".")
        if keyword.iskeyword(last):
            continue
        inner = tree
        for part in path:
            inner = inner.setdefault(part, {})
        signatures = [f"{text} -> {result}: ..." for text, result in function(last, operator)]
        texts = [class_of(last, operator)] if serialized else signatures
        decorators = [
            *(["@overload"] if len(texts) > 1 else []),
            *([f'@deprecated("use {successor}")'] if successor is not None else []),
            *(["@staticmethod"] if path and not serialized else []),
        ]
        inner.setdefault(last, "\n".join("\n".join([*decorators, text]) for text in texts))
    return lines(tree)


def lines(tree: dict[str, Any]) -> str:
    """Names of their own first, then namespaces by their names."""
    parts = [item for item in tree.values() if isinstance(item, str)]
    parts += [
        f"\nclass {name}:\n" + textwrap.indent(lines(item), "    ").rstrip()
        for name, item in sorted(tree.items())
        if isinstance(item, dict)
    ]
    return "\n".join(parts) + "\n"


def stub() -> str:
    """The stub file of `dali_lab.fn`."""
    return _HEADER + _declarations(serialized=False)


def ops_stub() -> str:
    """The stub file of `dali_lab.ops`."""
    return _OPS_HEADER + _declarations(serialized=True)


def index() -> str:
    """The index of built-in operators."""
    prefix = "dali_lab.operators."
    rows = [
        f'    "{name}": ("{operator.__module__.removeprefix(prefix)}", "{operator.schema_name}"),\n'
        for name, operator in all_operators().items()
        if operator.__module__.startswith(prefix)
    ]
    return f"{_INDEX_HEADER}BUILT_IN: dict[str, tuple[str, str]] = {{\n{''.join(rows)}}}\n"


def pipeline_functions() -> str:
    """The type of what ``pipeline_def`` makes.

    A parameter specification takes no keywords beside its own, so there is an overload for each of the pipeline's.
    """
    text = (Path(__file__).parents[1] / "pipeline" / "arguments.py").read_text()
    fields: list[str] = re.findall(r"^    (\w+: .+)$", text.partition("(TypedDict")[2], re.M)
    result = _PIPELINES_HEADER
    for field in [*fields, "debug: bool", "enable_conditionals: bool"]:
        others = "".join(f"{other} = ..., " for other in fields[:3] if other != field)
        result += (
            f"    @overload\n    def __call__(self, *args: Any, {field}, {others}**kwargs: Any) -> Pipeline: ...\n"
        )
    return result


FILES = {
    "fn.pyi": stub,
    "ops.pyi": ops_stub,
    "pipeline/functions.pyi": pipeline_functions,
    "schema/index.py": index,
}
"""The generated files by their paths in the package."""


def path(file: str) -> Path:
    """Path of one of `FILES`."""
    return Path(__file__).parent.parent / file


if __name__ == "__main__":
    for name, write in FILES.items():
        path(name).write_text(write())
