"""Findings of a check, and their kinds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Severity = Literal["error", "warning"]


class Kind(NamedTuple):
    """A kind of finding: how grave it is, and its heading."""

    severity: Severity
    title: str


KINDS: dict[str, Kind] = {
    "unreadable": Kind("error", "Cannot be read"),
    "missing_file": Kind("error", "Label without a file"),
    "damaged": Kind("error", "Damaged"),
    "refused": Kind("error", "Refused by the pipeline"),
    "two_labels": Kind("error", "Same content, other label"),
    "duplicate": Kind("warning", "Same content as another sample"),
    "type": Kind("warning", "Of another type"),
    "size": Kind("warning", "Unusually large or small"),
    "shape": Kind("warning", "Extreme shape"),
    "without_label": Kind("warning", "File without a label"),
    "without_file": Kind("warning", "Label without files"),
}
"""Kinds of findings in the order of reports; errors end a run, or spoil what is learnt from it."""


@dataclass(frozen=True)
class Finding:
    """A problem of a sample, or of the dataset.

    Attributes
    ----------
    kind
        One of :data:`KINDS`.
    reader
        Node of the reader.
    message
        A sentence.
    place
        Place of the sample in the reader's list, read in line; `None` if it is not about one sample.
    sample
        The name of the sample, or of a file, by which an exclude list leaves it out.
    node
        The node that failed.
    """

    kind: str
    reader: str
    message: str
    place: int | None = None
    sample: str | None = None
    node: str | None = None

    @property
    def severity(self) -> Severity:
        """The severity of its kind."""
        return KINDS[self.kind].severity

    def plain(self) -> dict[str, Any]:
        """The finding as JSON values."""
        return {
            "severity": self.severity,
            "kind": self.kind,
            "reader": self.reader,
            "place": self.place,
            "sample": self.sample,
            "node": self.node,
            "message": self.message,
        }

    @classmethod
    def of(cls, plain: dict[str, Any]) -> Finding:
        """The finding that :meth:`plain` wrote.

        Raises
        ------
        KeyError
            If a field is missing.
        """
        return cls(*(plain[name] for name in ("kind", "reader", "message", "place", "sample", "node")))


def ordered(findings: list[Finding]) -> list[Finding]:
    """Findings by kind, reader and place."""
    rank = {kind: index for index, kind in enumerate(KINDS)}
    return sorted(findings, key=lambda each: (rank[each.kind], each.reader, -1 if each.place is None else each.place))
