"""The catalogue of operators; `studio/catalogue.py` makes it from their declarations."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from msgspec import Meta, field

from dali_lab.studio.protocol.values import Value, Wire

Kind: TypeAlias = Annotated[str, Meta(extra={"typescript": "Kind"})]


class Family(Wire):
    """A family of operators, with its colour and icon."""

    name: str
    title: str
    color: str | None = None
    icon: str | None = None
    summary: str = ""


class InputDeclaration(Wire):
    """An input of an operator; without layouts or dtypes it takes all."""

    name: str
    kind: Kind
    doc: str = ""
    layouts: list[str] | None = None
    dtypes: list[str] | None = None
    optional: bool = False
    variadic: bool = False


class OutputDeclaration(Wire):
    """An output of an operator.

    It is there only where one of the arguments in `when` is true; it stands for several, one for each name that the
    argument `each` lists. Without a layout or dtype it has those of the input; ``any`` is the kind of input 0.
    """

    name: str
    kind: Kind
    layout: str | None = None
    dtype: str | None = None
    doc: str = ""
    when: list[str] | None = None
    each: str | None = None


class ArgumentDeclaration(Wire, rename={"vector": "list"}):
    """An argument of an operator."""

    name: str
    type: Annotated[str, Meta(extra={"typescript": "ArgumentType"})]
    vector: bool = False
    length: int | None = None
    default: Value = None
    required: bool = False
    tensor: bool = False
    per_frame: bool = False
    doc: str = ""
    unit: str | None = None
    minimum: float | None = None
    maximum: float | None = None
    exclusive_minimum: bool = False
    soft_minimum: float | None = None
    soft_maximum: float | None = None
    step: float | None = None
    choices: list[str] | None = None
    widget: Annotated[str | None, Meta(extra={"typescript": "Widget"})] = None
    important: bool = False
    advanced: bool = False


class Operator(Wire):
    """An operator.

    Each of `alternatives` lists groups of arguments of which at most one is given. `terms` are other names that a
    search finds it by, `start` has the arguments of a new node, `nvidia` is its name in NVIDIA DALI: null where NVIDIA
    DALI lacks it, and absent for sub-graphs. One that is `added` comes from a notebook or another package. `page` is
    the address of its documentation: null where the host serves none, and absent for operators that have none.
    """

    name: str
    family: str
    title: str
    summary: str
    devices: list[Literal["cpu", "gpu", "mixed"]]
    inputs: list[InputDeclaration]
    outputs: list[OutputDeclaration]
    arguments: list[ArgumentDeclaration]
    alternatives: list[list[list[str]]] = field(default_factory=list)
    start: dict[str, Value] = field(default_factory=dict)
    terms: list[str] = field(default_factory=list)
    added: bool = False
    doc: str = ""
    random: bool = False
    deprecated: str | None = None
    differs: str | None = None
    nvidia: str | None = ""
    example: str | None = None
    page: str | None = ""


class CatalogueData(Wire):
    """All operators and their families; `common` names the operators that most pipelines are made of."""

    families: list[Family]
    operators: list[Operator]
    common: list[str] = field(default_factory=list)
