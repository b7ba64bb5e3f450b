"""``dali-lab check``: goes through a whole dataset, and reports damaged, odd and repeated samples."""

from __future__ import annotations

import argparse
import functools
import os
from typing import TYPE_CHECKING

from dali_lab.cli.options import Commands, add_command, load_graph, ray_option, with_samples, work_options, written
from dali_lab.cli.progress import Bar, time_text

if TYPE_CHECKING:
    from dali_lab.checking import Check, Report
    from dali_lab.checking.check import Progress, Walking

_ABOUT = """Go through all samples that a graph reads, of all shards, on all cores: unreadable
and damaged files, samples that the pipeline refuses, unusual types, sizes and
shapes, repeated content, labels without files and files without labels. A check
that was ended goes on where it was."""
_EXIT = """exit status:
  0  nothing graver than --fail-on was found
  1  samples or files are amiss
  2  the check could not be made
  130  interrupted; the same command goes on where it was
"""


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(
        commands,
        "check",
        "go through a whole dataset and report damaged, odd and repeated samples",
        description=_ABOUT,
        epilog=_EXIT,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("graph", metavar="GRAPH", help="a graph file, or the folder of a gallery entry")
    parser.add_argument(
        "--report",
        type=written,
        default=None,
        metavar="FOLDER",
        help="where report.html, report.json and report.csv are written (default: NAME-check, by the graph's name)",
    )
    parser.add_argument(
        "--exclude-to",
        type=written,
        default=None,
        metavar="FILE",
        help="write the samples with errors to a list for the readers' argument exclude_list",
    )
    parser.add_argument(
        "--exclude",
        default="error",
        metavar="KINDS",
        help="kinds of findings for that list, with commas: error, warning, or single ones such as duplicate",
    )
    parser.add_argument(
        "--fail-on", choices=("error", "warning", "never"), default="error", help="what makes the exit status 1"
    )
    work_options(parser)
    parser.add_argument("--anew", action="store_true", help="begin anew where an earlier check was ended")
    ray_option(parser, "check on a Ray cluster")
    parser.set_defaults(function=_check)


def _check(options: argparse.Namespace) -> int:
    from dali_lab.checking import Check
    from dali_lab.formats.disk import write_bytes
    from dali_lab.io.exclude_list import exclude_list

    kinds = _kinds(options.exclude)
    name = os.path.basename(os.path.normpath(options.graph)).removesuffix(".dali.json").removesuffix(".py")
    folder = options.report or f"{name}-check"
    graph = with_samples(load_graph(options.graph))
    os.makedirs(folder, exist_ok=True)
    journal = os.path.join(folder, "journal.jsonl")
    if options.anew and os.path.exists(journal):
        os.unlink(journal)
    checking = Check(
        graph, batch_size=options.batch_size, threads=options.threads, journal=journal, title=options.graph
    )
    finished = False
    try:
        report = _run(checking, None if options.ray is None else _on_ray(checking, options.ray))
        _write(checking, report, folder)
        if options.exclude_to is not None:
            chosen = checking.excluded(each for each in report.findings if each.kind in kinds)
            write_bytes(options.exclude_to, exclude_list(chosen))
            print(f"{len(chosen):,} {'name' if len(chosen) == 1 else 'names'} in {options.exclude_to}")
        finished = True
    finally:
        checking.close(finished=finished)
    fatal = {"error": report.errors, "warning": report.findings, "never": []}[options.fail_on]
    return 1 if fatal else 0


def _on_ray(checking: Check, address: str) -> Walking:
    """Goes through the parts on a cluster."""
    from dali_lab.plugin.ray import connect

    connect(address or None)
    from dali_lab.interop.ray.checks import cluster_walk

    return functools.partial(cluster_walk, checking.graph, checking.walk)


def _run(checking: Check, walk: Walking | None = None) -> Report:
    bar = Bar()
    if checking.done:
        behind = min(len(checking.done) * checking.walk.part_size, checking.walk.total)
        print(f"Going on behind {behind:,} of {checking.walk.total:,} samples.", flush=True)

    def tell(progress: Progress) -> None:
        text = f"{progress.done:,} of {progress.total:,}, {progress.rate:,.0f}/s, {time_text(progress.left)} left"
        bar.show(progress.done / progress.total, text)

    try:
        report = checking.run(tell, walk)
    finally:
        bar.clear()
    if report.checked:
        rate = report.checked / max(1e-9, report.seconds)
        print(f"{report.checked:,} samples in {report.seconds:.1f} s: {rate:,.0f} samples/s")
    print(report.text())
    return report


def _write(checking: Check, report: Report, folder: str) -> None:
    from dali_lab.checking.page import page, shown_with_pictures
    from dali_lab.checking.thumbnails import thumbnails
    from dali_lab.formats.disk import write_bytes

    wanted: dict[str, list[int]] = {}
    for finding in shown_with_pictures(report):
        wanted.setdefault(finding.reader, []).append(finding.place or 0)
    pictures = {
        (reader, place): address
        for reader, places in wanted.items()
        for place, address in thumbnails(checking.walk, reader, places).items()
    }
    write_bytes(os.path.join(folder, "report.json"), report.json())
    write_bytes(os.path.join(folder, "report.csv"), report.csv())
    path = os.path.join(folder, "report.html")
    write_bytes(path, page(report, pictures))
    print(f"Report: {path}")


def _kinds(text: str) -> set[str]:
    from dali_lab.checking import KINDS
    from dali_lab.model.errors import FormatError, nearest

    chosen: set[str] = set()
    for word in filter(None, (part.strip() for part in text.split(","))):
        of_severity = {kind for kind, entry in KINDS.items() if entry.severity == word}
        if not of_severity and word not in KINDS:
            known = ["error", "warning", *KINDS]
            raise FormatError(f"--exclude: there is no kind {word!r}{nearest(word, known)}; kinds: {', '.join(known)}")
        chosen |= of_severity or {word}
    return chosen
