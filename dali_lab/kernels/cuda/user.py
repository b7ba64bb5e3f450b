"""Kernels that users register under a name."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from dali_lab.kernels.cuda.kernel import C_TYPES, Kernel
from dali_lab.kernels.registered import Registered

AXES = 8
NUMBERS_MOST = 16


@dataclass(frozen=True)
class UserSource:
    """CUDA C++ with a function ``__device__ void name(const Sample& sample, i64 i)``, called for each element."""

    name: str
    source: str


@dataclass(frozen=True)
class UserFunction:
    """A Python function that launches work by itself: ``function(outputs, inputs, numbers)``.

    `outputs` and `inputs` are lists of lists of arrays: for each output or input, one array a sample. They are CuPy's
    on a GPU, where the current stream is the one to use, and NumPy's elsewhere. `numbers` is ``float32[N, K]``.
    """

    name: str
    function: Callable[..., None]


_registered: Registered[UserSource | UserFunction] = Registered("kernel", "dali_lab.plugin.cuda.register")
registered = _registered.find


def register(name: str, *, source: str | None = None, function: Callable[..., None] | None = None) -> None:
    """Register a kernel for ``fn.experimental.cuda_kernel``; one of the same name is replaced.

    Parameters
    ----------
    name
        Its name; for a `source` also that of the function in it.
    source
        CUDA C++. ``sample`` has ``in0``, ``in1``, … and ``out`` (pointers to elements), ``in0_shape``, …,
        ``out_shape`` (``int[8]``), ``total`` (elements of the output) and ``numbers`` (``float[16]``). Elements of
        FLOAT16 are ``half``; ``widen(x)`` and ``saturate<T>(x)`` convert. The text is compiled for the host, too.
    function
        Instead of a source; see :class:`UserFunction`.

    Raises
    ------
    ValueError
        If there are both or neither, or the name is no identifier.
    """
    if (source is None) == (function is None):
        raise ValueError("a kernel is either a source or a function")
    if not name.isidentifier():
        raise ValueError(f"{name!r} cannot be the name of a function")
    _registered[name] = UserSource(name, source) if source is not None else UserFunction(name, function)  # type: ignore[arg-type]


class UserKernel(Kernel):
    """A user's source for certain types of inputs and output."""

    def __init__(self, source: UserSource, inputs: Sequence[str], output: str) -> None:
        self._source = source
        self._kinds = (tuple(inputs), output)
        shapes = [(f"in{k}_shape", "i4", AXES) for k in range(len(inputs))]
        super().__init__(
            f"{source.name}.cu",
            f"run_{source.name}",
            sample=(
                *((f"in{k}", "u8") for k in range(len(inputs))),
                ("out", "u8"),
                ("total", "i8"),
                *shapes,
                ("out_shape", "i4", AXES),
                ("numbers", "f4", NUMBERS_MOST),
            ),
            own=True,
        )

    @functools.cached_property
    def text(self) -> str:
        """The user's text between the typed structure and the loops around it."""
        inputs, output = self._kinds
        fields = [f"    const {C_TYPES[kind]}* in{k};\n    const int* in{k}_shape;" for k, kind in enumerate(inputs)]
        values = ", ".join(f"(const {C_TYPES[kind]}*)row.in{k}, row.in{k}_shape" for k, kind in enumerate(inputs))
        values += f", ({C_TYPES[output]}*)row.out, row.out_shape, row.numbers, row.total"
        listed = "\n".join(fields)
        return f"""struct Sample {{
{listed}
    {C_TYPES[output]}* out;
    const int* out_shape;
    const float* numbers;
    i64 total;
}};
#line 1 "{self._source.name}"
{self._source.source}
#line 1 "loops around {self._source.name}"
__device__ void {self.name}(const {self.title}Sample* table, const {self.title}Param& param) {{
    FOR_SAMPLES(s) {{
        const {self.title}Sample& row = table[s];
        const Sample sample = {{{values}}};
        FOR_ELEMENTS(i, row.total) {self._source.name}(sample, i);
    }}
}}
"""


@functools.lru_cache(maxsize=256)
def user_kernel(source: UserSource, inputs: tuple[str, ...], output: str) -> UserKernel:
    """The kernel of a source for these types."""
    return UserKernel(source, inputs, output)
