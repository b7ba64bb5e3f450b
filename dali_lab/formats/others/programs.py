"""Programs of torchvision, albumentations and Keras: one writer, and for each library how pictures come in."""

from __future__ import annotations

import keyword
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from dali_lab.formats.exported import exported, left_out, named
from dali_lab.formats.others.draws import NoEquivalent
from dali_lab.formats.others.reading import Chain, read_chain
from dali_lab.formats.others.step import Step
from dali_lab.formats.python.layout import WIDTH, Piece, call, definitions, lines, listing
from dali_lab.formats.python.parameters import folder_parameters
from dali_lab.graph.graph import Graph
from dali_lab.model.errors import FormatError

Name = Literal["torchvision", "albumentations", "keras"]


@dataclass(frozen=True)
class Library:
    """The form of a library's programs.

    Attributes
    ----------
    name, title
        For programs, and for people.
    pieces
        The calls of a step.
    first, nothing
        Calls before those of the steps, and one that does nothing where a list must not be empty.
    compose
        The function that takes the list of calls, and what is given to it besides.
    modules
        Import lines, by the text that a program with them contains.
    seeding
        Lines before the transforms.
    body
        The functions after the transforms; ``{stacked}`` is the way in which pictures become a batch.
    stacked
        That way for pictures of one size, and for those of several.
    """

    name: Name
    title: str
    pieces: Callable[[Step], list[Piece]]
    first: tuple[str, ...]
    nothing: str
    compose: str
    options: tuple[tuple[str, str], ...]
    modules: tuple[tuple[str, str], ...]
    seeding: tuple[str, ...]
    body: str
    stacked: tuple[str, str]


_FILES = '''
def files():
    """The pictures in the folders under ROOT, with the number of their folder."""
    folders = sorted(path for path in Path(ROOT).iterdir() if path.is_dir())
    endings = {".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp"}
    return [
        (path, label)
        for label, folder in enumerate(folders or [Path(ROOT)])
        for path in sorted(folder.rglob("*"))
        if path.suffix.lower() in endings
    ]


def batches():
    """Batches of pictures and labels, once through the files in random order."""
    found = files()
    random.Random(SEED).shuffle(found)
    for start in range(0, len(found), BATCH_SIZE):
        paths, labels = zip(*found[start : start + BATCH_SIZE])
        images = [load(path) for path in paths]
        yield {stacked}, list(labels)


def main():
    """Print the shapes of a few batches."""
    for batch, (images, labels) in zip(range(3), batches()):
        print(batch, [tuple(image.shape) for image in images], labels)
'''

TORCHVISION = Library(
    name="torchvision",
    title="torchvision",
    pieces=lambda step: step.torchvision(),
    first=("v2.ToImage()",),
    nothing="",
    compose="v2.Compose",
    options=(),
    modules=(
        ("os", "import os"),
        ("torch", "import torch"),
        ("DataLoader", "from torch.utils.data import DataLoader"),
        ("datasets", "from torchvision import datasets"),
        ("v2", "from torchvision.transforms import v2"),
    ),
    seeding=(),
    body='''
def batches():
    """Batches of pictures and labels, once through the files in random order."""
    torch.manual_seed(SEED)
    dataset = datasets.ImageFolder(ROOT, transform=transform)
    return DataLoader({stacked})


def main():
    """Print the shapes of a few batches."""
    for batch, (images, labels) in zip(range(3), batches()):
        print(batch, [tuple(image.shape) for image in images], list(map(int, labels)))
''',
    stacked=(
        "dataset, batch_size=BATCH_SIZE, shuffle=True",
        """
        dataset,
        batch_size=BATCH_SIZE,
        shuffle=True,
        collate_fn=lambda pairs: zip(*pairs),
    """,
    ),
)

ALBUMENTATIONS = Library(
    name="albumentations",
    title="albumentations",
    pieces=lambda step: step.albumentations(),
    first=(),
    nothing="A.NoOp()",
    compose="A.Compose",
    options=(("seed", "SEED"),),
    modules=(
        ("os", "import os"),
        ("random", "import random"),
        ("Path", "from pathlib import Path"),
        ("A", "import albumentations as A"),
        ("cv2", "import cv2"),
        ("np", "import numpy as np"),
        ("torch", "import torch"),
    ),
    seeding=(),
    body='''
def load(path):
    """A picture as the transforms give it."""
    image = cv2.imread(str(path))
    if image is None:
        raise ValueError(f"cannot read {path}")
    return transform(image=cv2.cvtColor(image, cv2.COLOR_BGR2RGB))["image"]

'''
    + _FILES,
    stacked=("np.stack(images)", "images"),
)

