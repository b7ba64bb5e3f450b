"""The object API matches the functions, under today's names and those of older releases."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import dali_lab
from dali_lab import Pipeline, fn, ops, types
from dali_lab.schema import aliases
from dali_lab.schema.registry import all_operators, has_operator


def images() -> Any:
    return fn.external_source(
        source=lambda i: np.arange(2 * 6 * 8 * 3, dtype=np.uint8).reshape(2, 6, 8, 3), layout="HWC"
    )


def run(define: Any) -> list[Any]:
    pipeline = Pipeline(2, 1, None, seed=5)
    with pipeline:
        nodes = define()
        pipeline.set_outputs(*(nodes if isinstance(nodes, (list, tuple)) else (nodes,)))
    return [np.array(out.at(0)) for out in pipeline.run()]


def test_objects_do_what_functions_do() -> None:
    def objects() -> Any:
        flip = ops.Flip(horizontal=0, vertical=1, device="cpu")
        return flip(images()), flip(images(), name="second")

    def functions() -> Any:
        return fn.flip(images(), horizontal=0, vertical=1), fn.flip(images(), horizontal=0, vertical=1)

    for left, right in zip(run(objects), run(functions), strict=True):
        np.testing.assert_array_equal(left, right)


def test_there_is_a_class_for_each_operator() -> None:
    for operator in all_operators().values():
        if operator.schema_name.startswith("_"):
            continue
        found: Any = ops
        for part in operator.schema_name.split("__"):
            found = getattr(found, part.lstrip("_"))
        assert issubclass(found, ops.OperatorObject) and found.__doc__


def test_old_names_have_successors() -> None:
    for alias in aliases.ALIASES.values():
        if not has_operator(alias.successor):
            continue
        function: Any = fn
        for part in alias.name.split("."):
            function = getattr(function, part)
        found: Any = ops
        for part in alias.schema_name.split("__"):
            found = getattr(found, part)
        assert callable(function) and found.operator_name == alias.successor


def test_old_names_warn_at_each_use() -> None:
    words = r"^WARNING: `nvidia\.dali\.fn\.coin_flip` is now deprecated\. Use `nvidia\.dali\.fn\.random\.coin_flip`"
    with pytest.warns(DeprecationWarning, match=words) as caught:
        run(lambda: [fn.coin_flip(probability=0.5), fn.coin_flip(probability=0.25)])
    assert [each.filename for each in caught] == [__file__, __file__]
    with pytest.warns(
        DeprecationWarning, match=r"ops\.Uniform` is now deprecated\. Use `nvidia\.dali\.fn\.random"
    ) as caught:
        run(lambda: [ops.Uniform(range=(0.0, 1.0))(), ops.Uniform(range=(2.0, 3.0))()])
    assert [each.filename for each in caught] == [__file__, __file__]


def test_operators_without_a_successor_of_their_name_warn() -> None:
    numbers = np.zeros((2, 3), np.float32)
    with pytest.warns(DeprecationWarning, match=r"^WARNING: `nvidia\.dali\.fn\.shapes` is now deprecated\.") as caught:
        run(lambda: fn.shapes(numbers))
    with pytest.warns(DeprecationWarning, match=r"^WARNING: `nvidia\.dali\.ops\.Shapes` is now deprecated\.") as made:
        run(lambda: ops.Shapes()(numbers))
    assert {each.filename for each in (*caught, *made)} == {__file__}


def test_old_arguments() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        (out,) = run(
            lambda: ops.CropMirrorNormalize(
                output_dtype=types.FLOAT,
                output_layout=types.NCHW,
                crop=(4, 5),
                image_type=types.RGB,
                mean=[1.0, 2.0, 3.0],
                std=[2.0, 2.0, 2.0],
            )(images(), mirror=ops.CoinFlip(probability=0.0)())
        )
    assert out.shape == (3, 4, 5) and out.dtype == np.float32


def test_arguments_are_checked_when_the_object_is_made() -> None:
    with pytest.raises(dali_lab.DaliLabError, match="did you mean 'horizontal'") as caught:
        ops.Flip(horisontal=1)
    assert "test_ops.py:" in str(caught.value)
    with pytest.raises(dali_lab.DaliLabError, match="given already"):
        run(lambda: ops.Flip(horizontal=1)(images(), horizontal=0))
    with pytest.raises(dali_lab.DaliLabError, match="keyword"):
        ops.Flip(1)


def test_compose() -> None:
    def composed() -> Any:
        return ops.Compose([ops.Flip(horizontal=1), ops.Flip(horizontal=0, vertical=1)])(images())

    (out,) = run(composed)
    np.testing.assert_array_equal(out, run(images)[0][::-1, ::-1])


def test_external_sources_and_functions_as_objects() -> None:
    def define() -> Any:
        source = ops.ExternalSource(lambda: [np.ones(3, np.float32)] * 2, layout="W")
        double = ops.PythonFunction(lambda array: array * 2, num_outputs=1)
        return double(source())

    np.testing.assert_array_equal(run(define)[0], [2, 2, 2])


def test_what_is_not_there_is_said() -> None:
    with pytest.raises(AttributeError, match=r"dali_lab\.ops' has no attribute 'Nothing'"):
        ops.Nothing  # noqa: B018


def test_an_external_source_that_is_fed_has_a_node_for_each_output() -> None:
    pipeline = dali_lab.Pipeline(batch_size=2, num_threads=1, device_id=None)
    with pipeline:
        nodes = ops.ExternalSource(num_outputs=2, layout=["W", "H"])()
        pipeline.set_outputs(*nodes)
    for value, node in enumerate(nodes):
        pipeline.feed_input(node, np.full((2, 3), value))
    first, second = pipeline.run()
    assert (first.layout(), second.layout()) == ("W", "H")
    assert (first.at(0)[0], second.at(1)[0]) == (0, 1)
