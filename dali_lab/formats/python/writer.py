"""A graph as a Python program that reads as a person would write it, for DALI Lab or for NVIDIA DALI."""

from __future__ import annotations

import ast
import inspect
import keyword
import re
import textwrap
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal

from dali_lab.formats.exported import BEYOND_DALI, CACHING, exported, refuse, without_caches
from dali_lab.formats.python.conditionals import Conditions, conditions, is_conditional
from dali_lab.formats.python.expressions import is_expression
from dali_lab.formats.python.layout import Imports, call, columns, free, lines, listing, quoted, value_piece
from dali_lab.formats.python.statements import Statements
from dali_lab.graph.difference import difference
from dali_lab.graph.graph import Graph
from dali_lab.graph.naming import is_reserved, node_name
from dali_lab.model.errors import FormatError, GraphError
from dali_lab.model.references import PythonReference, is_function, reference_to
from dali_lab.model.short_text import printable
from dali_lab.schema.operator import Operator
from dali_lab.schema.registry import find_operator

Dialect = Literal["dali_lab", "nvidia.dali"]
Main = Literal["run", "pytorch", "ray", "none"]
DIALECTS: tuple[Dialect, ...] = ("dali_lab", "nvidia.dali")
_WIDTH = 88
_MOST_ATTEMPTS = 4
_OFFERED = ("fn", "math", "pipeline_def", "subgraph", "tfrecord", "types")
"""Names of the package that programs import."""
_USED = {"main", "DALIGenericIterator", "LastBatchPolicy", "np", *_OFFERED}


def dumps(
    graph: Graph,
    dialect: Dialect = "dali_lab",
    *,
    name: str = "pipeline",
    main: Main = "run",
    batches: int = 3,
    here: bool = False,
) -> str:
    """The program for a graph.

    Parameters
    ----------
    dialect
        The package that it imports.
    name
        Name of the function that defines the pipeline.
    main
        Main function of the program: ``"run"`` a few batches, ``"pytorch"``: iterate over them as tensors of
        PyTorch, ``"ray"``: the same with batches that a Ray cluster computes, or ``"none"``.
    batches
        Number of batches that it runs.
    here
        Whether paths that begin with ``./`` start at the folder of the program.

    Raises
    ------
    FormatError
        If the graph is unfinished, or has operators that NVIDIA DALI does not have; the message lists them.
    """
    if dialect not in DIALECTS:
        raise FormatError(f"{dialect!r} is not one of {', '.join(map(repr, DIALECTS))}")
    if main not in ("run", "pytorch", "ray", "none"):
        raise FormatError(f"{main!r} is not one of 'run', 'pytorch', 'ray', 'none'")
    graph = exported(graph)
    if dialect == "nvidia.dali":
        graph = without_caches(graph)
        refuse(graph, _beyond_dali, "NVIDIA DALI")
        _refuse_groups(graph)
    function = name if name.isidentifier() and not keyword.iskeyword(name) and not is_reserved(name) else "pipeline"
    written = _with_functions(graph, function, here) if dialect == "dali_lab" else None
    statements = _statements(graph, dialect, function, here) if written is None else written[1]
    imports = statements.imports
    body = statements.lines()
    definition = [
        *lines("@", call("pipeline_def", _settings(graph, dialect, statements))),
        f"def {function}():",
        *_docstring(graph, statements.output_names()),
        *body,
        *statements.returned(),
    ]
    parts = ["\n".join(statements.parameters.lines()), "\n".join(definition)]
    if main != "none":
        parts.append("\n".join(_main(graph, function, statements, main, batches)))
        parts.append('if __name__ == "__main__":\n    main()')
    constants, *parts = parts
    functions = [] if written is None else written[0]
    parts = [_stub(stub, text) for stub, text in imports.stubs.items()] + functions + parts
    code = "\n\n\n".join([constants, *parts])
    return "\n".join(_header(code, dialect, imports, main)) + "\n\n" + code + "\n"


