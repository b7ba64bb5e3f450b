"""A graph from the editor trains: the exported file, run by itself, feeds a PyTorch loop for two epochs."""

from __future__ import annotations

from pathlib import Path

import cv2

from dali_lab import cli, formats
from dali_lab.formats.json import graph_file as json_file
from dali_lab.formats.python import writer as python_code
from dali_lab.graph.graph import Edge
from dali_lab.schema.samples import picture
from dali_lab.studio.document.starts import first_pipeline
from tests.programs import run_python
from tests.unit.formats.test_python_code import ROOT, example

LOOP = """
import torch
from exported import pipeline
from dali_lab.plugin.pytorch import DALIClassificationIterator, LastBatchPolicy

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.AdaptiveAvgPool2d(4), torch.nn.Flatten(), torch.nn.Linear(48, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
batches = DALIClassificationIterator(
    pipeline(), reader_name="reader", last_batch_policy=LastBatchPolicy.PARTIAL, auto_reset=True
)
for epoch in range(2):
    seen = 0
    for batch in batches:
        images, labels = batch[0]["data"], batch[0]["label"].squeeze(-1).long()
        assert images.shape[1:] == (3, 224, 224) and images.dtype == torch.float32
        loss = torch.nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        assert torch.isfinite(loss)
        seen += len(images)
    print("epoch", epoch, "samples", seen)
"""


def test_two_epochs(tmp_path: Path) -> None:
    pictures = tmp_path / "pictures"
    for label in ("left", "right"):
        (pictures / label).mkdir(parents=True)
        for index in range(5):
            cv2.imwrite(str(pictures / label / f"{index}.jpg"), picture(60 + index, 80, seed=index))
    graph = json_file.from_document(first_pipeline(str(pictures)))
    formats.dump(graph, tmp_path / "drawn.dali.json")
    arguments = [
        "export",
        str(tmp_path / "drawn.dali.json"),
        "--to",
        "python",
        "--output",
        str(tmp_path / "exported.py"),
    ]
    assert cli.main(arguments) == 0
    (tmp_path / "train.py").write_text(LOOP)
    assert run_python("train.py", cwd=tmp_path).stdout.splitlines() == ["epoch 0 samples 10", "epoch 1 samples 10"]


def test_the_loop_of_a_program(tmp_path: Path) -> None:
    graph = example().replaced(outputs=(Edge("brighter"), Edge("max")))
    code = python_code.dumps(graph, main="pytorch", batches=2)
    assert 'DALIGenericIterator([pipe], ["brighter", "max_"])' in code
    path = tmp_path / "program.py"
    path.write_text(code)
    done = run_python(path, PYTHONPATH=ROOT)
    assert done.stdout.splitlines() == ["brighter (2, 3, 3, 3)", "max_ (2, 3, 3, 3)"] * 2