KERAS = Library(
    name="keras",
    title="Keras",
    pieces=lambda step: step.keras(),
    first=(),
    nothing="layers.Identity()",
    compose="layers.Pipeline",
    options=(),
    modules=(
        ("os", "import os"),
        ("random", "import random"),
        ("Path", "from pathlib import Path"),
        ("keras", "import keras"),
        ("np", "import numpy as np"),
        ("layers", "from keras import layers"),
    ),
    seeding=("keras.utils.set_random_seed(SEED)",),
    body='''
def load(path):
    """A picture as the layers give it; with training=False, random layers do nothing."""
    try:
        image = keras.utils.img_to_array(keras.utils.load_img(path))
    except OSError as error:
        raise ValueError(f"cannot read {path}") from error
    image = transform(image[None], training=True)
    return keras.ops.convert_to_numpy(image)[0]

'''
    + _FILES,
    stacked=("np.stack(images)", "images"),
)

LIBRARIES: dict[Name, Library] = {library.name: library for library in (TORCHVISION, ALBUMENTATIONS, KERAS)}


def dumps(graph: Graph, library: Name = "torchvision", *, name: str = "transform", here: bool = False) -> str:
    """A program with the transforms of a graph's first output, and batches of a folder of pictures.

    Parameters
    ----------
    library
        The library that it imports.
    name
        The variable that holds the transforms.
    here
        Whether paths that begin with ``./`` start at the folder of the program.

    Raises
    ------
    FormatError
        With the list of all nodes that have no equivalent, and why.
    """
    spoken = LIBRARIES[library]
    graph = exported(graph)
    chain, pieces = _written(graph, spoken)
    name = name if name.isidentifier() and not keyword.iskeyword(name) else "transform"
    items = [("", listing([*spoken.first, *pieces] or [spoken.nothing]))]
    options: list[tuple[str, Piece]] = [(f"{key}=", value) for key, value in spoken.options]
    notes = [f"# Not quite as in DALI: {note}." for note in _notes(chain, spoken)]
    notes += [f"# Left out: {', '.join(node.id for node in chain.beside)}."] if chain.beside else []
    notes = [line for note in notes for line in textwrap.wrap(note, WIDTH, subsequent_indent="# ")]
    whole = call(spoken.compose, [*items, *options])
    composed = lines(f"{name} = ", whole)
    batched = spoken.stacked[chain.size is None]
    if "ToTensorV2" in "\n".join(composed):
        batched = batched.replace("np.stack", "torch.stack")
    body = spoken.body.replace("{stacked}", batched).replace("transform=transform", f"transform={name}")
    body = body.strip("\n").replace("transform(image", f"{name}(image")
    seeding = [*spoken.seeding, *([""] if spoken.seeding else [])]
    top = folder_parameters(graph, chain.reader, here=here)
    used = dict.fromkeys(definitions(whole))
    helpers = [line for text in used for line in ["", *text.rstrip().split("\n"), ""]] + [""]
    code = "\n".join([*top, *helpers, *seeding, *notes, *composed, "", "", body])
    code += '\n\n\nif __name__ == "__main__":\n    main()\n'
    return "\n".join([*_imports(code, spoken), "", ""]) + code


def lost(graph: Graph, library: Name) -> list[str]:
    """Parts that are left out, and results that differ by more than rounding, in sentences."""
    result = left_out(graph)
    try:
        chain, _ = _written(exported(graph), LIBRARIES[library])
    except FormatError:
        return result
    if chain.beside:
        result.append(f"left out, because only pictures are written: {', '.join(node.id for node in chain.beside)}")
    return [*result, *_notes(chain, LIBRARIES[library])]


def _written(graph: Graph, library: Library) -> tuple[Chain, list[Piece]]:
    """The steps of a graph and their calls."""
    chain = read_chain(graph)
    refused = [(node, reason) for node, reason in chain.refused]
    pieces: list[Piece] = []
    for node, step in chain.steps:
        try:
            pieces += library.pieces(step)
        except NoEquivalent as error:
            refused.append((node, str(error)))
    if refused:
        order = list(graph.nodes)
        refused.sort(key=lambda item: order.index(item[0].id))
        reasons = dict.fromkeys(
            f"{named(node.id, node.op)}: {reason.format(library.title)}" for node, reason in refused
        )
        raise FormatError(f"{library.title} has no equivalent for:\n  " + "\n  ".join(reasons))
    return chain, pieces


def _notes(chain: Chain, library: Library) -> list[str]:
    """Differences by more than rounding, each with the nodes that it is about."""
    found: dict[str, list[str]] = {}
    for node, step in chain.steps:
        note = step.note(library.name)
        if note and node.id not in found.setdefault(note, []):
            found[note].append(node.id)
    return [f"{', '.join(names)}: {note}" for note, names in found.items()]


def _imports(code: str, library: Library) -> list[str]:
    import ast

    used = {node.id for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Name)}
    found = [line for word, line in library.modules if word in used]
    own = ("import os", "import random", "from pathlib")
    standard = sorted(line for line in found if line.startswith(own))
    standard.sort(key=lambda line: (line.startswith("from"), line))
    others = [line for line in found if not line.startswith(own)]
    others.sort(key=lambda line: (line.startswith("from"), line))
    return [*standard, *([""] if standard and others else []), *others]


__all__ = ["LIBRARIES", "dumps", "lost"]
