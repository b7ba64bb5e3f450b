"""A kernel as Python knows it: its file, the structures it takes, and the types it is made for."""

from __future__ import annotations

import functools
import importlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from dali_lab.model.errors import DeviceError

if TYPE_CHECKING:
    from dali_lab.kernels.cuda.launching import Launcher

F = TypeVar("F", bound=Callable[..., Any])
HERE = Path(__file__).parent
COMMON = "common.cuh"
THREADS = 256
"""Threads of a block."""
MOST = 2**31 - 1
"""The largest extent."""


def stated(file: str, name: str) -> int:
    """A number that an enumeration of a file in this folder states, such as the width of a tile."""
    found = re.search(rf"\b{name} = (\d+)", (HERE / file).read_text())
    assert found is not None, f"{file} does not state {name}"
    return int(found[1])


class Structure:
    """A structure that is a field of others, such as an axis of a resampling.

    Attributes
    ----------
    name
        Its name in C++.
    dtype
        Its layout.
    """

    def __init__(self, name: str, fields: Fields) -> None:
        self.name = name
        self.dtype = np.dtype(listed(fields), align=True)


Field = tuple[str, str] | tuple[str, str, int] | tuple[str, Structure]
Fields = Sequence[str | Field]


def listed(fields: Fields) -> list[Any]:
    """Fields one by one; a text names several of a type, with lengths: ``"i4 height width"``, ``"f4 matrix[9]"``."""
    found: list[Any] = []
    for each in fields:
        if isinstance(each, str):
            kind, *names = each.split()
            for name, _, length in (name.rstrip("]").partition("[") for name in names):
                found.append((name, kind, int(length)) if length else (name, kind))
        else:
            found.append(each)
    return found


C_TYPES = {
    "b1": "bool",
    "u1": "unsigned char",
    "i1": "signed char",
    "u2": "unsigned short",
    "i2": "short",
    "u4": "unsigned int",
    "i4": "int",
    "u8": "unsigned long long",
    "i8": "long long",
    "f2": "half",
    "f4": "float",
    "f8": "double",
}
"""The C++ name of each type of element, by NumPy's short name."""
NUMBERS = tuple(C_TYPES)
WORDS = ("u1", "u2", "u4", "u8")


def short(dtype: npt.DTypeLike) -> str:
    """NumPy's short name of a type of element, such as ``"f4"``."""
    found = np.dtype(dtype)
    return f"{found.kind}{found.itemsize}"


def structure(name: str, dtype: np.dtype[Any], inner: dict[str, Structure]) -> str:
    """A C++ structure with the layout of a structured dtype, and assertions that it has it.

    Fields of type ``u8`` are addresses: `void*` where the name begins with ``out``, else `const void*`.
    """
    lines, checks = [], [f'static_assert(sizeof({name}) == {dtype.itemsize}, "size of {name}");']
    for field in dtype.names or ():
        kind, offset = dtype.fields[field][:2]  # type: ignore[index]
        base, shape = kind.subdtype if kind.subdtype is not None else (kind, ())
        c_type = inner[field].name if field in inner else C_TYPES[short(base)]
        if short(base) == "u8":
            c_type = "void*" if field.startswith("out") else "const void*"
        extent = "".join(f"[{n}]" for n in shape)
        lines.append(f"    {c_type} {field}{extent};")
        checks.append(f'static_assert(__builtin_offsetof({name}, {field}) == {offset}, "{name}.{field}");')
    return "\n".join([f"struct {name} {{", *lines, "};", *checks])


