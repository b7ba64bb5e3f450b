"""The reference of the operators: a page for each, and a list by family, from the declarations."""

from __future__ import annotations

import html
import inspect
import re
from collections.abc import Iterable
from pathlib import Path

from dali_lab.gallery import Entry, load_gallery
from dali_lab.model.documentation import page_name
from dali_lab.model.dtypes import NamedEnum
from dali_lab.schema.arguments import REQUIRED, Arg
from dali_lab.schema.everyday import other_names
from dali_lab.schema.families import FAMILIES, find_family
from dali_lab.schema.operator import Operator
from dali_lab.schema.ports import any_of
from dali_lab.schema.reference import argument_text, example
from dali_lab.schema.registry import all_operators
from generators.files import copy_file, remove_others, write_page

_LIBRARIES = {"torchvision": "torchvision", "albumentations": "albumentations", "keras": "Keras"}
_PLACEMENTS = {"cpu": "CPU", "gpu": "GPU", "mixed": "mixed (CPU to GPU)"}


_COST = re.compile(r"^\| \[`([\w.]+)`\]\(\S+\) \| ([^|]+ \| [^|]+) \|$", re.M)
"""A row of the table of costs."""


def write(docs: Path) -> None:
    """Write `reference/operators`: ``index.md`` and ``NAME.md`` with dots replaced by underscores."""
    folder = docs / "reference" / "operators"
    operators = {name: operator for name, operator in all_operators().items() if not operator.hidden}
    shown_by = _entries_by_operator()
    costs = dict(_COST.findall((docs / "reference" / "cost.md").read_text("utf-8")))
    written = {"index.md"}
    for name, operator in operators.items():
        path = folder / f"{page_name(name)}.md"
        write_page(path, _page(operator, shown_by.get(name, []), costs.get(name, ""), folder))
        written.add(path.name)
    write_page(folder / "index.md", _index(operators))
    remove_others(folder, written)


def _entries_by_operator() -> dict[str, list[Entry]]:
    """Entries of the gallery that show an operator, those with fewer nodes first."""
    found: dict[str, list[Entry]] = {}
    for entry in load_gallery():
        for op in {node.op for node in entry.graph.nodes.values()}:
            found.setdefault(op, []).append(entry)
    return {op: sorted(entries, key=lambda e: (len(e.graph.nodes), e.name)) for op, entries in found.items()}


def _index(operators: dict[str, type[Operator]]) -> str:
    lines = [
        "# Operators",
        "",
        f"All {len(operators)} operators, by family. Each is a function of `dali_lab.fn`, a node in the editor, and "
        "a class of `dali_lab.ops`. `dali-lab ops NAME` prints the same reference in the terminal.",
        "",
    ]
    for family in FAMILIES:
        members = [operator for operator in operators.values() if operator.family == family.name]
        if not members:
            continue
        lines += [
            f"## {family.title}",
            "",
            family.summary,
            "",
            ":::{list-table}",
            ":widths: 30 70",
            ":class: names",
            "",
        ]
        for operator in members:
            lines += [f"* - [`{operator.name}`]({page_name(operator.name)}.md)", f"  - {operator.summary()}"]
        lines += [":::", ""]
    names = "\n".join(page_name(name) for name in operators)
    return "\n".join(lines) + f"\n```{{toctree}}\n:hidden:\n\n{names}\n```\n"


def _page(operator: type[Operator], entries: list[Entry], cost: str, folder: Path) -> str:
    own, others = _prose(operator)
    sections = [
        f"# {operator.name}",
        own,
        _facts(operator),
        _cost(cost),
        _pictures(operator, entries, folder),
        others,
        "```python\n" + _signature(operator) + "\n```",
        _inputs(operator),
        _arguments(operator),
        _outputs(operator),
        "## Example\n\n```pycon\n" + (inspect.cleandoc(operator.example) or example(operator)) + "\n```",
        _same_as_dali(operator),
        _elsewhere(operator, entries),
    ]
    return "\n\n".join(section for section in sections if section) + "\n"


def _prose(operator: type[Operator]) -> tuple[str, str]:
    """The first paragraph of the docstring, and the others."""
    text = inspect.cleandoc(operator.__doc__ or "").replace("``", "`")
    if operator.deprecated:
        text += f"\n\n:::{{deprecated}} 0.1.0\n{operator.deprecated}\n:::"
    first, *rest = text.split("\n\n")
    return _without_roles(first), "\n\n".join(map(_paragraph, rest))


