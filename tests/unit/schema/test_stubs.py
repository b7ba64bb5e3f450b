"""Generated files say what the declarations say."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest

from dali_lab.dynamic import stub
from dali_lab.pipeline import Pipeline
from dali_lab.pipeline.arguments import PipelineArguments
from dali_lab.schema import stubs


@pytest.mark.parametrize("file", stubs.FILES)
def test_generated_files_are_up_to_date(file: str) -> None:
    text = stubs.path(file).read_text()
    ast.parse(text)
    assert text == stubs.FILES[file](), "run: python -m dali_lab.schema.stubs"


@pytest.mark.parametrize("file", stub.FILES, ids=lambda file: file.name)
def test_stubs_of_dynamic_mode_are_up_to_date(file: Path) -> None:
    text = file.read_text()
    ast.parse(text)
    assert text == stub.FILES[file](), "run: python -m dali_lab.dynamic.stub"


def test_arguments_of_pipelines_are_those_of_the_class() -> None:
    assert list(PipelineArguments.__annotations__) == list(inspect.signature(Pipeline).parameters)
