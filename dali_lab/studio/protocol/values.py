"""Building blocks of messages: the base class, JSON values, pictures and errors."""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

from msgspec import Meta, Struct

from dali_lab.model.errors import DaliLabError
from dali_lab.studio.errors import about, sentence

VERSION = 1
"""Version of the protocol."""
MOST_LEVELS = 64
"""Lists and objects in each other, in a message or a document."""

JsonObject: TypeAlias = dict[str, Any]
Value: TypeAlias = Annotated[
    bool | int | float | str | list[Any] | dict[str, Any] | None, Meta(extra={"typescript": "Value"})
]
"""A value of an argument: JSON, with an object of one key that begins with ``$`` for values that JSON lacks."""
EdgeRef: TypeAlias = Annotated[str, Meta(extra={"typescript": "EdgeRef"})]
"""``"node"`` for output 0, ``"node:k"`` for output k."""


class Wire(Struct, omit_defaults=True):
    """Base of all messages and their parts."""


class PictureRef(Wire):
    """A picture in one of the buffers that a message comes with."""

    buffer: int
    mime: str
    width: int
    height: int


class ProgramArgument(Wire):
    """An argument of a function that makes a pipeline; `default` is its text, absent where it is no plain value."""

    name: str
    required: bool
    default: str | None = None


class ProgramPipeline(Wire):
    """A pipeline that a program defines, as far as can be told without running it.

    Where `runs` is true, its graph is known only by running the program; `reason` says why.
    """

    name: str
    style: Annotated[str, Meta(extra={"typescript": "'function' | 'class' | 'context'"})]
    line: int
    summary: str
    arguments: list[ProgramArgument]
    runs: bool
    reason: str | None = None


class Permission(Wire):
    """A permission that a session can ask the person for.

    `name` is a folder, a server such as ``"s3://bucket"``, a package whose operators are in the document, or a Python
    object, ``"module:name"``.
    """

    what: Literal["folder", "server", "package", "function"]
    name: str


class Consent(Wire):
    """A question to the person: the text that is agreed to, and the number that agrees to exactly this text, once."""

    number: str
    text: str


class SessionError(Wire):
    """Why a request failed; a program that cannot be opened comes with its pipelines.

    Where the person may allow it, the question comes along, or the permission that the method ``allow`` asks for.
    """

    message: str
    node: str | None = None
    argument: str | None = None
    file: str | None = None
    line: str | int | None = None
    code: str | None = None
    detail: str | None = None
    pipelines: list[ProgramPipeline] | None = None
    consent: Consent | None = None
    permission: Permission | None = None

    @classmethod
    def of(cls, error: BaseException, code: str | None = None) -> SessionError:
        """The message for an exception."""
        if not isinstance(error, DaliLabError):
            return cls(sentence(str(error) or type(error).__name__), code=code)
        return cls(about(error.message, error.argument), error.node, error.argument, error.source, error.origin, code)


def too_deep(value: object) -> bool:
    """Whether more lists and objects are in each other than Python's functions for them can follow."""
    level = [value]
    for _ in range(MOST_LEVELS):
        inner = [each.values() if isinstance(each, dict) else each for each in level if isinstance(each, (dict, list))]
        level = [item for items in inner for item in items if isinstance(item, (dict, list))]
        if not level:
            return False
    return True


def within(value: int, low: int, high: int) -> int:
    """A number that a client asked for, clamped to a sensible range."""
    return max(low, min(high, value))


class NodeFailure(Wire):
    """The first error at a node."""

    message: str
    argument: str | None = None
    sample: int | None = None
    file: str | None = None
    line: str | int | None = None
