"""Parts of the kernels that are not portable Python, each with a portable way beside it.

Kernels are Python functions that Numba compiles, and nothing else in them knows the processor, LLVM or Numba's
inside. Where that was measurably too slow, the exception lives in this folder, behind functions that a kernel calls:

- `vectors`, in ``*_vectors.py``: LLVM code for vectors, for planes that of AVX-512, for logarithms with numbers read
  from the C library's file. Instead: the kernels for any dtype and number of channels, loops in Python, NumPy, and
  calls of the library.
- `jpeg`, in ``jpeg.py`` and ``huffman.py``: structures of libjpeg-turbo in memory, ``setjmp``, and a reader of codes in
  the place of the library's. Instead: the other decoders of :mod:`dali_lab.codecs.backends`.
- `libraries`, in ``foreign.py``: C functions at addresses, and those of the operating system in ``../files.py``.
  Instead: the same libraries and files from Python.
- `instructions`, in ``instructions.py``: single instructions of LLVM. Instead: the same arithmetic in Python.
- `loading`, in ``numba_cache.py``: private names of Numba. Instead: Numba's own cache.
- `linking`, in ``numba_parts.py`` and ``linking.py``: private names of Numba. Instead: machine code of each part of a
  kernel, too, and a part for each constant that it is called with.
- `system`, in :mod:`dali_lab.model.system`: large pages, pages given back, files without names. Instead: plain memory
  and temporary files.

Results are the same bits either way, but for the estimate of a reciprocal root in `instructions`, in which makes of
processors differ. ``DALI_LAB_PLAIN=vectors,jpeg`` switches parts off, ``DALI_LAB_PLAIN=all`` all of
them: for a processor or a version of Numba on which one fails, and to find out whether one is at fault.
``arrays.py`` (arrays over memory at an address) and ``emission.py`` (what the others write LLVM code with) are needed
always.
"""

from __future__ import annotations

import os
from typing import Literal, get_args

Part = Literal["vectors", "jpeg", "libraries", "instructions", "loading", "linking", "system"]
PARTS: tuple[Part, ...] = get_args(Part)
VARIABLE = "DALI_LAB_PLAIN"


def switched_off(names: str) -> frozenset[str]:
    """Parts that a value of ``DALI_LAB_PLAIN`` names.

    Raises
    ------
    ValueError
        If there is no part of such a name.
    """
    chosen = {name.strip() for name in names.split(",")} - {""}
    unknown = chosen - {*PARTS, "all"}
    if unknown:
        raise ValueError(f"{VARIABLE} names {', '.join(sorted(unknown))}; it takes {', '.join(PARTS)} and all")
    return frozenset(PARTS if "all" in chosen else chosen)


OFF = switched_off(os.environ.get(VARIABLE, ""))
"""Parts that are switched off in this process."""


def uses(part: Part) -> bool:
    """Whether a part is used in this process; kernels have it compiled in or not."""
    return part not in OFF
