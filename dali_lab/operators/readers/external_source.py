"""Takes batches from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dali_lab.model.batch import Batch
from dali_lab.model.dtypes import NO_TYPE
from dali_lab.model.errors import ArgumentError, ArgumentTypeError
from dali_lab.model.references import PythonReference
from dali_lab.schema import Arg, Call, Operator, Output, flag, integer, register
from dali_lab.schema.external import Expected, External, PythonSource, make_source
from dali_lab.schema.operator import Record
from dali_lab.schema.ports import Extent

_PARALLEL_ONLY = ("prefetch_queue_depth", "bytes_per_sample_hint")
_NEEDS_SOURCE = {
    "num_outputs": "The parameter ``num_outputs`` is only valid when using ``source`` to provide data. To feed multiple"
    " external sources in ``feed_input``, use multiple `nvidia.dali.external_source` nodes",
    "cycle": "`cycle` argument is only valid for iterable `source`",
    "parallel": "Worker processes run a source",
}
"""Why an argument needs a source, in NVIDIA DALI's words where it has them."""


_DECLARED = ("layout", "ndim")


def _check_layout(values: Mapping[str, Any]) -> None:
    """Raise if an output has a layout of another length than its number of dimensions."""
    layouts, ndims = (value if isinstance(value, (list, tuple)) else (value,) for value in map(values.get, _DECLARED))
    for layout, ndim in zip(layouts, ndims if len(ndims) > 1 else ndims * len(layouts), strict=False):
        if layout and ndim is not None and len(layout) != ndim:
            raise ArgumentError(
                "Number of dimensions in the provided layout does not match the ndim argument. The arguments"
                f' provided:\n ndim = {ndim},\n layout: "{layout}".',
                argument="layout",
            )


