"""Writes the declarations of messages as TypeScript: ``python -m dali_lab.studio.protocol.typescript``."""

from __future__ import annotations

import inspect
import sys
import types
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints, is_typeddict

import msgspec
from msgspec import Struct

from dali_lab.studio.protocol import (
    caches,
    catalogue,
    checks,
    connections,
    datasets,
    documents,
    gallery,
    previews,
    probes,
    values,
)
from dali_lab.studio.protocol.methods import EVENTS, METHODS

TARGET = Path(__file__).parents[3] / "extension" / "src" / "core" / "protocol.generated.ts"
_NAMES: dict[object, str] = {
    str: "string", int: "number", float: "number", bool: "boolean", type(None): "null", Any: "unknown",
}  # fmt: skip
# Enumerations that get a name of their own, and recursive types.
_HEAD = """\
// Made by `python -m dali_lab.studio.protocol.typescript` from dali_lab/studio/protocol/; edits here are lost.

export const PROTOCOL = {version};

export type Value = null | boolean | number | string | Value[] | {{ [key: string]: Value }};
/** `"node"` for output 0, `"node:k"` for output k. */
export type EdgeRef = string;
export type Overrides = Record<string, Record<string, Value>>;
export type Kind = 'image' | 'tensor' | 'encoded' | 'audio' | 'mask' | 'boxes' | 'any';
export type ArgumentType = 'float' | 'int' | 'bool' | 'string' | 'enum' | 'dtype' | 'layout' | 'any';
export type Widget =
  'number' | 'slider' | 'choice' | 'switch' | 'vector' | 'colour' | 'text' | 'path' | 'folder' | 'multiline';
"""
# Clients may send nulls, and the catalogue, which is sent as it is, has some.
_WITH_NULLS = {previews.Tap, gallery.Variant, *(method.params for method in METHODS.values())}
_WITH_NULLS |= {kind for kind in vars(catalogue).values() if inspect.isclass(kind)}


def text() -> str:
    """The content of the generated file."""
    parts = [_HEAD.format(version=values.VERSION)]
    for module in (values, documents, connections, previews, checks, caches, datasets, probes, catalogue, gallery):
        for name, kind in vars(module).items():
            own = inspect.isclass(kind) and kind.__module__ == module.__name__ and name != "Wire"
            if own and (issubclass(kind, Struct) or is_typeddict(kind)) and not name.startswith("_"):
                parts.append(_interface(kind))
    parts.append("/** Parameters and result of each method. */\nexport interface Methods {")
    for name, method in METHODS.items():
        parts[-1] += f"\n  {_key(name)}: {{ params: {method.params.__name__}; result: {method.result.__name__} }};"
    parts.append("}\n\n/** Parameters of each event. */\nexport interface Events {")
    for name, kind in EVENTS.items():
        parts[-1] += f"\n  {_key(name)}: {kind.__name__};"
    return "\n".join([*parts, "}", ""])


def _key(name: str) -> str:
    return f"'{name}'" if "." in name else name


def _interface(kind: type[Any]) -> str:
    """A structure; structures of documents allow unknown keys."""
    lines = [f"/** {_comment(kind)} */"]
    hints = get_type_hints(kind, include_extras=True)
    parameter = "<T>" if kind is documents.Entries else ""
    parent = next((base for base in kind.__bases__ if issubclass(base, values.Wire) and base is not values.Wire), None)
    inherited = get_type_hints(parent) if parent is not None else {}
    extends = f" extends {parent.__name__}{'<unknown>' if parent is documents.Entries else ''}" if parent else ""
    lines.append(f"export interface {kind.__name__}{parameter}{extends} {{")
    if is_typeddict(kind):
        for name, hint in hints.items():
            optional = "?" if name in kind.__optional_keys__ else ""
            lines.append(f"  {name}{optional}: {_type(hint)};")
        if kind not in (documents.Note, documents.Group):
            lines.append("  [unknown: string]: unknown;")
    else:
        for field in msgspec.structs.fields(kind):
            if field.name in inherited:
                continue
            hint = hints[field.name]
            if not field.required and kind not in _WITH_NULLS:
                hint = _without_none(hint)
            written = "Record<string, T>" if parameter and field.name == "set" else _type(hint)
            lines.append(f"  {field.encode_name}{'' if field.required else '?'}: {written};")
    if len(lines) == 2:
        lines[1:] = [f"export type {kind.__name__} = Record<string, never>;"]
    else:
        lines.append("}")
    return "\n".join([*lines, ""])


def _comment(kind: type[Any]) -> str:
    words = " ".join(inspect.cleandoc(kind.__doc__ or "").split())
    return words.replace("``", "`")


def _without_none(hint: object) -> Any:
    """The type of a field that is left out where it is `None`."""
    if get_origin(hint) in (Union, types.UnionType) and type(None) in get_args(hint):
        left = tuple(each for each in get_args(hint) if each is not type(None))
        return Union[left]  # noqa: UP007
    return hint


def _type(hint: Any) -> str:
    if hint in _NAMES:
        return _NAMES[hint]
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        named = next((each.extra["typescript"] for each in arguments[1:] if each.extra), None)
        return named or _type(arguments[0])
    if origin is Literal:
        return " | ".join(f"'{each}'" for each in arguments)
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(map(_type, arguments)))
    if origin is list:
        item = _type(arguments[0])
        return f"({item})[]" if " | " in item else f"{item}[]"
    if origin is tuple and arguments[1] is ...:
        return f"{_type(arguments[0])}[]"
    if origin is tuple:
        return f"[{', '.join(map(_type, arguments))}]"
    if origin is dict:
        return f"Record<{_type(arguments[0])}, {_type(arguments[1])}>"
    return str(hint.__name__)


def main() -> int:
    """Write the file; with ``--check`` only say whether it is current."""
    if "--check" in sys.argv:
        return 0 if TARGET.read_text("utf-8") == text() else 1
    TARGET.write_text(text(), "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
