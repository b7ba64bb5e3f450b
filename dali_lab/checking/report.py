"""The report of a check, as text, JSON and CSV."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from dali_lab.checking.facts import Facts, axes
from dali_lab.checking.findings import KINDS, Finding

FORMAT = "dali-lab check report"
VERSION = 1
_COLUMNS = ("severity", "kind", "reader", "place", "sample", "node", "message")
_FORMULAS = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True)
class ReaderSummary:
    """The samples of a reader in numbers.

    Attributes
    ----------
    samples
        Samples in its list.
    nbytes
        Bytes of the good ones, together.
    kinds
        Number of good samples of each type.
    shapes
        For each type with named axes the smallest, median and largest value on each.
    """

    samples: int
    nbytes: int
    kinds: dict[str, int] = field(default_factory=dict)
    shapes: dict[str, dict[str, list[int]]] = field(default_factory=dict)

    @classmethod
    def of(cls, samples: int, facts: Facts) -> ReaderSummary:
        """The summary of facts about a reader's samples."""
        counts = np.bincount(facts.kinds, minlength=len(facts.titles)).tolist()
        kinds = dict(sorted(zip(facts.titles, counts, strict=True), key=lambda item: -item[1]))
        shapes = {}
        for code, title in enumerate(facts.titles):
            named, values = axes(title), facts.shapes[facts.kinds == code]
            if named is not None and len(values):
                shapes[title] = {
                    axis: [int(column.min()), int(np.median(column)), int(column.max())]
                    for axis, column in zip(named, values.T, strict=True)
                }
        return cls(samples, int(facts.sizes.sum()), kinds, shapes)


@dataclass(frozen=True)
class Report:
    """The result of a check.

    Attributes
    ----------
    title
        Name of the graph.
    samples
        Samples that the graph has in an epoch.
    checked, seconds
        Samples that the last run of the check went through, and its time.
    readers
        Each reader's samples in numbers.
    findings
        By kind, reader and place.
    """

    title: str
    samples: int
    checked: int
    seconds: float
    readers: dict[str, ReaderSummary]
    findings: list[Finding]

    @property
    def errors(self) -> list[Finding]:
        """Findings that end a run or spoil what is learnt from it."""
        return [finding for finding in self.findings if finding.severity == "error"]

    @property
    def warnings(self) -> list[Finding]:
        """Findings to look at."""
        return [finding for finding in self.findings if finding.severity == "warning"]

    def counts(self) -> dict[str, int]:
        """Number of findings of each kind that there is, in the order of :data:`KINDS`."""
        found = Counter(finding.kind for finding in self.findings)
        return {kind: found[kind] for kind in KINDS if found[kind]}

    def plain(self) -> dict[str, Any]:
        """The report as JSON values."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "graph": self.title,
            "samples": self.samples,
            "checked": self.checked,
            "seconds": round(self.seconds, 3),
            "errors": len(self.errors),
            "warnings": len(self.warnings),
            "counts": self.counts(),
            "readers": {name: asdict(summary) for name, summary in self.readers.items()},
            "findings": [finding.plain() for finding in self.findings],
        }

    def json(self) -> bytes:
        """The report as JSON; names that are no Unicode have lone surrogates, escaped."""
        return json.dumps(self.plain(), indent=1).encode() + b"\n"

    def csv(self) -> bytes:
        """The findings as a table for spreadsheets, in UTF-8.

        Texts that a spreadsheet would take for a formula have an apostrophe in front; JSON has them as they are.
        """
        text = io.StringIO(newline="")
        table = csv.writer(text)
        table.writerow(_COLUMNS)
        for finding in self.findings:
            row = finding.plain()
            table.writerow(["" if row[name] is None else _harmless(row[name]) for name in _COLUMNS])
        return text.getvalue().encode("utf-8", "backslashreplace")

    def text(self, shown: int = 5) -> str:
        """A summary for a terminal, with the first findings of each kind."""
        lines = []
        for name, summary in self.readers.items():
            kinds = ", ".join(f"{count:,} {title}" for title, count in list(summary.kinds.items())[:6])
            lines.append(
                f"{name}: {summary.samples:,} samples, {_bytes(summary.nbytes)}{f': {kinds}' if kinds else ''}"
            )
            for title, extents in summary.shapes.items():
                ranges = (
                    f"{axis} {low:,}–{high:,} (median {middle:,})" for axis, (low, middle, high) in extents.items()
                )
                lines.append(f"  {title}: {', '.join(ranges)}")
        for kind, count in self.counts().items():
            lines.append(f"{KINDS[kind].title}: {count:,}")
            of_kind = [finding for finding in self.findings if finding.kind == kind]
            lines += [f"  {sentence(finding)}" for finding in of_kind[:shown]]
            if count > shown:
                lines.append(f"  and {count - shown:,} more")
        if not self.findings:
            lines.append("Nothing is amiss.")
        return printable("\n".join(lines))


def sentence(finding: Finding) -> str:
    """A finding in a line."""
    where = f"{finding.sample}: " if finding.sample is not None else ""
    return f"{where}{' '.join(finding.message.split())}"


def printable(text: str) -> str:
    """A text without control characters and lone surrogates, which names of files may have."""
    plain = text.encode("utf-8", "backslashreplace").decode()
    return "".join(c if c == "\n" or c.isprintable() else c.encode("unicode_escape").decode() for c in plain)


def _harmless(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value.startswith(_FORMULAS) else value


def _bytes(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000:
            return f"{size:,.0f} {unit}" if unit == "bytes" else f"{size:,.1f} {unit}"
        size /= 1000
    return f"{size:,.1f} TB"
