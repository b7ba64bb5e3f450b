"""Programs for torchvision, albumentations and Keras give DALI's pictures, and draw anew for each picture."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import dali_lab
from dali_lab import formats, types
from dali_lab.graph.graph import Edge, Graph, Node
from dali_lab.studio.document.starts import first_pipeline
from tests.benchmarks.loaders import import_torchvision
from tests.unit.formats.test_formats import chain

os.environ.setdefault("KERAS_BACKEND", "torch")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root: Path = tmp_path_factory.mktemp("pictures")
    (root / "smooth").mkdir()
    y, x = np.mgrid[0:60, 0:90].astype(np.float32)
    for number in range(3):
        planes = [96 + 90 * np.sin(x / 9 + number), 96 + 90 * np.cos(y / 7), 60 + x + y]
        cv2.imwrite(str(root / "smooth" / f"{number}.png"), np.stack(planes, -1).astype(np.uint8))
    return root


def graph(folder: Path, *nodes: Node) -> Graph:
    start = (
        Node("reader", "readers.file", arguments={"file_root": str(folder)}),
        Node("picture", "decoders.image", inputs=(Edge("reader"),)),
    )
    settings = {"batch_size": 2, "seed": 7}
    return Graph({node.id: node for node in (*start, *nodes)}, (Edge(nodes[-1].id),), settings)


def program(found: Graph, library: str) -> dict[str, Any]:
    space: dict[str, Any] = {"__name__": "program"}
    exec(formats.dumps(found, library).decode(), space)
    return space


SAME = {
    "resize": ({"size": (30.0, 45.0)}, 3, 3),
    "resize_shorter": ({"resize_shorter": 30.0}, 3, 3),
    "cover": ({"size": (30.0, 60.0), "mode": "not_smaller"}, 3, 3),
    "crop": ({"crop": (20.0, 30.0)}, 0, 0),
    "rotate": ({"angle": 20.0, "keep_size": 1, "fill_value": 10.0}, 3, 3),
    "color_space_conversion": ({"image_type": types.RGB, "output_type": types.GRAY}, 1, 2),
    "contrast": ({"contrast": 1.3}, 2, 1),
    "brightness": ({"brightness": 1.2}, 2, 1),
    "invert": ({"a": 255}, 0, 0),
    "darker": ({"brightness": 0.7, "contrast": 1.8}, None, 1),
    "brightness_shift": ({"brightness_shift": 0.1}, 2, 2),
    "saturation": ({"saturation": 0.5}, 2, None),
    "gaussian_blur": ({"sigma": (0.8,)}, 2, 3),
    "cast": ({"dtype": types.FLOAT}, 0, 0),
    "crop_mirror_normalize": ({"crop": (40.0, 40.0), "mean": (9.0, 8.0, 7.0), "std": (2.0,)}, 1e-4, 1e-3),
}
OPERATORS = {
    "resize_shorter": "resize",
    "cover": "resize",
    "brightness_shift": "brightness",
    "darker": "brightness_contrast",
    "invert": "math.sub",
}


@pytest.mark.parametrize("name", SAME)
@pytest.mark.parametrize("library", ["albumentations", "keras"])
def test_constants_give_the_pictures_of_dali(folder: Path, library: str, name: str) -> None:
    arguments, *tolerances = SAME[name]
    tolerance = tolerances[library == "keras"]
    if tolerance is None:
        return  # The library does something else, and the program says so.
    found = graph(folder, Node("y", OPERATORS.get(name, name), inputs=(Edge("picture"),), arguments=arguments))
    theirs = np.asarray(program(found, library)["load"](folder / "smooth" / "0.png")).astype(np.float64)
    ours = np.asarray(dali_lab.Pipeline.from_graph(found, device_id=None).run()[0].as_cpu().at(0)).astype(np.float64)
    theirs = theirs[..., None] if theirs.ndim == 2 else theirs
    ours = ours if ours.shape[-1] == theirs.shape[-1] else np.broadcast_to(ours, theirs.shape)
    assert ours.shape == theirs.shape
    apart = np.abs(ours - theirs)
    if name == "gaussian_blur":
        apart = apart[8:-8, 8:-8]  # Keras has black beyond the edge, and says so.
    # Pixels at the rim of a rotation depend on whether its outermost half pixel is outside.
    assert np.quantile(apart, 0.97) <= tolerance


def arithmetic(name: str) -> list[Node]:
    """Nodes that make posterize, solarize or gamma of `picture`."""
    if name == "posterize":
        return [Node("y", "math.bitand", inputs=(Edge("picture"),), arguments={"b": 224})]
    if name == "gamma":
        return [
            Node("share", "math.fdiv", inputs=(Edge("picture"),), arguments={"b": 255.0}),
            Node("power", "math.pow", inputs=(Edge("share"),), arguments={"b": 0.6}),
            Node("scaled", "math.mul", inputs=(Edge("power"),), arguments={"a": 255.0}),
            Node("y", "cast", inputs=(Edge("scaled"),), arguments={"dtype": types.UINT8}),
        ]
    return [
        Node("below", "math.lt", inputs=(Edge("picture"),), arguments={"b": 100}),
        Node("above", "math.geq", inputs=(Edge("picture"),), arguments={"b": 100}),
        Node("turned", "math.sub", inputs=(Edge("picture"),), arguments={"a": 255}),
        Node("dark", "math.mul", inputs=(Edge("picture"), Edge("below"))),
        Node("light", "math.mul", inputs=(Edge("turned"), Edge("above"))),
        Node("sum", "math.add", inputs=(Edge("dark"), Edge("light"))),
        Node("y", "cast_like", inputs=(Edge("sum"), Edge("picture"))),
    ]


@pytest.mark.parametrize("name", ["posterize", "solarize", "gamma"])
@pytest.mark.parametrize("library", ["torchvision", "albumentations", "keras"])
def test_arithmetic_that_a_library_has_as_one_transform_gives_the_pictures_of_dali(
    folder: Path, library: str, name: str
) -> None:
    found = graph(folder, *arithmetic(name))
    file = folder / "smooth" / "0.png"
    if library == "keras" and name != "posterize":
        with pytest.raises(dali_lab.errors.FormatError, match="Keras has no equivalent"):
            program(found, library)
        return
    if library == "torchvision":
        import_torchvision()
        from PIL import Image

        theirs = program(found, library)["transform"](Image.open(file)).numpy().transpose(1, 2, 0)
    else:
        theirs = np.asarray(program(found, library)["load"](file))
    ours = np.asarray(dali_lab.Pipeline.from_graph(found, device_id=None).run()[0].as_cpu().at(0))
    assert np.abs(ours.astype(np.float64) - theirs.astype(np.float64)).max() <= (1 if name == "gamma" else 0)


@pytest.mark.parametrize("library", ["albumentations", "keras"])
def test_random_arguments_are_drawn_for_each_picture(folder: Path, tmp_path: Path, library: str) -> None:
    draws = {"angle": (-40.0, 40.0), "sigma": (0.4, 1.5), "contrast": (0.6, 1.4), "brightness": (0.5, 1.3)}
    nodes = [Node(name, "random.uniform", arguments={"range": ends}) for name, ends in draws.items()]
    nodes += [
        Node("small", "resize", inputs=(Edge("picture"),), arguments={"size": (32.0, 32.0)}),
        Node("turned", "rotate", inputs=(Edge("small"),), arguments={"keep_size": 1, "fill_value": 0.0},
             connections={"angle": Edge("angle")}),
        Node("soft", "gaussian_blur", inputs=(Edge("turned"),), connections={"sigma": Edge("sigma")}),
        Node("hard", "contrast", inputs=(Edge("soft"),), connections={"contrast": Edge("contrast")}),
        Node("light", "brightness", inputs=(Edge("hard"),), connections={"brightness": Edge("brightness")}),
    ]  # fmt: skip
    space = program(graph(folder, *nodes), library)
    assert (space["ROOT"], space["BATCH_SIZE"], space["SEED"]) == (str(folder), 2, 7)
    batches = [np.asarray(images) for images, _ in space["batches"]()]
    assert [batch.shape for batch in batches] == [(2, 32, 32, 3), (1, 32, 32, 3)]
    again = [np.asarray(space["load"](folder / "smooth" / "0.png")) for _ in range(3)]
    assert not np.array_equal(again[0], again[1])
    assert not np.array_equal(again[1], again[2])
    (tmp_path / "broken.png").write_bytes(b"words")
    with pytest.raises(ValueError, match=r"broken\.png"):
        space["load"](tmp_path / "broken.png")


@pytest.mark.parametrize("library", ["torchvision", "albumentations", "keras"])
def test_the_first_graph_of_a_new_user_is_written(folder: Path, library: str) -> None:
    code = formats.dumps(formats.loads(json.dumps(first_pipeline(folder))), library)
    space: dict[str, Any] = {"__name__": "program"}
    exec(code.decode(), space)
    if library == "torchvision":
        import_torchvision()
    images, labels = next(iter(space["batches"]()))
    assert len(images) == len(labels) == 3


@pytest.mark.parametrize("draw", [(0.5, 1.5), (0.2, 0.4)])
def test_factors_that_keras_draws_are_those_of_dali(folder: Path, draw: tuple[float, float]) -> None:
    """The mean picture of many draws, none of which reaches the ends of the range."""
    nodes = [
        Node("draw", "random.uniform", arguments={"range": draw}),
        Node("y", "contrast", inputs=(Edge("picture"),), connections={"contrast": Edge("draw")}),
    ]
    load = program(graph(folder, *nodes), "keras")["load"]
    picture = cv2.imread(str(folder / "smooth" / "0.png"))[..., ::-1].astype(np.float64) - 128
    factors = []
    for _ in range(20):
        result = np.asarray(load(folder / "smooth" / "0.png")).astype(np.float64) - 128
        inside = np.abs(picture * draw[1]) < 126
        found = (result[inside] * picture[inside]).sum() / (picture[inside] ** 2).sum()
        assert np.abs(result - picture * found)[inside].max() < 0.01
        factors.append(found)
    assert draw[0] <= min(factors) < max(factors) <= draw[1]


PICTURE = np.random.default_rng(1).integers(0, 255, (6, 8, 3), np.uint8).repeat(9, 0).repeat(9, 1)


def picture_batch() -> list[np.ndarray]:
    """A source that can be imported by its name."""
    return [PICTURE]


@pytest.mark.parametrize(
    ("op", "arguments", "tolerance"),
    [
        ("resize", {"size": (32.0, 40.0)}, 2),
        ("resize", {"resize_shorter": 30.0, "interp_type": types.INTERP_CUBIC}, 2),
        ("flip", {"horizontal": 1, "vertical": 1}, 0),
        ("crop", {"crop": (20.0, 30.0)}, 0),
        (
            "crop_mirror_normalize",
            {"crop": (40.0, 40.0), "mean": (10.0,), "std": (2.0,), "scale": 3.0, "mirror": 1},
            1e-4,
        ),
        ("color_space_conversion", {"image_type": types.RGB, "output_type": types.GRAY}, 1),
        ("brightness_contrast", {"brightness": 1.3}, 1),
        ("gaussian_blur", {"window_size": (5,), "sigma": (1.2,)}, 1),
        ("cast", {"dtype": types.INT16}, 0),
    ],
)
def test_torchvision_gives_the_same_pixels(op: str, arguments: dict[str, Any], tolerance: float) -> None:
    import_torchvision()
    from PIL import Image

    graph = chain(
        Node("x", "external_source", arguments={"source": picture_batch, "layout": ("HWC",)}),
        Node("y", op, inputs=(Edge("x"),), arguments=arguments),
    )
    space: dict[str, Any] = {}
    exec(formats.dumps(graph, "torchvision").decode(), space)
    theirs = space["transform"](Image.fromarray(PICTURE)).double().numpy()
    ours = np.array(dali_lab.Pipeline.from_graph(graph, device_id=None).run()[0].as_cpu().at(0)).astype(np.float64)
    ours = ours if ours.shape == theirs.shape else ours.transpose(2, 0, 1)
    # Rounding of fixed-point resampling and of grey weights.
    assert np.abs(ours - theirs).max() <= tolerance