def _with_functions(graph: Graph, function: str, here: bool) -> tuple[list[str], Statements] | None:
    """The sub-graphs of the graph's file as functions, and the statements that call them; `None` for a plain program.

    They are only used if reading the program gives the same graph, with the same names.
    """
    from dali_lab.formats.python.functions import functions
    from dali_lab.formats.python.reader import read

    try:
        found = functions(graph, Imports(taken={function, *_USED}), here)
        if found is None:
            return None
        texts, body = ["\n".join(each.text) for each in found[0]], found[1]
        head = [text for name, text in _placeholders(body.imports)]
        program = [f"from dali_lab import {', '.join(_OFFERED)}", "import numpy as np", *head, *texts]
        program += ["import os", *body.parameters.lines()]
        program += ["@pipeline_def(batch_size=1)", "def pipeline():", *(body.lines() or ["    pass"]), *body.returned()]
        back = read("\n".join(program), "pipeline")
    except (FormatError, GraphError):
        return None
    return None if any(each.kind != "setting" for each in difference(_with_references(graph), back)) else (texts, body)


def _statements(graph: Graph, dialect: Dialect, function: str, here: bool) -> Statements:
    """The body of the function; conditions are written as ``if`` where that says just the same."""

    def written(found: Conditions, named: Collection[str] = ()) -> Statements:
        imports = Imports(taken={function, *_USED})
        exact = dialect == "dali_lab"
        return Statements(graph, imports, exact=exact, conditions=found, named=named, here=here)

    plain = Conditions(graph, tuple(graph.order()), structured=False)
    found = conditions(graph)
    if found is None:
        return written(plain)
    named: set[str] = set()
    for _ in range(_MOST_ATTEMPTS):
        statements = written(found, named)
        wrong = _misnamed(graph, statements, exact=dialect == "dali_lab")
        if wrong is None:
            break
        if not wrong - named:
            return statements
        named |= wrong
    return written(plain)


def _misnamed(graph: Graph, statements: Statements, *, exact: bool) -> set[str] | None:
    """Nodes that have other names in the graph that the statements give, or `None` if that is another graph."""
    from dali_lab.formats.python.reader import read

    body = [*statements.lines(), *statements.returned()]
    if any(columns(line) > _WIDTH and re.match(r"\s*(if|elif|\w+ =) .* (and|or|not) ", line) for line in body):
        # Formatters would break these lines in a way that is not known here.
        return None
    head = [text for name, text in _placeholders(statements.imports)]
    program = [f"from dali_lab import {', '.join(_OFFERED)}", "import numpy as np", *head]
    program += ["import os", *statements.parameters.lines()]
    program += ["@pipeline_def(batch_size=1, enable_conditionals=True)", "def pipeline():", *(body or ["    pass"])]
    try:
        back = read("\n".join(program), "pipeline")
    except FormatError:
        return None
    changes = difference(_with_references(graph), back)
    if any(change.kind not in ("renamed", "setting") for change in changes):
        return None
    renamed = [change.before for change in changes if change.kind == "renamed"]
    kept = {name for name in renamed if not is_conditional(graph.nodes[name])}
    return kept if exact else {name for name in kept if not is_expression(graph.nodes[name])}


def _placeholders(imports: Imports) -> list[tuple[str, str]]:
    """Imports of the Python objects that statements name, as lines."""
    objects = [(v, f"from {module} import {name} as {v}") for v, (module, name) in imports.objects.items()]
    return [*objects, *((name, f"def {name}(): pass") for name in imports.stubs)]


