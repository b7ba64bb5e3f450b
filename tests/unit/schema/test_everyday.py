"""Other names of operators and gallery entries: of things that exist, and found in each library and language."""

from __future__ import annotations

import pytest

from dali_lab.gallery import load_gallery
from dali_lab.schema import everyday
from dali_lab.schema.registry import all_operators


def test_names_stand_for_operators_and_entries_that_exist() -> None:
    assert set(everyday.known("operators")) <= set(all_operators())
    assert set(everyday.known("gallery")) <= set(load_gallery().entries)


@pytest.mark.parametrize(
    ("library", "name", "target"),
    [
        ("torchvision", "ColorJitter", ("operators", "color_twist")),
        ("torchvision", "ToTensor", ("operators", "crop_mirror_normalize")),
        ("torchvision", "RandomPosterize", ("gallery", "posterize")),
        ("albumentations", "CoarseDropout", ("operators", "erase")),
        ("albumentations", "ElasticTransform", ("operators", "experimental.remap")),
        ("albumentations_near", "RandomShadow", ("gallery", "brightness")),
        ("keras", "RandomFlip", ("operators", "flip")),
        ("keras_near", "MaxNumBoundingBoxes", ("operators", "pad")),
        ("torchvision", "ClampBoundingBoxes", ("operators", "math.clamp")),
        ("torchvision", "RandomAutocontrast", ("operators", "reductions.max")),
        ("torchvision_near", "ConvertBoundingBoxFormat", ("operators", "coord_transform")),
    ],
)
def test_classes_of_other_libraries_lead_here(library: str, name: str, target: tuple[str, str]) -> None:
    assert target in everyday.names_in(library)[name]


@pytest.mark.parametrize("library", ["torchvision", "albumentations", "keras"])
def test_a_class_has_the_same_or_something_near_and_a_chain_of_transforms_is_no_operator(library: str) -> None:
    same, near = everyday.names_in(library), everyday.names_in(f"{library}_near")
    assert not same.keys() & near.keys()
    assert not {"Compose", "Sequential", "Pipeline"} & {*same, *near}


@pytest.mark.parametrize(
    ("word", "operator"),
    [("Weichzeichner", "gaussian_blur"), ("flou", "gaussian_blur"), ("旋转", "rotate"), ("回転", "rotate"),
     ("brillo", "brightness"), ("darken", "brightness")],
)  # fmt: skip
def test_words_of_people(word: str, operator: str) -> None:
    assert word in everyday.other_names("operators", operator)


def test_what_has_no_other_names() -> None:
    assert everyday.other_names("operators", "no.such") == []
