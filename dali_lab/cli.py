"""The command line: ``dali-lab app``, ``run``, ``export``, ``show``, ``ops`` and others."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dali_lab.errors import DaliLabError

if TYPE_CHECKING:
    from dali_lab.graph.graph import Graph
    from dali_lab.pipeline import Pipeline
    from dali_lab.studio.session import Session

INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command.

    Parameters
    ----------
    arguments
        What follows the program's name; by default that of this process.

    Returns
    -------
    int
        0 when all went well, 2 for what the person can put right, 130 when interrupted.
    """
    parser = make_parser()
    own, script = split_script(list(sys.argv[1:] if arguments is None else arguments))
    options = parser.parse_args(own)
    options.script = script
    if options.command is None:
        parser.print_help()
        return 2
    command: Callable[[argparse.Namespace], int] = options.function
    try:
        return command(options)
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read our output has seen enough; what is left in the buffer must not be tried again at exit.
        sys.stdout = None
        return 0
    except (DaliLabError, OSError) as error:
        print(f"dali-lab {options.command}: {one_sentence(error)}", file=sys.stderr)
        return 2


def make_parser() -> argparse.ArgumentParser:
    """All commands and their options."""
    from dali_lab import __version__

    parser = argparse.ArgumentParser(prog="dali-lab", description="Compose, run and export data pipelines.")
    parser.add_argument("--version", action="version", version=f"dali-lab {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    app = commands.add_parser("app", help="open the editor in a browser", description="Open the editor in a browser.")
    app.add_argument("graph", nargs="?", metavar="GRAPH", help="a graph file to open (.dali.json, or a program)")
    app.add_argument("--data", metavar="DIR", help="folder of pictures, with labels from its sub-folders")
    app.add_argument("--host", default="127.0.0.1", help="address to listen on (default: this machine alone)")
    app.add_argument("--port", type=_port, default=None, help="port to listen on (default: a free one from 5080 on)")
    app.add_argument("--no-browser", action="store_true", help="print the address without opening it")
    app.set_defaults(function=_app)

    run = commands.add_parser("run", help="run a graph and say how fast it is, or run a script written for NVIDIA DALI")
    run.add_argument(
        "graph", metavar="GRAPH|SCRIPT.py", help="a graph file, or a script with its own arguments behind it"
    )
    run.add_argument(
        "--batches", type=_positive, default=None, metavar="N", help="batches to run (default: for 5 seconds)"
    )
    _pipeline_options(run)
    run.set_defaults(function=_run)

    bench = commands.add_parser("bench", help="throughput of a graph, node by node")
    bench.add_argument("graph", metavar="GRAPH", help="a graph file")
    bench.add_argument("--seconds", type=_seconds, default=10.0, metavar="S", help="how long to run (default: 10)")
    _pipeline_options(bench)
    bench.set_defaults(function=_bench)

    export = commands.add_parser("export", help="write a graph as Python or in another form")
    export.add_argument("graph", metavar="GRAPH", help="a graph file")
    export.add_argument(
        "--to",
        required=True,
        metavar="FORM",
        help="python, pytorch, nvidia-python, dali-serialized, json, dot, ...",
    )
    export.add_argument("-o", "--output", metavar="FILE", help="file to write (default: print)")
    export.set_defaults(function=_export)

    show = commands.add_parser("show", help="print a graph, or draw it into a file")
    show.add_argument("graph", metavar="GRAPH", help="a graph file")
    show.add_argument("-o", "--output", metavar="FILE", help="picture or DOT file to write (.svg, .png, .dot)")
    show.set_defaults(function=_show)

    ops = commands.add_parser("ops", help="list the operators, or print the reference of one")
    ops.add_argument(
        "name", nargs="?", metavar="NAME", help="an operator, such as resize or decoders.image, or a word to look for"
    )
    ops.set_defaults(function=_ops)

    convert = commands.add_parser("convert", help="read a graph in one form and write it in another")
    convert.add_argument("source", metavar="FROM")
    convert.add_argument("target", metavar="TO", help="its ending tells the form")
    convert.set_defaults(function=_convert)

    diff = commands.add_parser("diff", help="say what differs between two graphs, positions aside")
    diff.add_argument("left", metavar="A")
    diff.add_argument("right", metavar="B")
    diff.set_defaults(function=_diff)

    warm = commands.add_parser("warm", help="compile all kernels now, so that no first use waits for it")
    warm.set_defaults(function=_warm)
    return parser


def split_script(arguments: list[str]) -> tuple[list[str], list[str]]:
    """What is ours, and behind ``run SCRIPT.py`` what is the script's."""
    if arguments[:1] == ["run"]:
        for index, argument in enumerate(arguments):
            if argument.endswith(".py"):
                return arguments[: index + 1], arguments[index + 1 :]
    return arguments, []


def _pipeline_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--batch-size", type=_positive, default=None, metavar="N", help="samples in a batch")
    parser.add_argument("--threads", type=_positive, default=None, metavar="N", help="CPU threads")
    parser.add_argument("--seed", type=int, default=None, help="seed of all random operators")


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number < 65536:
        raise argparse.ArgumentTypeError("a port lies between 0 and 65535")
    return number


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 0 < number < 1e6:
        raise argparse.ArgumentTypeError("must be more than 0")
    return number


def one_sentence(error: BaseException) -> str:
    """An error for the terminal: what is wrong and where."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    return str(error)


# --- app ----------------------------------------------------------------------------------------------------------


def _app(options: argparse.Namespace) -> int:
    import signal
    import threading

    from dali_lab.studio.application import start_session
    from dali_lab.studio.warming import compile_in_background

    session = start_session(graph=options.graph, data=options.data)
    compiler = None
    # Being told to end is the same as Ctrl-C: what is unsaved is kept. A shell starts programs in the background
    # with Ctrl-C ignored, so that is undone too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        # The first preview is computed while the server is imported and the browser opens.
        session.warm()
        compiler = compile_in_background()
        from dali_lab.studio.panel_app import AppServer, open_browser

        server = AppServer(session, options.host, options.port or 0)
        try:
            print(f"DALI Lab is at {server.address}   (Ctrl-C ends it)", flush=True)
            _say_who_can_reach(options.host)
            if not options.no_browser:
                open_browser(server.address)
            with contextlib.suppress(KeyboardInterrupt):
                threading.Event().wait()
        finally:
            _leave_soon(session)
            server.close()
    finally:
        if compiler is not None:
            compiler.kill()
            compiler.wait()
        _end(session)
    print()
    return 0


def _say_who_can_reach(host: str) -> None:
    if host not in ("127.0.0.1", "localhost", "::1"):
        print("Everyone who can reach this address can read and write files as you.", flush=True)


def _leave_soon(session: Session) -> None:
    """Keep what is unsaved at once, and do not wait long for work that cannot be stopped, such as a compilation."""
    import threading

    session.store.keep()
    last = threading.Timer(5.0, os._exit, (0,))
    last.daemon = True
    last.start()


def _end(session: Session) -> None:
    unsaved = session.store.dirty
    session.close()
    if unsaved:
        print("\nWhat was not saved is kept, and opens with the next 'dali-lab app'.", end="")


# --- graphs -------------------------------------------------------------------------------------------------------


def _load(path: str) -> Graph:
    from dali_lab.formats import load

    return load(path)


def _pipeline(options: argparse.Namespace) -> Pipeline:
    from dali_lab.pipeline import Pipeline

    settings: dict[str, Any] = {}
    if options.batch_size is not None:
        settings["batch_size"] = options.batch_size
    if options.threads is not None:
        settings["num_threads"] = options.threads
    if options.seed is not None:
        settings["seed"] = options.seed
    return Pipeline.from_graph(_load(options.graph), **settings)


def _run(options: argparse.Namespace) -> int:
    if options.graph.endswith(".py"):
        from dali_lab.compat import run_script

        return run_script(options.graph, options.script)
    result = _measure(_pipeline(options), options.batches, 5.0, summarize=True)
    _print_rate(result)
    return 0


def _bench(options: argparse.Namespace) -> int:
    result = _measure(_pipeline(options), None, options.seconds, summarize=False)
    _print_rate(result)
    width = max((len(name) for name in result["nodes"]), default=4)
    print(f"\n{'node':<{width}}  {'ms a batch':>11}  {'images/s':>10}  share")
    total = sum(entry["time_ms"] for entry in result["nodes"].values()) or 1.0
    for name, entry in sorted(result["nodes"].items(), key=lambda item: -item[1]["time_ms"]):
        share = entry["time_ms"] / total
        print(f"{name:<{width}}  {entry['time_ms']:>11.2f}  {entry['images_per_second']:>10.0f}  {share:5.0%}")
    print("(time of a node is summed over threads)")
    return 0


def _measure(pipeline: Pipeline, batches: int | None, seconds: float, *, summarize: bool) -> dict[str, Any]:
    """Run a pipeline for a number of batches or a time, with a progress bar."""
    from dali_lab.studio.running import measure

    bar = Bar()
    try:
        pipeline.build()
        bar.show(0.0, "starting")
        if summarize:
            first = pipeline.run()
            bar.clear()
            for index, output in enumerate(first):
                print(f"output {index}: {summary_line(output)}")
        began: float | None = None

        def tell(done: int, rate: float) -> bool:
            nonlocal began
            began = time.perf_counter() if began is None else began
            spent = time.perf_counter() - began
            share = done / batches if batches is not None else spent / seconds
            bar.show(share, f"{rate:,.0f} images/s")
            return batches is None and spent >= seconds

        return measure(pipeline, batches, tell)
    finally:
        bar.clear()
        pipeline.close()


def summary_line(output: Any) -> str:
    """A batch in a line: samples, shape, type, layout and range."""
    batch = output._batch
    from dali_lab.studio.pictures import value_range

    shapes = [tuple(row) for row in batch.shapes.tolist()]
    if not shapes:
        return "empty"
    text = "×".join(map(str, shapes[0])) or "scalar"
    if any(shape != shapes[0] for shape in shapes):
        low, high = batch.shapes.min(axis=0), batch.shapes.max(axis=0)
        text = "×".join(str(a) if a == b else f"{a}–{b}" for a, b in zip(low.tolist(), high.tolist(), strict=True))
    found = value_range(batch.arrays())
    parts = [f"{len(shapes)} × {text}", batch.dtype.name, batch.layout or "no layout"]
    if found is not None:
        parts.append(f"from {found[0]:g} to {found[1]:g}")
    return ", ".join(parts)


def _print_rate(result: dict[str, Any]) -> None:
    print(
        f"{result['samples']:,} samples in {result['batches']:,} batches, {result['seconds']:.2f} s:"
        f" {result['images_per_second']:,.0f} images/s"
    )


class Bar:
    """A progress bar on the terminal; nothing where there is none."""

    WIDTH = 28

    def __init__(self) -> None:
        self._active = sys.stderr.isatty()
        self._last = 0.0

    def show(self, share: float, text: str) -> None:
        """Draw it, not more than ten times a second."""
        now = time.monotonic()
        if not self._active or now - self._last < 0.1:
            return
        self._last = now
        done = round(max(0.0, min(1.0, share)) * self.WIDTH)
        print(f"\r[{'█' * done}{'·' * (self.WIDTH - done)}] {text}\x1b[K", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take it away."""
        if self._active and self._last:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
            self._last = 0.0


def _export(options: argparse.Namespace) -> int:
    from dali_lab.formats import FORMATS, dump
    from dali_lab.studio.exports import export_document
    from dali_lab.studio.files import title_of
    from dali_lab.studio.store import Store

    form = FORMATS.get(options.to)
    if form is not None and form.binary:
        if options.output is None:
            raise DaliLabError(f"'{options.to}' is no text: name a file for it with --output")
        dump(_load(options.graph), options.output, options.to)
        return 0
    store = Store()
    store.open_path(options.graph)
    result = export_document(store.document, options.to, title_of(Path(options.graph).name))
    for warning in result.get("warnings", ()):
        print(f"dali-lab export: {warning}", file=sys.stderr)
    _write(result["text"], options.output)
    return 0


def _write(text: str, path: str | None) -> None:
    if path is None:
        sys.stdout.write(text)
    else:
        from dali_lab.formats.files import write_text

        write_text(path, text)


def _show(options: argparse.Namespace) -> int:
    graph = _load(options.graph)
    if options.output is not None:
        from dali_lab.formats import dump

        dump(graph, options.output)
        return 0
    from dali_lab.formats.json_file import edge_text

    for line in graph_lines(graph, edge_text):
        print(line)
    return 0


def graph_lines(graph: Graph, edge_text: Callable[[Any], str | None]) -> list[str]:
    """A graph as text: a line for each node, in an order in which they run."""
    lines = []
    try:
        order = graph.order()
    except DaliLabError as error:
        lines.append(f"! {error.message}")
        order = list(graph.nodes)
    width = max((len(name) for name in order), default=0)
    for name in order:
        node = graph.nodes[name]
        given = [edge_text(edge) or "—" for edge in node.inputs]
        given += [f"{key}={edge_text(edge)}" for key, edge in node.connections.items()]
        given += [f"{key}={_value(value)}" for key, value in node.arguments.items()]
        lines.append(f"{name:<{width}}  {node.op}({', '.join(given)})  {node.device}")
    lines.append("outputs: " + (", ".join(str(edge) for edge in graph.outputs) or "none"))
    return lines


def _value(value: Any) -> str:
    text = value.name if hasattr(value, "name") and hasattr(value, "value") else repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _ops(options: argparse.Namespace) -> int:
    from dali_lab.errors import GraphError
    from dali_lab.schema.families import FAMILIES, find_family
    from dali_lab.schema.reference import docstring
    from dali_lab.schema.registry import all_operators, find_operator, has_operator

    operators = {name: operator for name, operator in all_operators().items() if not operator.hidden}
    if options.name is not None:
        name = options.name.removeprefix("fn.")
        if has_operator(name) or name in {operator.schema_name for operator in operators.values()}:
            operator = find_operator(name)
            print(f"fn.{operator.name}    ({', '.join(operator.devices)})\n")
            print(docstring(operator))
            return 0
        word = name.lower()
        operators = {n: o for n, o in operators.items() if word in n or word in o.summary().lower()}
        if not operators:
            try:
                find_operator(name)
            except GraphError as error:
                raise DaliLabError(error.message) from None
    width = max(map(len, operators), default=0)
    known = [family.name for family in FAMILIES]
    families = sorted(
        {operator.family for operator in operators.values()}, key=lambda f: (known.index(f) if f in known else 99, f)
    )
    for family in families:
        print(find_family(family).title)
        for name, operator in operators.items():
            if operator.family == family:
                print(f"  {name:<{width}}  {operator.summary()}")
    return 0


def _convert(options: argparse.Namespace) -> int:
    from dali_lab.formats import dump

    dump(_load(options.source), options.target)
    return 0


def _diff(options: argparse.Namespace) -> int:
    from dali_lab.graph.difference import difference

    changes = difference(_load(options.left), _load(options.right))
    for change in changes:
        print(change)
    return 1 if changes else 0


def _warm(options: argparse.Namespace) -> int:
    from dali_lab.studio.warming import compile_kernels

    bar = Bar()
    began = time.perf_counter()
    try:
        count = compile_kernels(lambda share, name: bar.show(share, name))
    finally:
        bar.clear()
    print(f"{count} operators are ready ({time.perf_counter() - began:.0f} s).")
    return 0


if __name__ == "__main__":
    sys.exit(main())