def _paragraph(text: str) -> str:
    return f"```pycon\n{text}\n```" if text.startswith(">>> ") else _without_roles(text)


def _without_roles(text: str) -> str:
    text = re.sub(r":\w+:`~?([^`<]+?)(?: <[^>]*>)?`", r"`\1`", text)
    return re.sub(r"(?<!`)\*(?=\w+`)", r"\\*", text)


def _facts(operator: type[Operator]) -> str:
    """Family, placement and layouts in one line."""
    facts = [f"**{find_family(operator.family).title}**", ", ".join(_PLACEMENTS[device] for device in operator.devices)]
    if operator.inputs and operator.inputs[0].layouts:
        layouts = ", ".join(f"`{layout}`" for layout in operator.inputs[0].layouts)
        facts.append(layouts + (" and sequences of these" if operator.frames else ""))
    if operator.random:
        facts.append("draws random numbers")
    return " · ".join(facts)


def _cost(row: str) -> str:
    """The cost, by its row in the table: the microseconds, and the inputs."""
    time, _, inputs = row.partition(" | ")
    return f"**[Cost](../cost.md)** {time} µs of a core for a sample (input: {inputs})" if row else ""


def _pictures(operator: type[Operator], entries: list[Entry], folder: Path) -> str:
    """Before and after, from the simplest entry of the gallery that has pictures of its own."""
    name = operator.name.rpartition(".")[2].replace("_", "-")

    def distance(entry: Entry) -> tuple[bool, bool, bool, int, str]:
        other = entry.name
        return other != name, not other.startswith(name), name not in other, len(entry.graph.nodes), other

    for entry in sorted(entries, key=distance)[:3]:
        before = next(iter(sorted(entry.folder.glob("before-*.jpg"))), None)
        after = next(iter(sorted(entry.folder.glob("after-*.jpg"))), None)
        if before is None or after is None or not _is_about(operator, entry):
            continue
        pictures = folder / "pictures"
        names = [f"{page_name(operator.name)}-{kind}.jpg" for kind in ("before", "after")]
        for source, name in zip((before, after), names, strict=True):
            copy_file(source, pictures / name)
        shown = "\n".join(
            f":::{{grid-item}}\n![{kind.partition(':')[0]}](pictures/{name})\n\n{kind}\n:::"
            for kind, name in zip(("Before", f"After: {_entry_link(entry)}"), names, strict=True)
        )
        return f"::::{{grid}} 2 2 2 2\n:gutter: 2\n:class-container: before-after\n\n{shown}\n::::"
    return ""


def _is_about(operator: type[Operator], entry: Entry) -> bool:
    """Whether an entry's pictures show this operator, and not one that every pipeline begins with."""
    return (
        not (operator.source or operator.makes_numbers)
        and (not operator.decodes or "decode" in entry.name)
        and len(entry.graph.nodes) <= 8
    )


def _signature(operator: type[Operator]) -> str:
    inputs = [f"*{one.name}" if one.variadic else one.name for one in operator.inputs]
    shown = [arg for arg in operator.argument_table.values() if arg.listed and not arg.advanced]
    needed = [f"{arg.name}" for arg in shown if arg.required]
    given = [f"{arg.name}={_default(arg)}" for arg in shown if not arg.required]
    parts = [
        *inputs,
        *(["*"] if (needed or given) and not any(o.variadic for o in operator.inputs) else []),
        *needed,
        *given,
    ]
    line = f"fn.{operator.name}({', '.join(parts)})"
    if len(line) <= 100:
        return line
    return f"fn.{operator.name}(\n" + "".join(f"    {part},\n" for part in parts) + ")"


def _default(arg: Arg) -> str:
    value = arg.default
    if isinstance(value, NamedEnum):
        return f"types.{value.name}"
    return repr(list(value)) if isinstance(value, tuple) else repr(value)


def _inputs(operator: type[Operator]) -> str:
    if not operator.inputs:
        return ""
    lines = ["## Inputs", ""]
    for one in operator.inputs:
        facts = []
        if one.layouts:
            facts.append(" or ".join(f"`{layout}`" for layout in one.layouts))
        if one.dtypes:
            facts.append(any_of(one.dtypes))
        if one.optional:
            facts.append("optional")
        if one.variadic:
            facts.append("any number of them")
        lines += [
            f"`{one.name}`" + (f" ({'; '.join(facts)})" if facts else ""),
            f": {_one_line(one.doc or 'A batch.')}",
            "",
        ]
    return "\n".join(lines)


