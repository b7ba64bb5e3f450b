"""The report of a check as one page of HTML that needs nothing else."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256
from html import escape

from dali_lab.checking.findings import KINDS, Finding
from dali_lab.checking.report import Report, printable

ROWS = 300
"""Findings of a kind that the page lists; the other files have all."""
PICTURES = 24
"""Findings of a kind that are shown with a picture."""
_STYLE = """
:root { color-scheme: light dark; --line: #d9dde3; --soft: #5b6470; --error: #b3261e; --warning: #8a5a00; }
@media (prefers-color-scheme: dark) {
  :root { --line: #3a4048; --soft: #9aa4b0; --error: #ff8a80; --warning: #e8b04a; }
}
body { font: 13px/1.5 system-ui, sans-serif; max-width: 1100px; margin: 32px auto; padding: 0 16px; }
h1 { font-size: 20px; margin: 0 0 4px; } h2 { font-size: 15px; margin: 28px 0 8px; }
p, .soft { color: var(--soft); } table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 500; color: var(--soft); }
th, td { padding: 4px 12px 4px 0; border-bottom: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere; }
td.number { white-space: nowrap; text-align: right; } td.picture { width: 100px; }
img { max-width: 96px; max-height: 96px; display: block; }
summary { cursor: pointer; font-size: 15px; font-weight: 600; padding: 6px 0; }
details { border-top: 1px solid var(--line); padding: 4px 0; }
.error { color: var(--error); } .warning { color: var(--warning); }
code { font: 12px ui-monospace, monospace; }
"""
_POLICY = (
    f"default-src 'none'; style-src 'sha256-{b64encode(sha256(_STYLE.encode()).digest()).decode()}'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)
"""The content security policy: no scripts, no styles but these, nothing from elsewhere."""

Pictures = Mapping[tuple[str, int], str]


def shown_with_pictures(report: Report) -> list[Finding]:
    """The findings that the page shows with pictures."""
    shown = []
    for kind in report.counts():
        of_kind = (each for each in report.findings if each.kind == kind and each.place is not None)
        shown += [finding for finding, _ in zip(of_kind, range(PICTURES), strict=False)]
    return shown


def page(report: Report, pictures: Pictures) -> bytes:
    """The page.

    Parameters
    ----------
    pictures
        Addresses (``data:``) of small pictures, by reader and place.
    """
    title = escape(printable(report.title or "dataset"))
    errors, warnings = len(report.errors), len(report.warnings)
    body = [
        f"<h1>Check of {title}</h1>",
        f"<p>{report.samples:,} samples, <span class='error'>{errors:,} {_plural(errors, 'error')}</span>,"
        f" <span class='warning'>{warnings:,} {_plural(warnings, 'warning')}</span></p>",
        *_readers(report),
        *(_section(report, kind, pictures) for kind in report.counts()),
    ]
    if not report.findings:
        body.append("<h2>Nothing is amiss.</h2>")
    text = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        f"<title>Check of {title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )
    return text.encode("utf-8", "backslashreplace")


def _readers(report: Report) -> list[str]:
    rows = []
    for name, summary in report.readers.items():
        kinds = ", ".join(f"{count:,} {escape(title)}" for title, count in summary.kinds.items())
        sizes = "; ".join(
            f"{escape(title)}: " + ", ".join(f"{axis} {low:,}–{high:,}" for axis, (low, _, high) in extents.items())
            for title, extents in summary.shapes.items()
        )
        rows.append(
            f"<tr><td><code>{escape(printable(name))}</code></td><td class='number'>{summary.samples:,}</td>"
            f"<td class='number'>{summary.nbytes:,}</td><td>{kinds}<div class='soft'>{sizes}</div></td></tr>"
        )
    head = "<tr><th>reader</th><th>samples</th><th>bytes</th><th>types</th></tr>"
    return [f"<h2>Samples</h2>\n<table>\n{head}\n" + "\n".join(rows) + "\n</table>", "<h2>Findings</h2>"]


def _section(report: Report, kind: str, pictures: Pictures) -> str:
    findings = [finding for finding in report.findings if finding.kind == kind]
    rows = "\n".join(_row(finding, pictures) for finding in findings[:ROWS])
    more = len(findings) - ROWS
    rest = f"<p>And {more:,} more, in the other files of this report.</p>" if more > 0 else ""
    entry = KINDS[kind]
    return (
        f"<details open><summary><span class='{entry.severity}'>{len(findings):,}</span>"
        f" {escape(entry.title)}</summary>\n<table>\n{rows}\n</table>{rest}</details>"
    )


def _row(finding: Finding, pictures: Pictures) -> str:
    address = pictures.get((finding.reader, finding.place)) if finding.place is not None else None
    picture = f"<img src='{escape(address)}' alt=''>" if address else ""
    name = f"<code>{escape(printable(finding.sample))}</code>" if finding.sample is not None else ""
    place = "" if finding.place is None else f"{finding.place:,}"
    node = f" <span class='soft'>({escape(printable(finding.node))})</span>" if finding.node else ""
    message = escape(printable(" ".join(finding.message.split())))
    return (
        f"<tr><td class='picture'>{picture}</td><td class='number'>{place}</td>"
        f"<td>{name}<div>{message}{node}</div></td></tr>"
    )


def _plural(count: int, word: str) -> str:
    return word if count == 1 else f"{word}s"
