"""One class is all it takes: a new operator appears everywhere, runs, travels, and can be taken out again."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

import numpy as np
import pytest

from dali_lab import Pipeline, fn, formats, ops
from dali_lab.formats.json import graph_file as json_file
from dali_lab.formats.python import writer as python_code
from dali_lab.model.batch import Batch
from dali_lab.model.errors import FormatError
from dali_lab.schema import Arg, Call, Input, Operator, Output, find_operator, register
from dali_lab.schema.reference import docstring
from dali_lab.schema.registry import unregister
from dali_lab.studio.catalogue import catalogue


@pytest.fixture
def invert() -> Iterator[type[Operator]]:
    @register
    class Invert(Operator):
        """Inverts the colours of images: ``out = 255 − in``."""

        name = "test_only.invert"
        family = "color"
        title = "Invert"
        inputs = (Input("data", layouts=("HWC",), doc="UINT8 images."),)
        outputs = (Output("data"),)
        frames = True
        arguments = (Arg("amount", "float", 1.0, "How much.", tensor=True, minimum=0.0, maximum=1.0, important=True),)

        def run(self, call: Call, data: Batch) -> Batch:
            from dali_lab.kernels.cpu import color

            out = call.allocate(data.shapes, data.dtype, data.layout)
            amount = call.numbers("amount")
            color.scale(data.addresses, out.addresses, data.sizes, 1 - 2 * amount, 255 * amount, np.uint8, np.uint8)
            return out

    yield Invert
    unregister("test_only.invert")


IMAGES = [np.arange(24, dtype=np.uint8).reshape(2, 4, 3), np.full((1, 1, 3), 200, np.uint8)]


def test_it_is_everywhere_and_runs(invert: type[Operator]) -> None:
    assert "amount" in inspect.signature(fn.test_only.invert).parameters
    assert "Inverts the colours" in fn.test_only.invert.__doc__
    assert hasattr(ops.test_only, "Invert")
    assert find_operator(invert.schema_name) is invert
    assert "Range: [0, 1]" in docstring(invert)
    entry = next(row for row in catalogue().operators if row.name == "test_only.invert")
    assert entry.arguments[0].maximum == 1.0

    with Pipeline(2, 1, None) as pipeline:
        images = fn.external_source(source=lambda: IMAGES, layout="HWC", name="images")
        pipeline.set_outputs(fn.test_only.invert(images, amount=1.0))
    (result,) = pipeline.run()
    for index, image in enumerate(IMAGES):
        np.testing.assert_array_equal(result.at(index), 255 - image)


def test_it_travels_and_is_checked(invert: type[Operator]) -> None:
    with Pipeline(2, 1, None) as pipeline:
        encoded, _ = fn.readers.file(files=["a.jpg", "b.jpg"])
        pipeline.set_outputs(fn.test_only.invert(fn.decoders.image(encoded), amount=0.25))
    graph = pipeline.graph
    assert json_file.from_document(json_file.to_document(graph)) == graph
    assert "fn.test_only.invert(image, amount=0.25)" in python_code.dumps(graph)
    with pytest.raises(FormatError, match="an operator of DALI Lab alone"):  # NVIDIA DALI does not have it
        formats.dumps(graph, "dali-serialized")
    with pytest.raises(ValueError, match=r"amount.*must be in range \[0, 1\], not 2"), Pipeline(1, 1, None):
        fn.test_only.invert(fn.external_source(source=lambda: IMAGES), amount=2.0)