@register
class ExternalSource(Operator):
    """Takes batches from a Python callable, iterable or generator, or from ``Pipeline.feed_input``.

    A callable takes no argument, or one: the number of the batch (or a ``BatchInfo``), or with ``batch=False`` a
    ``SampleInfo``. It ends the epoch by raising ``StopIteration``. Without a source, batches are fed by
    ``Pipeline.feed_input`` or ``Pipeline.run(name=...)``.
    """

    name = "external_source"
    schema_name = "ExternalSource"
    outputs = (Output("output", kind="any", doc="What the source gave, one batch an iteration."),)
    devices = ("cpu", "gpu")
    source = True
    fed = True
    python_objects = ("source",)
    positional_arguments = ("source", "num_outputs")
    serialized_arguments = frozenset({"layout", "dtype", "ndim", "blocking", "repeat_last", "no_copy"})
    tested_elsewhere = "tests/unit/pipeline/test_external_source.py"
    arguments = (
        Arg("source", "object", None, "A callable, an iterable or a generator function, of batches or of samples."),
        integer(
            "num_outputs", None, "Number of outputs; when given, the source gives tuples.", minimum=1, maximum=4096
        ),
        Arg(
            "cycle",
            "object",
            None,
            "At the end of an iterable: 'no' stops for good, 'quiet' begins again, 'raise' ends the epoch first.",
        ),
        Arg("layout", "layout", None, "Layout of the samples, one for each output.", vector=True),
        Arg("dtype", "dtype", None, "Type that the data must have, one for each output.", vector=True),
        Arg("ndim", "object", None, "Number of dimensions that a sample must have, one for each output."),
        Arg("batch", "bool", None, "The source gives batches; otherwise single samples."),
        flag("batch_info", "A callable for batches gets a BatchInfo instead of the number of the batch."),
        flag("parallel", "Run the source in worker processes of the pipeline."),
        flag("blocking", "Without a source: wait until a batch is fed, instead of raising."),
        flag("repeat_last", "Without a source: give the last batch again until another one is fed."),
        Arg(
            "no_copy",
            "bool",
            None,
            "Use the memory of the data itself; it must stay as it is until the batch was used.",
            advanced=True,
        ),
        integer(
            "prefetch_queue_depth",
            None,
            "Batches that worker processes keep ahead.",
            minimum=1,
            maximum=4096,
            advanced=True,
        ),
        integer(
            "bytes_per_sample_hint",
            None,
            "Expected size of a sample, for the shared memory of workers.",
            minimum=1,
            advanced=True,
        ),
        Arg(
            "cuda_stream",
            "object",
            None,
            "Stream on which GPU data was made, if not the one that the data name, or PyTorch's current one.",
            advanced=True,
        ),
        Arg("use_copy_kernel", "bool", None, "No effect here.", advanced=True),
    )

    # -- definition ---------------------------------------------------------------------------------------------
    example = '>>> images, labels = fn.external_source(source=batches, num_outputs=2, layout=["HWC", ""])'

    @classmethod
    def output_count(cls, values: Mapping[str, Any]) -> int:
        return int(values.get("num_outputs") or 1)

    @classmethod
    def one_for_each_output(cls, values: Mapping[str, Any]) -> bool:
        return values.get("num_outputs") is not None

    @classmethod
    def state_after(cls, batches: int, batch_size: int, epoch: int) -> Any:
        return {"iteration": batches, "sample": batches * batch_size, "epoch": epoch}

    @classmethod
    def python_call(cls, record: Record, inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        given = {**dict(zip(("source", "num_outputs"), inputs, strict=False)), **kwargs}
        if len(inputs) > 2:
            raise ArgumentTypeError("takes source and num_outputs as positional arguments", operator=cls.name)
        if given.get("dtype") is NO_TYPE:
            given.pop("dtype")
        if given.get("parallel") and given.get("batch") is None:
            given["batch"] = True
        outputs, layouts = given.get("num_outputs"), given.get("layout")
        if isinstance(layouts, (list, tuple)) and layouts and isinstance(outputs, int):
            # A list may be for the first outputs.
            given["layout"] = [*layouts, *[""] * (outputs - len(layouts))]
        nodes = record(cls.name, (), given)
        return [nodes] if given.get("num_outputs") is not None and not isinstance(nodes, list) else nodes

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: object, inputs: int) -> None:
        source, parallel = values.get("source"), bool(values.get("parallel"))
        _check_layout(values)
        if source is None:
            for name, why in _NEEDS_SOURCE.items():
                if values.get(name):
                    raise ArgumentError(f"needs a source. {why}", argument=name)
            return
        if values.get("repeat_last"):
            raise ArgumentError("is for data that is fed, not for a source", argument="repeat_last")
        if isinstance(source, PythonReference):  # it is imported only when the file is trusted
            return
        described = describe(values)
        if not parallel:
            for name in _PARALLEL_ONLY:
                if values.get(name) is not None:
                    raise ArgumentError(
                        f"The argument `{name}` is valid only for parallel external sources (when ``parallel`` is"
                        " True)",
                        argument=name,
                    )
            return
        if values.get("no_copy") is False:
            raise ArgumentError("cannot be False for a parallel source", argument="no_copy")
        if described.kind == "callable" and not described.indexed:
            raise ArgumentTypeError(
                "Callable passed to External Source in parallel mode (when `parallel=True`) must accept exactly one"
                " argument: `nvidia.dali.types.SampleInfo` if run with `batch=False` or either"
                " `nvidia.dali.types.BatchInfo` or integer that represents the index of the batch within the epoch if"
                " `batch=True`. Got a callable that does not accept arguments instead.",
                argument="source",
            )
        if described.kind != "callable" and not described.batch:
            kind = "an iterable" if described.kind == "iterable" else "a generator function"
            raise ArgumentTypeError(
                f"Parallel external source with {kind} must be run in a batch mode (specify `batch=True`"
                " in the external source definition and make sure your source returns batches)",
                argument="source",
            )

    # -- execution ----------------------------------------------------------------------------------------------

    def setup(self) -> None:
        self.value("source")  # refuses one that is named in a file that is not trusted

    def external(self) -> External:
        values = self.values
        return External(
            self.node,
            self.name,
            tuple(self._expected(index) for index in range(self.output_count(values))),
            describe(values) if values["source"] is not None else None,
            parallel=bool(values["parallel"]),
            ahead=int(values["prefetch_queue_depth"] or 1),
            bytes_per_sample=int(values["bytes_per_sample_hint"] or 0),
            blocking=bool(values["blocking"]),
            repeat_last=bool(values["repeat_last"]),
            no_copy=bool(values["no_copy"]),
            cuda_stream=values["cuda_stream"],
        )

    def extents(self) -> tuple[Extent, ...]:
        return tuple(self._extent(self._expected(index)) for index in range(self.output_count(self.values)))

    @staticmethod
    def _extent(expected: Expected) -> Extent:
        axes = len(expected.layout) if expected.layout else expected.ndim
        return Extent(None if axes is None else (-1,) * int(axes), expected.dtype, expected.layout or "")

    def _expected(self, index: int) -> Expected:
        dtype = self._each("dtype", index)
        return Expected(self._each("layout", index), None if dtype is NO_TYPE else dtype, self._each("ndim", index))

    def _each(self, name: str, index: int) -> Any:
        """The value of an argument for one output: a single value stands for all of them."""
        value = self.values[name]
        if not isinstance(value, (list, tuple)):
            return value
        if len(value) == 1:
            return value[0]
        return value[index] if index < len(value) else None

    def run(self, call: Call) -> tuple[Batch, ...]:
        return tuple(batch.take(slice(call.start, call.start + call.count)) for batch in call.ticket)


def describe(values: Mapping[str, Any]) -> PythonSource:
    """The source that the arguments describe."""
    parallel = bool(values.get("parallel"))
    batch = values.get("batch")
    return make_source(
        values["source"],
        values.get("cycle"),
        not parallel if batch is None else bool(batch),
        bool(values.get("batch_info")),
        values.get("num_outputs"),
    )