def _with_references(graph: Graph) -> Graph:
    """The graph with Python objects as the names that they are imported by."""

    def named(value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return tuple(map(named, value))
        plain = isinstance(value, (PythonReference, type(None), type)) or not is_function(value)
        reference = value if isinstance(value, PythonReference) else None if plain else reference_to(value)
        if reference is None:
            return value
        return reference if reference.importable and reference.name is not None else PythonReference(None)

    nodes = {
        name: node.replaced(arguments={key: named(value) for key, value in node.arguments.items()})
        for name, node in graph.nodes.items()
    }
    return graph.replaced(nodes=nodes)


def _beyond_dali(operator: type[Operator]) -> str:
    return "an operator of DALI Lab alone" if operator.beyond_dali else ""


def _refuse_groups(graph: Graph) -> None:
    members = [name for name, node in graph.nodes.items() if node.arguments.get("_group") is not None]
    if members:
        raise FormatError(
            f"{', '.join(members)}: made by one call on lists of inputs, which programs for NVIDIA DALI are not written"
            " with here; give each a seed"
        )


def _header(code: str, dialect: Dialect, imports: Imports, main: Main) -> list[str]:
    used = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    names = [name for name in _OFFERED if name in used]
    result = ["import os", ""] if "os" in used else []
    result += ["import numpy as np"] if "np" in used else []
    entries = {f"from {dialect} import {', '.join(names)}"}
    if main == "pytorch":
        if dialect == "dali_lab":
            offered: tuple[str, ...] = ("DALIGenericIterator", "LastBatchPolicy")
            wanted = [name for name in offered if name in used]
            entries.add(f"from dali_lab.plugin.pytorch import {', '.join(wanted)}")
        else:
            entries.add("from nvidia.dali.plugin.pytorch import DALIGenericIterator")
            if "LastBatchPolicy" in used:
                entries.add("from nvidia.dali.plugin.base_iterator import LastBatchPolicy")
    if main == "ray":
        entries.add("from dali_lab.plugin.ray import connect, dataset, iterator")
    modules: dict[str, list[str]] = {}
    for variable, (module, name) in sorted(imports.objects.items()):
        modules.setdefault(module, []).append(name if variable == name else f"{name} as {variable}")
    for module, wanted in modules.items():
        entries.add("\n".join(_import(module, wanted)))
    return [*result, *sorted(entries)]


def _import(module: str, names: Sequence[str]) -> list[str]:
    whole = f"from {module} import {', '.join(names)}"
    return [whole] if len(whole) <= _WIDTH else [f"from {module} import (", *(f"    {name}," for name in names), ")"]


def _settings(graph: Graph, dialect: Dialect, statements: Statements) -> list[tuple[str, Any]]:
    imports = statements.imports
    settings: dict[str, Any] = {"batch_size": 1, "num_threads": 2, **graph.pipeline}
    if dialect == "nvidia.dali":
        on_gpu = any(node.device != "cpu" for node in graph.nodes.values()) or any(
            e.device == "gpu" for e in graph.outputs
        )
        settings.setdefault("device_id", 0 if on_gpu else None)
    elif settings.get("device_id") is None:
        settings.pop("device_id", None)
    if settings.get("prefetch_queue_depth") == 2:
        del settings["prefetch_queue_depth"]
    settings.setdefault("seed", None)
    first = [key for key in ("batch_size", "num_threads", "device_id", "seed") if key in settings]
    order = first + [key for key in settings if key not in first]
    dali_has = set(_dali_settings())
    conditionals = [("enable_conditionals=", "True")] if statements.conditions.structured else []
    constants = {"batch_size": "BATCH_SIZE", "seed": "SEED"}
    return [
        (f"{key}=", constants.get(key) or value_piece(settings[key], imports, key))
        for key in order
        if (settings[key] is not None or key == "seed" or (key == "device_id" and dialect == "nvidia.dali"))
        and (key in dali_has or (dialect == "dali_lab" and key in _OWN_SETTINGS))
    ] + conditionals


_OWN_SETTINGS = ("gpu", "optimize", *BEYOND_DALI, *CACHING)


def settings_without_place(graph: Graph) -> list[str]:
    """Settings of a graph that no argument of a pipeline takes, such as flags of NVIDIA DALI's executor."""
    taken = {*_dali_settings(), *_OWN_SETTINGS}
    return [key for key, value in graph.pipeline.items() if value is not None and key not in taken]


def _dali_settings() -> Sequence[str]:
    from dali_lab.pipeline.pipeline import Pipeline

    return [key for key in inspect.signature(Pipeline.__init__).parameters if key not in ("self", *_OWN_SETTINGS)]


def _docstring(graph: Graph, outputs: Sequence[str]) -> list[str]:
    outputs = [node_name((name,)) for name in outputs]
    named = " and ".join(filter(None, [", ".join(outputs[:-1]), outputs[-1]])) if outputs else "nothing"
    sentence = f"Yield batches of {named}."
    texts = [sentence if len(sentence) <= _WIDTH - 10 else f"Yield batches of {len(outputs)} outputs."]
    notes = graph.view.get("notes")
    for note in notes if isinstance(notes, (list, tuple)) else ():
        text = note.get("text") if isinstance(note, Mapping) else None
        if isinstance(text, str) and text.strip():
            texts += [part for part in text.splitlines() if part.strip()]
    if len(texts) == 1:
        return [f'    """{texts[0]}"""']
    paragraphs = ["\n".join(textwrap.wrap(_plain(text), _WIDTH - 4)) for text in texts]
    inner = textwrap.indent("\n\n".join(filter(None, paragraphs)), "    ")
    return [f'    """{inner.lstrip()}', '    """']


def _plain(text: str) -> str:
    """Text that can stand in a docstring as it is."""
    return printable(text, 10_000).replace("\\", "/").replace('"""', "'''").strip()


def _stub(name: str, text: str) -> str:
    was = re.sub(r'["\\]', "'", printable(text, 60))
    return "\n".join(
        [
            f"def {name}():",
            f'    """Stands for {was}, which no name leads to."""'
            if was
            else '    """Stands for a Python function."""',
            *lines("raise ", call("NotImplementedError", [("", quoted(f"write {name}"))]), indent=4),
        ]
    )


def _main(graph: Graph, function: str, statements: Statements, main: Main, batches: int) -> list[str]:
    taken = {"pipe", "batch", "batches", "epoch", "function", "range", "print", "zip", function}
    if main == "ray":
        taken |= {"connect", "dataset", "iterator"}
    names = [free(name, taken) for name in statements.output_names()]
    fed = [
        name
        for name, node in graph.nodes.items()
        if find_operator(node.op).fed and node.arguments.get("source") is None
    ]
    start = ["def main():", "", f"    pipe = {function}()"]
    for name in fed:
        start.append(f"    # Before each run: pipe.feed_input({quoted(printable(name, 40))}, batch)")
    if main == "pytorch":
        start[1] = '    """Iterate over batches as PyTorch tensors."""'
        return start + _pytorch_loop(graph, names, batches)
    if main == "ray":
        start[1] = '    """Iterate over batches that a Ray cluster computes (RAY_ADDRESS), or else this machine."""'
        return start + _ray_loop(graph, names, batches)
    start[1] = f'    """Run {batches} batches and print the shapes in them."""'
    start.append(f"    for batch in range({batches}):")
    if not names:
        return [*start, "        pipe.run()"]
    left = f"({names[0]},)" if len(names) == 1 else ", ".join(names)
    if len(left) > _WIDTH - 24:
        left, names = "outputs", [f"outputs[{index}]" for index in range(len(names))]
    start.append(f"        {left} = pipe.run()")
    for name, label in zip(names, statements.output_names(), strict=True):
        items = [("", "batch"), ("", quoted(node_name((label,)))), ("", f"{name}.shape()")]
        start += lines("", call("print", items), indent=8)
    return start


def _readers(graph: Graph) -> list[str]:
    sources = ((name, find_operator(node.op)) for name, node in graph.nodes.items())
    return [name for name, operator in sources if operator.source and not operator.fed]


def _ray_loop(graph: Graph, names: Sequence[str], batches: int) -> list[str]:
    readers = _readers(graph)
    items: list[tuple[str, Any]] = [("", "pipe"), ("columns=", listing(quoted(name) for name in names))]
    items.append(("reader_name=", quoted(readers[0])) if readers else ("batches=", str(batches)))
    result = ["    connect()", *lines("batches = ", call("dataset", items), indent=4)]
    result += ["    batches = iterator(batches)", "    for epoch in range(2):", "        for batch in batches:"]
    for name in names:
        result.append(f"            {name} = batch[{quoted(name)}]")
        result += lines("", call("print", [("", "epoch"), ("", quoted(name)), ("", f"len({name})")]), indent=12)
    return result


def _pytorch_loop(graph: Graph, names: Sequence[str], batches: int) -> list[str]:
    readers = _readers(graph)
    items: list[tuple[str, Any]] = [("", "[pipe]"), ("", listing(quoted(name) for name in names))]
    if readers:
        items += [("reader_name=", quoted(readers[0])), ("last_batch_policy=", "LastBatchPolicy.PARTIAL")]
        items.append(("auto_reset=", "True"))
        loop = ["    for epoch in range(2):", "        for batch in batches:"]
        indent = 12
    else:
        loop = [f"    for _, batch in zip(range({batches}), batches):"]
        indent = 8
    result = [*lines("batches = ", call("DALIGenericIterator", items), indent=4), *loop]
    for name in names:
        result.append(f"{' ' * indent}{name} = batch[0][{quoted(name)}]")
    for name in names:
        shown = ("", "epoch") if readers else None
        pieces = [*([shown] if shown else []), ("", quoted(name)), ("", f"tuple({name}.shape)")]
        result += lines("", call("print", pieces), indent=indent)
    return result
