"""Comments of a program, kept with the nodes that they stand beside: ``view.nodes[name].comment``."""

from __future__ import annotations

import ast
import io
import re
import textwrap
import tokenize
from collections.abc import Mapping

from dali_lab.graph.graph import Graph
from dali_lab.model.short_text import printable

_MOST = 500


def with_comments(graph: Graph, text: str, file: str = "") -> Graph:
    """The graph with the comments of the program that it was read from.

    Parameters
    ----------
    file
        Name of the program in the origins of nodes; nodes from other files have no comments here.
    """
    found = _comments(text)
    if not found:
        return graph
    statements = _statements(text)
    last: dict[int, str] = {}
    for name, node in graph.nodes.items():
        place, _, line = node.origin.rpartition(":") if file else ("", "", node.origin.removeprefix("line "))
        if place == file and line.isdecimal() and int(line) in statements:
            last[statements[int(line)][0]] = name
    places = dict(graph.view.get("nodes", {}))
    for begin, end in set(statements.values()):
        if begin in last and (comment := _beside(found, begin, end)):
            places[last[begin]] = {**places.get(last[begin], {}), "comment": comment}
    return graph.replaced(view={**graph.view, "nodes": places}) if places else graph


def comment_lines(graph: Graph, node: str, indent: int, width: int) -> list[str]:
    """The comment of a node as lines of a program."""
    places = graph.view.get("nodes")
    place = places.get(node) if isinstance(places, Mapping) else None
    comment = place.get("comment") if isinstance(place, Mapping) else None
    if not isinstance(comment, str) or not comment.strip():
        return []
    margin = " " * indent + "# "
    return [margin + line for line in textwrap.wrap(printable(comment, _MOST).strip(), max(20, width - len(margin)))]


def _comments(text: str) -> dict[int, tuple[str, bool]]:
    """The comment on each line, and whether it has the line to itself."""
    result: dict[int, tuple[str, bool]] = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                words = re.sub(r"^#+[:!]?\s*|\s*(noqa|type: ignore|fmt: (off|on|skip)).*$", "", token.string)
                result[token.start[0]] = words.strip(), not token.line[: token.start[1]].strip()
    except (tokenize.TokenError, SyntaxError, ValueError):
        return {}
    return result


def _statements(text: str) -> dict[int, tuple[int, int]]:
    """First and last line of the innermost plain statement on each line."""
    result: dict[int, tuple[int, int]] = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)):
            for line in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                result[line] = node.lineno, node.end_lineno or node.lineno
    return result


def _beside(found: Mapping[int, tuple[str, bool]], begin: int, end: int) -> str:
    """The comments right above a statement and in it."""
    above = []
    line = begin - 1
    while line in found and found[line][1]:
        above.append(found[line][0])
        line -= 1
    inside = [found[line][0] for line in range(begin, end + 1) if line in found]
    return " ".join(filter(None, [*above[::-1], *inside]))[:_MOST]
