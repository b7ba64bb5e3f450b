"""Options that several commands share."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any, TypeAlias

from dali_lab.io.locations import canonical, is_remote, shown

if TYPE_CHECKING:
    from dali_lab.graph.graph import Graph
    from dali_lab.pipeline.pipeline import Pipeline

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def add_command(
    commands: Commands, name: str, text: str, description: str = "", **options: Any
) -> argparse.ArgumentParser:
    """A command whose own help begins with the sentence that lists it, where there is no longer description."""
    return commands.add_parser(name, help=text, description=description or f"{text[:1].upper()}{text[1:]}.", **options)


def positive(text: str) -> int:
    """A whole number from 1 on, as an option's value."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def seconds(text: str) -> float:
    """A time, as an option's value."""
    number = float(text)
    if not 0 < number < 1e6:
        raise argparse.ArgumentTypeError("must be more than 0")
    return number


def written(text: str) -> str:
    """A path that is written to, as an option's value."""
    if is_remote(text):
        raise argparse.ArgumentTypeError(
            f"stores are not written to: name a path on this machine, and copy it to '{shown(text)}' afterwards"
        )
    return canonical(text)


def ray_option(parser: argparse.ArgumentParser, use: str) -> None:
    """The option that moves the work to a cluster; `use` says how."""
    parser.add_argument(
        "--ray",
        nargs="?",
        const="",
        default=None,
        metavar="ADDRESS",
        help=f"{use}: host:port of its head node (default: RAY_ADDRESS, or else this machine)",
    )


def work_options(parser: argparse.ArgumentParser) -> None:
    """The size of batches and the number of threads, for commands that go through a dataset."""
    parser.add_argument("--batch-size", type=positive, default=None, metavar="N", help="samples in a batch")
    parser.add_argument("--threads", type=positive, default=None, metavar="N", help="CPU threads (default: all cores)")


def pipeline_options(parser: argparse.ArgumentParser) -> None:
    """Options that override the settings in the graph."""
    parser.add_argument("--batch-size", type=positive, default=None, metavar="N", help="samples in a batch")
    parser.add_argument("--threads", type=positive, default=None, metavar="N", help="CPU threads")
    parser.add_argument("--seed", type=int, default=None, help="seed of all random operators")
    parser.add_argument(
        "--on-error",
        choices=("raise", "skip", "replace"),
        default=None,
        help="the answer to a sample that fails: raise the error, leave the sample out, or put another in its place",
    )
    parser.add_argument(
        "--max-error-rate",
        type=float,
        default=None,
        metavar="X",
        help="the largest share of bad samples (default: 0.05)",
    )
    parser.add_argument(
        "--cache",
        default=None,
        metavar="WHERE",
        help="keep what is the same in every epoch: memory, a folder, or a URL (default: off)",
    )
    parser.add_argument("--cache-limit", type=positive, default=None, metavar="BYTES", help="most bytes of the cache")
    parser.add_argument("--cache-at", default=None, metavar="NODE", help="the node whose results are kept")
    parser.add_argument(
        "--cache-epochs", type=positive, default=None, metavar="N", help="epochs within which keeping has to pay"
    )
    parser.add_argument(
        "--cache-checksum",
        action="store_true",
        default=None,
        help="tell files apart by what they hold, not by size and time of change",
    )


def make_pipeline(options: argparse.Namespace) -> Pipeline:
    """The pipeline of the graph that the options name."""
    from dali_lab.pipeline.pipeline import Pipeline

    given = {
        "batch_size": options.batch_size,
        "num_threads": options.threads,
        "seed": options.seed,
        "on_error": options.on_error,
        "max_error_rate": options.max_error_rate,
        "cache": options.cache,
        "cache_limit": options.cache_limit,
        "cache_at": options.cache_at,
        "cache_epochs": options.cache_epochs,
        "cache_checksum": options.cache_checksum,
    }
    settings: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
    return Pipeline.from_graph(with_samples(load_graph(options.graph)), **settings)


def load_graph(path: str, **options: Any) -> Graph:
    """The graph in a file of any form, or of the entry in a folder of a gallery.

    Parameters
    ----------
    **options
        As for :func:`dali_lab.formats.load`.
    """
    if os.path.isfile(os.path.join(path, "entry.json")):
        from dali_lab.gallery import load_entry

        return load_entry(path).graph
    from dali_lab.formats import load

    return load(path, **options)


def with_samples(graph: Graph) -> Graph:
    """A graph of the gallery reads the pictures and sounds that come with it; others stay as they are."""
    values = (value for node in graph.nodes.values() for value in node.arguments.values())
    if not any(isinstance(value, str) and value.startswith("$") for value in values):
        return graph
    from dali_lab.gallery.places import with_pictures

    return with_pictures(graph)
