"""Operators of other packages, by their entry points: the one of the guide, and one that cannot be imported."""

from __future__ import annotations

import os
from pathlib import Path

from tests.programs import run_python

GUIDE = Path(__file__).parents[3] / "CONTRIBUTING.md"
PROGRAM = """
import warnings
import numpy as np
from dali_lab import Pipeline, fn, ops
from dali_lab.formats.json import graph_file as json_file
from dali_lab.formats.python import writer as python_code
from dali_lab.studio.catalogue import catalogue

with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    names = [row.name for row in catalogue().operators]
assert "vendor.invert" in names
assert any("vendor_broken" in str(each.message) for each in caught)
images = [np.full((2, 3, 3), 40, np.uint8), np.full((1, 4, 3), 250, np.uint8)]
with Pipeline(2, 1, None) as pipeline:
    batch = fn.external_source(source=lambda: images, layout="HWC", name="images")
    pipeline.set_outputs(fn.vendor.invert(batch), ops.vendor.Invert(amount=0.0)(batch))
inverted, same = pipeline.run()
for index, image in enumerate(images):
    np.testing.assert_array_equal(inverted.at(index), 255 - image)
    np.testing.assert_array_equal(same.at(index), image)
with Pipeline(2, 1, None) as pipeline:
    pipeline.set_outputs(fn.vendor.invert(fn.external_source(name="images", layout="HWC"), amount=0.5))
assert json_file.from_document(json_file.to_document(pipeline.graph)) == pipeline.graph
assert "fn.vendor.invert(images, amount=0.5)" in python_code.dumps(pipeline.graph)
print("as built in")
"""


def installed(folder: Path, package: str, text: str) -> None:
    """An installed package with one module, which offers operators."""
    (folder / f"{package}.py").write_text(text, encoding="utf-8")
    info = folder / f"{package}-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[dali_lab.operators]\n{package} = {package}\n", encoding="utf-8")


def test_its_operators_are_as_those_built_in(tmp_path: Path) -> None:
    walk_through = GUIDE.read_text(encoding="utf-8").split("## Adding an operator", 1)[1]
    code = walk_through.split("```python\n", 1)[1].split("```", 1)[0]
    assert 'name = "invert"' in code
    installed(tmp_path, "vendor_invert", code.replace('name = "invert"', 'name = "vendor.invert"'))
    installed(tmp_path, "vendor_broken", "raise RuntimeError('not today')\n")
    done = run_python("-c", PROGRAM, cwd=tmp_path, PYTHONPATH=os.pathsep.join([str(tmp_path), str(GUIDE.parent)]))
    assert done.stdout.split("\n")[0] == "as built in"
