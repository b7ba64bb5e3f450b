"""Operators' declarations, under the names of NVIDIA DALI's ``OpSchema``."""

from __future__ import annotations

import pytest

from dali_lab import backend, fn, ops
from tests.together import with_each

oracle = pytest.importorskip("nvidia.dali.backend")
NAMES = ["Resize", "readers__File", "random__Uniform", "Cat", "ElementExtract", "decoders__Image"]


@pytest.mark.parametrize("name", NAMES)
def test_schemas_say_what_those_of_nvidia_dali_say(name: str) -> None:
    ours, theirs = backend.GetSchema(name), oracle.GetSchema(name)
    for method in ("Name", "OperatorName", "ModulePath", "MinNumInput", "MaxNumInput", "IsStateful"):
        assert getattr(ours, method)() == getattr(theirs, method)(), method
    for argument in set(ours.GetArgumentNames()) & set(theirs.GetArgumentNames()):
        assert ours.IsArgumentOptional(argument) == theirs.IsArgumentOptional(argument), argument
        assert ours.IsTensorArgument(argument) == theirs.IsTensorArgument(argument), argument
        assert ours.HasArgumentDefaultValue(argument) == theirs.HasArgumentDefaultValue(argument), argument


def test_operators_take_all_arguments_of_nvidia_dali() -> None:
    for name in {*oracle.RegisteredCPUOps(), *oracle.RegisteredGPUOps(), *oracle.RegisteredMixedOps()}:
        ours = backend.TryGetSchema(name)
        if ours is not None:
            theirs = oracle.GetSchema(name).GetArgumentNames()
            assert not set(theirs) - set(ours.GetArgumentNames(include_hidden=True)) - {"preserve_name"}, name


def test_operators_that_are_not_there() -> None:
    with pytest.raises(KeyError, match="Nope"):
        backend.GetSchema("Nope")
    assert backend.TryGetSchema("resize") is None  # that is a name under fn
    with pytest.raises(KeyError, match="colour"):
        backend.GetSchema("Resize").GetArgumentType("colour")
    with pytest.raises(ValueError, match="size"):
        backend.GetSchema("Resize").GetArgumentDefaultValueString("size")


def test_operators_know_their_schema() -> None:
    assert ops.FileReader.schema_name == "FileReader"
    assert ops.Resize(size=3).schema.Name() == ops.Resize.schema_name == fn.resize._schema_name == "Resize"
    assert fn.file_reader._schema_name == "FileReader"


@with_each("name", backend.RegisteredCPUOps())
def test_every_operator_describes_its_arguments(name: str) -> None:
    schema = backend.GetSchema(name)
    for argument in schema.GetArgumentNames(include_hidden=True):
        assert schema.GetArgumentType(argument).name
        if schema.HasArgumentDefaultValue(argument):
            assert schema.GetArgumentDefaultValueString(argument)


def test_settings_of_memory_are_kept() -> None:
    before = backend.GetHostBufferGrowthFactor()
    backend.SetBufferGrowthFactor(2.0)
    assert backend.GetHostBufferGrowthFactor() == backend.GetDeviceBufferGrowthFactor() == 2.0
    backend.SetBufferGrowthFactor(before)
