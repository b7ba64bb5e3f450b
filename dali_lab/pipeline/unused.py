"""Outputs that are computed for nothing."""

from __future__ import annotations

import warnings

from dali_lab.graph.graph import Graph
from dali_lab.schema.registry import find_operator


def warn_of_unused_outputs(graph: Graph) -> None:
    """Warn of outputs of external sources that nothing uses: the source computes them for every batch.

    Warns
    -----
    UserWarning
        Naming source and outputs.
    """
    used = {(edge.node, edge.output) for edge in graph.outputs}
    for node in graph.nodes.values():
        used.update((edge.node, edge.output) for edge in (*node.inputs, *node.connections.values()))
    for node in graph.nodes.values():
        count = node.arguments.get("num_outputs") or 1
        unused = [index for index in range(count) if (node.id, index) not in used]
        if find_operator(node.op).fed and node.arguments.get("source") is not None and 0 < len(unused) < count:
            which = (
                f"the output at the index {unused[0]} is"
                if len(unused) == 1
                else f"the outputs at the indices {', '.join(map(str, unused))} are"
            )
            warnings.warn(
                f"The external source node '{node.arguments['source']}' produces {count} outputs, but {which} not used."
                " For best performance, adjust your callback so that it computes only the needed outputs."
                f" The node is '{node.id}', {node.origin}",
                stacklevel=3,
            )
