"""The envelopes of messages, and the messages by which an editor connects, reconnects and learns of capabilities."""

from __future__ import annotations

from typing import Any, Literal

from dali_lab.studio.protocol.documents import Document, FileInfo, Opened
from dali_lab.studio.protocol.values import JsonObject, SessionError, Wire


class Request(Wire):
    """Client to session; its id is the client's name, a dash and a number."""

    kind: Literal["request"]
    id: str | int
    method: str
    params: Any


class Response(Wire):
    """Session to client: the one answer to a request.

    `number` counts all messages over a connection from 0, those that could not be sent included.
    """

    kind: Literal["response"]
    id: str | int
    result: Any = None
    error: SessionError | None = None
    number: int | None = None


class SessionEvent(Wire):
    """Session to client, unsolicited."""

    kind: Literal["event"]
    event: str
    params: Any
    number: int | None = None


class Empty(Wire):
    """No parameters, or nothing to say."""


class Named(Wire):
    """A graph that can be opened by its name."""

    name: str
    title: str
    summary: str


class ExportFormat(Wire):
    """A form of export; file forms have no language."""

    to: str
    title: str
    summary: str
    language: str | None = None


class Capabilities(Wire):
    """Capabilities of a session; `cluster` is the address of a Ray cluster, empty for Ray on this machine."""

    preview: bool = False
    run: bool = False
    check: bool = False
    validate: bool = False
    sweep: bool = False
    compare: bool = False
    dataset: bool = False
    probe: bool = False
    open: bool = False
    save: bool = False
    list_files: bool = False
    trace: bool = False
    select: bool = False
    gallery_page: bool = False
    cluster: str | None = None
    samples: list[Named] | None = None
    gallery: list[Named] | None = None
    export: list[ExportFormat] | None = None
    export_files: list[ExportFormat] | None = None


class HelloRequest(Wire):
    """An editor greets; the last two on reconnecting."""

    protocol: int = 1
    client: str | None = None
    session: str | None = None
    revision: int | None = None


class Hello(Opened, kw_only=True):
    """The session greets; another `session` than before means that it began anew."""

    protocol: int
    session: str
    version: str
    read_only: bool
    device: str
    capabilities: Capabilities


class RestoreRequest(Wire):
    """The document that an editor kept while its session was gone."""

    document: Document
    file: JsonObject | None = None
    dirty: bool = True


class SelectRequest(Wire):
    """The selected nodes, for hosts that pass them on."""

    nodes: tuple[str, ...] = ()


class Waiting(Wire):
    """Requests of this client that were received and are not answered yet."""

    waiting: list[str]


class State(Wire):
    """The parts of the session's state that have changed."""

    dirty: bool | None = None
    title: str | None = None
    file: FileInfo | None = None
    read_only: bool | None = None
    device: str | None = None
    seed: int | None = None
    message: str | None = None


class Selected(Wire):
    """The host selects these nodes."""

    nodes: list[str]


class CatalogueChanged(Wire):
    """The catalogue changed: ask again."""


class Notice(Wire):
    """A notice for the user."""

    level: Literal["info", "warning", "error"]
    message: str
    detail: str | None = None
