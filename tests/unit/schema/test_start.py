"""Arguments of a new node in the editor: it runs on pictures at once, and shows its effect."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from dali_lab import Pipeline, fn
from dali_lab.schema import samples
from dali_lab.schema.operator import Operator
from dali_lab.schema.registry import all_operators
from dali_lab.studio.catalogue import start_arguments
from dali_lab.studio.document.graph_document import empty_document
from dali_lab.studio.document.validation import check
from dali_lab.studio.errors import about
from dali_lab.studio.protocol.documents import GraphNode
from tests.together import with_each

NEUTRAL = {
    "cache": "keeps what comes in and hands it on",
    "cat": "one input, nothing beside it",
    "coord_transform": "takes points; the identity until a matrix is given",
    "copy": "a copy is what it is for",
    "dump_image": "writes the picture and hands it on",
    "math.abs": "bytes have no sign",
    "math.ceil": "bytes are whole numbers",
    "math.fabs": "bytes have no sign",
    "math.floor": "bytes are whole numbers",
    "math.plus": "the sign that changes nothing",
    "per_frame": "names the frames of a sequence; pixels stay",
    "pad": "brings the batch to its largest picture",
    "reinterpret": "the type stays until another is chosen",
}
INCOMPLETE = {
    "decoders.inflate": "needs the shape of what was compressed",
    "experimental.c_function": "needs a function",
    "experimental.cuda_kernel": "needs a kernel",
    "numba_function": "needs a function",
    "permute_batch": "needs a permutation of the batch",
    "random_crop_generator": "takes the shapes of pictures",
    "squeeze": "needs an axis of extent 1, which pictures lack",
}
"""Operators that cannot show anything without something that only the person has."""


def takes_pictures(operator: type[Operator]) -> bool:
    """Whether one uncoded picture is all that it must be given."""
    needed = [declared for declared in operator.inputs if not declared.optional]
    if operator.hidden or operator.deprecated or operator.source or operator.decodes or len(needed) != 1:
        return False
    if operator.family in ("audio", "boxes", "decoders", "io", "mixing") or operator.syntax == "arithmetic":
        return False
    (declared,) = needed
    return (declared.layouts is None or "HWC" in declared.layouts) and (
        declared.dtypes is None or "UINT8" in [dtype.name for dtype in declared.dtypes]
    )


CANDIDATES = [name for name, operator in all_operators().items() if takes_pictures(operator)]
SEQUENCES = {"element_extract", "sequence_rearrange", "per_frame"}
ONE_CHANNEL = {"debayer"}


@pytest.mark.parametrize("name", [name for name in CANDIDATES if name not in INCOMPLETE])
def test_a_new_node_runs_and_shows_its_effect(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # `dump_image` writes where it stands
    pictures, layout = samples.pictures([(48, 64), (40, 60)], 1 if name in ONE_CHANNEL else 3)
    if name in SEQUENCES:
        pictures, layout = [np.stack([each, each[::-1]]) for each in pictures], "FHWC"
    pipe = Pipeline(2, 1, None, seed=1)
    with pipe:
        images = fn.external_source(lambda: pictures, batch=True, layout=layout)
        operator = fn
        for part in name.split("."):
            operator = getattr(operator, part)
        made = operator(images, **start_arguments(all_operators()[name]))
        outputs = made.values() if isinstance(made, dict) else made if isinstance(made, list) else [made]
        pipe.set_outputs(*outputs)
    after = np.asarray(pipe.run()[0][0])
    before = pictures[0]
    changed = after.shape != before.shape or after.dtype != before.dtype or not np.array_equal(after, before)
    assert changed or name in NEUTRAL


@with_each("name", [name for name, op in all_operators().items() if op.source and not op.hidden])
def test_a_new_reader_has_samples_or_waits_for_its_data(name: str) -> None:
    operator = all_operators()[name]
    node: GraphNode = {"op": name, "device": "cpu", "arguments": start_arguments(operator)}
    found = check({**empty_document(), "nodes": {"reader": node}})
    assert all(problem.severity != "error" for problem in found.problems)
    for problem in found.blocked.values():
        assert about(problem.message, problem.argument).startswith(f"'{problem.argument}' must be given")
