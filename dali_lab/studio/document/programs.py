"""Python programs in the editor: their pipelines listed without running anything, and one traced after consent."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from pathlib import Path

from dali_lab.formats.disk import read_below
from dali_lab.formats.json import graph_file as json_file
from dali_lab.formats.pictures.folding import with_groups
from dali_lab.formats.python import programs
from dali_lab.formats.python.reader import read
from dali_lab.formats.python.tracing import DEFAULT_TIMEOUT, line_of, trace_text
from dali_lab.model.errors import DaliLabError, FormatError
from dali_lab.studio.consent import Consents, digest
from dali_lab.studio.document.graph_document import checked
from dali_lab.studio.errors import DocumentError, sentence
from dali_lab.studio.preview.results import Token
from dali_lab.studio.protocol.documents import Document, ProgramListing, TraceRequest
from dali_lab.studio.protocol.values import Consent, ProgramArgument, ProgramPipeline

MOST_SECONDS = 600.0


@dataclass(frozen=True)
class Program:
    """The text of a program, and the file that it came from, if any."""

    text: str
    name: str = ""
    path: Path | None = None

    @classmethod
    def of_file(cls, path: Path, root: Path) -> Program:
        """A program in a file in the folder `root`; no link is followed on the way from there.

        Raises
        ------
        DocumentError
            With the code ``not_found`` or ``unreadable``.
        """
        if not path.exists():
            raise DocumentError(f"There is no file {path}.", "not_found")
        try:
            return cls(programs.decoded(read_below(root, path)), path.name, path)
        except FormatError as error:
            raise DocumentError(sentence(f"{path.name}: {error.message}"), "unreadable") from error

    @property
    def digest(self) -> bytes:
        """A digest of the text and its place, which decides which modules it imports."""
        return digest("program", str(self.path or ""), self.text)


class Cancellation(Token):
    """Stops a process that traces a program."""

    def __init__(self) -> None:
        super().__init__()
        self.event = threading.Event()

    def cancel(self, reason: str = "cancelled") -> None:
        """End the process."""
        super().cancel(reason)
        self.event.set()


def listed(program: Program) -> ProgramListing:
    """The pipelines in a program; nothing is run.

    Raises
    ------
    DocumentError
        With the code ``unreadable``.
    """
    try:
        found = programs.pipelines(program.text)
    except FormatError as error:
        raise DocumentError(sentence(error.message), "unreadable") from error
    path = None if program.path is None else str(program.path)
    return ProgramListing(program.name, path, [_described(program, entry) for entry in found])


def _described(program: Program, found: programs.Found) -> ProgramPipeline:
    arguments = [ProgramArgument(name, True) for name in found.arguments]
    arguments += [ProgramArgument(name, False, default) for name, default in found.optional]
    reason = None
    try:
        read(program.text, found.name, file=program.path or "")
    except DaliLabError as error:
        reason = error.message
    return ProgramPipeline(
        found.name, found.style, found.line, found.summary, arguments, runs=reason is not None, reason=reason
    )


def opened(program: Program, pipeline: str | None) -> Document:
    """The document of a pipeline that can be read without running the program.

    Raises
    ------
    DocumentError
        With the code ``choose`` or ``needs_running``, and the list of pipelines beside it; or ``unreadable``.
    """
    pipelines = listed(program).pipelines
    if not pipelines:
        raise DocumentError("There is no pipeline in this program.", "unreadable")
    if pipeline is None and len(pipelines) > 1:
        names = ", ".join(entry.name for entry in pipelines)
        raise DocumentError(f"There are several pipelines in this program: {names}.", "choose", pipelines=pipelines)
    name = pipelines[0].name if pipeline is None else pipeline
    entry = next((entry for entry in pipelines if entry.name == name), None)
    if entry is None:
        raise DocumentError(f"There is no pipeline '{name}' in this program.", "not_found", pipelines=pipelines)
    if entry.runs:
        raise DocumentError(
            f"This program must be run to know its graph ({entry.reason}).", "needs_running", pipelines=pipelines
        )
    return checked(json_file.to_document(with_groups(read(program.text, name, file=program.path or ""))))


def require_consent(program: Program, consents: Consents, number: object) -> None:
    """Use up the number by which the person agreed to run a program.

    Raises
    ------
    DocumentError
        With the code ``consent``, the program's text and a new number, if there was no such number for this text; with
        ``failed`` if there is no pipeline in it: the question must not show the text of just any file.
    """
    try:
        found = programs.pipelines(program.text)
    except FormatError as error:
        raise _failed(error) from error
    if not found:
        raise DocumentError("There is no pipeline in this program.")
    reason: str | None = "nobody has agreed to that yet"
    if number is not None:
        reason = consents.use(number, program.digest, str(program.path or program.name or "a pasted program"))
    if reason is not None:
        raise DocumentError(
            f"The program was not run: {reason}.",
            "consent",
            consent=Consent(consents.ask(program.digest), program.text),
        )


def traced(program: Program, params: TraceRequest, token: Cancellation) -> Document:
    """The document of a pipeline that was traced in a process of its own; only after :func:`require_consent`.

    Raises
    ------
    DocumentError
        With the code ``cancelled`` or ``failed``.
    """
    try:
        graph = trace_text(
            program.text,
            params.pipeline,
            path=program.path,
            arguments=params.arguments or {},
            timeout=_seconds(params.timeout),
            cancel=token.event,
        )
    except FormatError as error:
        if token.reason is not None:
            raise DocumentError("Stopped.", "cancelled") from error
        raise _failed(error) from error
    return checked(json_file.to_document(with_groups(graph)))


def _failed(error: FormatError) -> DocumentError:
    message, _, detail = error.message.partition("\n")
    line, found = line_of(message)
    return DocumentError(sentence(found), detail=detail or None, line=line or None)


def _seconds(value: float | None) -> float:
    if value is None:
        return DEFAULT_TIMEOUT
    if not 0 < value <= MOST_SECONDS:
        raise DocumentError(f"The time limit is a number of seconds up to {MOST_SECONDS:g}.")
    return value