@dataclass(frozen=True)
class Variant:
    """A kernel for certain types: what is compiled."""

    kernel: Kernel
    types: tuple[str | int | bool, ...]

    @property
    def label(self) -> str:
        """A name for people and for reports."""
        return f"{self.kernel.name}<{', '.join(map(str, self.types))}>"

    @functools.cached_property
    def _call(self) -> str:
        names = [C_TYPES[t] if isinstance(t, str) else str(t).lower() for t in self.types]
        arguments = f"<{', '.join(names)}>" if names else ""
        return f"{self.kernel.name}{arguments}(table, param);"

    @functools.cached_property
    def source(self) -> str:
        """The whole text, but for the entry point: shared header, structures, file."""
        kernel = self.kernel
        return "\n".join(
            [
                (HERE / COMMON).read_text(),
                *dict.fromkeys(text for other in kernel.beside() for text in other.structures()),
                *((HERE / name).read_text() for name in kernel.headers),
                f'#line 1 "{kernel.file}"',
                kernel.text,
            ]
        )

    def entry(self, name: str = "entry") -> str:
        """Its entry point on a GPU, in C++; several of one kernel can stand behind one :attr:`source`."""
        title = self.kernel.title
        return f'extern "C" __global__ void {name}(const {title}Sample* table, {title}Param param) {{ {self._call} }}'

    def device_source(self) -> str:
        """The text for NVRTC."""
        return f"{self.source}\n{self.entry()}\n"

    def host_source(self) -> str:
        """The text for a C++ compiler, with a loop over blocks and threads as the entry point."""
        threads = "1" if self.kernel.shares else "threads"
        return f"""#include "host.h"
{self.source}
extern "C" void entry(const {self.kernel.title}Sample* table, const {self.kernel.title}Param* given,
                      int across, int down, int threads) {{
    const {self.kernel.title}Param param = *given;
    HOST_LOOP(across, down, {threads}) {{ {self._call} }}
}}
"""