def _arguments(operator: type[Operator]) -> str:
    listed = [arg for arg in operator.argument_table.values() if arg.listed]
    usual = sorted((arg for arg in listed if not arg.advanced), key=lambda arg: not (arg.important or arg.required))
    sections = []
    for title, some in (("## Arguments", usual), ("### Seldom needed", [arg for arg in listed if arg.advanced])):
        if some:
            sections.append("\n".join([title, "", *(line for arg in some for line in _argument(arg))]))
    return "\n\n".join(sections)


def _argument(arg: Arg) -> Iterable[str]:
    kind = arg.describe_type() + (" or a node" if arg.tensor else "")
    default = (
        "required" if arg.default is REQUIRED else "optional" if arg.default is None else f"default `{_default(arg)}`"
    )
    yield f"`{arg.name}` ({kind}; {default})"
    yield f": {_one_line(argument_text(arg)) or '—'}"
    yield ""


def _outputs(operator: type[Operator]) -> str:
    if not operator.outputs:
        return ""
    lines = ["## Outputs", ""]
    for one in operator.outputs:
        when = f" (if `{'` or `'.join(one.when)}` asks for it)" if one.when else ""
        lines += [f"`{one.name}`{when}", f": {_one_line(one.doc or 'A batch.')}", ""]
    return "\n".join(lines)


def _same_as_dali(operator: type[Operator]) -> str:
    """Equality with NVIDIA DALI, as the cases of the operator state it."""
    if operator.beyond_dali:
        return (
            "## Beside NVIDIA DALI\n\nNVIDIA DALI has no such operator: graphs with it run here, and have no "
            "serialized form for NVIDIA DALI."
        )
    cases = list(operator.cases())
    lines = ["## Beside NVIDIA DALI", ""]
    if cases:
        loosest = max(cases, key=lambda case: (case.tolerance, case.fraction))
        if loosest.tolerance == 0 and loosest.fraction == 0:
            lines.append(f"Equal to the bit to NVIDIA DALI 2.4 on the CPU, in {_count(len(cases))}.")
        else:
            exact = sum(case.tolerance == 0 and case.fraction == 0 for case in cases)
            equal = f", of which {exact} must be equal to the bit" if exact else ""
            lines.append(
                f"Compared with NVIDIA DALI 2.4 on the CPU in {_count(len(cases))}{equal}. "
                f"The largest difference allowed is {loosest.tolerance:g}: {_sentence_end(_one_line(loosest.reason))}"
            )
    elif operator.tested_elsewhere:
        lines.append(f"Compared with NVIDIA DALI 2.4 by tests of its own ({_one_line(operator.tested_elsewhere)}).")
    if operator.differs:
        lines += ["", _one_line(operator.differs)]
    there = operator.name_in_nvidia_dali()
    lines += ["", f"In NVIDIA DALI: {_linked(f'`{there}`', _nvidia_page(operator))}"]
    return "\n".join(lines)


def _nvidia_page(operator: type[Operator]) -> str:
    """The address of NVIDIA's page about an operator; empty for those of plugins."""
    docs = "https://docs.nvidia.com/deeplearning/dali/user-guide/docs"
    if operator.name.startswith("math."):
        return f"{docs}/math.html"
    return "" if operator.nvidia_name else f"{docs}/operations/{operator.name_in_nvidia_dali()}.html"


def _linked(text: str, address: str) -> str:
    return f"[{text}]({address})" if address else text


def _entry_link(entry: Entry) -> str:
    return f'<a href="../../gallery/entries/{html.escape(entry.name)}.html">{html.escape(entry.title)}</a>'


def _sentence_end(text: str) -> str:
    return text if text.endswith(".") else f"{text}."


def _count(number: int) -> str:
    return "one case" if number == 1 else f"{number} cases"


def _elsewhere(operator: type[Operator], entries: list[Entry]) -> str:
    lines = []
    for library, title in _LIBRARIES.items():
        names = other_names("operators", operator.name, library)
        if names:
            lines.append(f"- {title}: {', '.join(f'`{name}`' for name in names)}")
    if entries:
        links = ", ".join(map(_entry_link, entries[:6]))
        lines.append(f"- In the gallery: {links}")
    return "## See also\n\n" + "\n".join(lines) if lines else ""


def _one_line(text: str) -> str:
    return _without_roles(" ".join(text.replace("``", "`").split()))