class Kernel:
    """A function of a ``.cu`` file.

    Parameters
    ----------
    file
        Its file in this folder.
    name
        The template function:
        ``template <class In, …> __device__ void name(const NameSample* table, const NameParam& param)``.
    sample
        Fields of a sample's row, as :func:`listed` takes them, types as NumPy writes them. A field of
        type ``"u8"`` is an address: written where its name begins with ``out``, else only read.
    param
        Fields that hold for the whole launch; ``count``, the number of samples, is always the first.
    types
        The values of each template parameter: names of types (``"f4"``), or numbers and booleans.
    headers
        Files of this folder whose text stands before it.
    own
        It is no kernel of the project: a text of its own, not in a file of this folder.
    shares
        The threads of a block work together through shared memory, in loops ``FOR_BLOCK`` with ``__syncthreads()``
        between them, which all threads of a block come to; on the host such a block has one thread.
    """

    def __init__(
        self,
        file: str,
        name: str,
        sample: Fields,
        param: Fields = (),
        types: Sequence[Sequence[str | int | bool]] = (),
        headers: Sequence[str] = (),
        own: bool = False,
        shares: bool = False,
    ) -> None:
        self.file = file
        self.name = name
        fields = listed(sample)
        self._inner = {field[0]: field[1] for field in fields if isinstance(field[1], Structure)}
        plain = [(field[0], field[1].dtype) if isinstance(field[1], Structure) else field for field in fields]
        self.sample = np.dtype(plain, align=True)
        self.param = np.dtype([("count", "i4"), *listed(param)], align=True)
        self.types = tuple(tuple(choice) for choice in types)
        self._variants: dict[tuple[Any, ...], Variant] = {}
        self.headers = tuple(headers)
        self.own = own
        self.shares = shares
        if not own:
            KERNELS.append(self)

    @property
    def title(self) -> str:
        """The beginning of its structures' names: ``GatherSample`` and ``GatherParam`` for ``gather``."""
        return "".join(part.capitalize() for part in self.name.split("_"))

    def beside(self) -> list[Kernel]:
        """The kernels of its file, whose structures the text names."""
        return [self] if self.own else [other for other in KERNELS if other.file == self.file]

    def structures(self) -> list[str]:
        """The structures in C++, those first that are parts of others."""
        parts = {part.name: part.dtype for part in self._inner.values()}
        return [
            *(structure(name, dtype, {}) for name, dtype in parts.items()),
            structure(f"{self.title}Sample", self.sample, self._inner),
            structure(f"{self.title}Param", self.param, {}),
        ]

    @functools.cached_property
    def text(self) -> str:
        """The text of the file."""
        return (HERE / self.file).read_text()

    @functools.cached_property
    def _counted(self) -> frozenset[str]:
        """The fields of a sample that are 32-bit integers."""
        kinds = {name: self.sample.fields[name][0] for name in self.sample.names or ()}  # type: ignore[index]
        return frozenset(name for name, kind in kinds.items() if kind.base == np.dtype("i4"))

    @functools.cached_property
    def addresses(self) -> tuple[tuple[str, bool], ...]:
        """The fields of a sample that are addresses, and whether what they point to is written."""
        return _addresses(self.sample)

    @functools.cached_property
    def parameters(self) -> tuple[tuple[str, bool], ...]:
        """The parameters that are addresses, likewise."""
        return _addresses(self.param)

    def variant(self, *types: Any) -> Variant:
        """The kernel for these types, given as dtypes, names, numbers or booleans.

        Raises
        ------
        TypeError
            If it is not made for one of them.
        """
        key = tuple(t if isinstance(t, (bool, int)) else short(t) for t in types)
        if key not in self._variants:
            if len(key) != len(self.types):
                raise TypeError(f"{self.name} takes {len(self.types)} types, got {key}")
            for value, allowed in zip(key, self.types, strict=True):
                if value not in allowed:
                    raise TypeError(f"{self.name} is not made for {value}, but for {', '.join(map(str, allowed))}")
            self._variants[key] = Variant(self, key)
        return self._variants[key]

    def covering(self) -> Iterator[Variant]:
        """Variants in which every choice of every type occurs at least once: what compile tests try."""
        longest = max((len(choice) for choice in self.types), default=1)
        columns = [list(itertools.islice(itertools.cycle(choice), longest)) for choice in self.types]
        for index in range(longest):
            yield self.variant(*(column[index] for column in columns))

    def launch(
        self,
        gpu: Launcher,
        types: Sequence[Any],
        work: npt.ArrayLike,
        sample: Mapping[str, Any],
        param: Mapping[str, Any] | None = None,
    ) -> None:
        """Run over all samples.

        Parameters
        ----------
        gpu
            Where to.
        types
            Template arguments.
        work
            For each sample the number of threads that have something to do (its number of output elements, say).
        sample
            Columns of the table, ``[N]`` or ``[N, length]``, or one value for all. A key such as ``"height width"``
            has the columns of a table. A column ``total`` that is left out is `work`.
        param
            Values of the parameter structure.
        """
        most = int(np.max(work, initial=0))
        if most:
            table, row = self._filled(work, sample, param)
            gpu.launch(self.variant(*types), table, row, most)

    def run_on_host(
        self,
        types: Sequence[Any],
        work: npt.ArrayLike,
        sample: Mapping[str, Any],
        param: Mapping[str, Any] | None = None,
    ) -> None:
        """Run over samples in memory of the CPU, compiled for it; the arguments are those of :meth:`launch`."""
        from dali_lab.kernels.cuda import host

        if int(np.max(work, initial=0)):
            table, row = self._filled(work, sample, param)
            host.call(self.variant(*types), table, row, 1, len(table), 1)

    def _filled(
        self, work: npt.ArrayLike, sample: Mapping[str, Any], param: Mapping[str, Any] | None
    ) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
        count = len(np.atleast_1d(work))
        table = np.zeros(count, self.sample)
        implied = {"total": work} if "total" in (self.sample.names or ()) else {}
        for names, values in {**implied, **sample}.items():
            fields = names.split()
            for field, column in zip(fields, np.asarray(values).T if len(fields) > 1 else [values], strict=True):
                if field in self._counted:
                    _refuse_large(self.name, field, column)
                table[field] = column
        row = np.zeros(1, self.param)
        row["count"] = count
        for field, value in (param or {}).items():
            row[field] = value
        return table, row


def _refuse_large(kernel: str, field: str, values: Any) -> None:
    """Refuse what a 32-bit field would cut off: NumPy does so without a word."""
    given = np.asarray(values)
    if given.dtype.itemsize > 4 and given.size and given.max() > MOST:
        raise DeviceError(f"{kernel}: {field} is {given.max()}, and a GPU's kernels count up to {MOST}")


def _addresses(dtype: np.dtype[Any]) -> tuple[tuple[str, bool], ...]:
    kinds = {name: dtype.fields[name][0] for name in dtype.names or ()}  # type: ignore[index]
    return tuple((name, name.startswith("out")) for name, kind in kinds.items() if kind.base == np.dtype("u8"))


KERNELS: list[Kernel] = []
"""All kernels whose modules were imported."""


def all_kernels() -> list[Kernel]:
    """Every kernel there is: imports all modules of this folder."""
    for path in sorted(HERE.glob("*.cu")):
        importlib.import_module(f"dali_lab.kernels.cuda.{path.stem}")
    return list(KERNELS)


def launches(function: F) -> F:
    """Mark a function that takes a launcher first: :meth:`dali_lab.schema.Call.kernels` gives it the call's."""
    function.launches = True  # type: ignore[attr-defined]
    return function
