"""The base class of operators: their declaration, and the instance at each node of a running graph."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, TypeVar, cast

import numpy as np
import numpy.typing as npt

from dali_lab.model.batch import Batch
from dali_lab.model.errors import ArgumentError
from dali_lab.model.references import PythonReference
from dali_lab.schema.arguments import GROUP, RANDOM_STATE, REQUIRED, SEED, Arg, common_arguments
from dali_lab.schema.call import Call
from dali_lab.schema.cases import Case, ErrorCase, PerSample
from dali_lab.schema.external import External
from dali_lab.schema.ports import Extent, Input, Output
from dali_lab.schema.rules import Rule
from dali_lab.schema.source import Source

K = TypeVar("K")

Results = Batch | tuple[Batch, ...]
Record = Callable[[str, Sequence[Any], Mapping[str, Any]], Any]
"""Records a call in the pipeline that is being defined: the operator's name, its inputs, its arguments."""
_BUILT_IN = "dali_lab.operators."


class Operator:
    """One operator: its declaration as class attributes, one instance for each node of a running graph.

    A subclass is registered with :func:`dali_lab.schema.register` and stands in a file of its own. It must not
    import kernels, OpenCV or Numba at module level: declarations are read wherever the package is imported.

    Attributes
    ----------
    name
        Path under ``fn``, such as ``"decoders.image"``.
    schema_name
        NVIDIA DALI's name for it in serialized pipelines, such as ``"decoders__Image"``.
    family
        Folder of the palette: one of the families in :mod:`dali_lab.schema.families`. By default the folder below
        ``dali_lab/operators`` that the operator stands in.
    title
        The name that people read; by default the last part of `name` in words.
    inputs, outputs, arguments
        The declaration; ``name``, ``preserve`` and, where `random` is set, ``seed`` are added to the arguments.
    rules
        Which arguments exclude or need each other.
    devices
        Placements it takes: ``"cpu"``, ``"gpu"``, ``"mixed"``. By default the CPU, and the GPU where `on_gpu` says so.
    on_gpu
        `run` works on device memory: only kernels from :meth:`Call.kernels` touch samples, and all memory is from
        :meth:`Call.allocate` and :meth:`Call.scratch`. :meth:`on_cpu_only` makes exceptions for some arguments.
    cpu_inputs
        Inputs that `run` reads on the CPU even if the node runs on a GPU (positions, sizes, matrices).
    gpu_tolerance
        Largest difference between both devices, and why there is one.
    gpu_share
        Share of elements that may differ more, such as ties between two nearest pixels.
    random
        It draws random numbers and takes a ``seed``.
    whole_batch
        It must see all samples of a batch at once; `setup` may decide it.
    repeatable
        A sample of its outputs is a function of the same sample of its inputs and of the arguments alone: not of other
        samples, of files that it opens, or of a state. Operators of other packages that want their results kept
        (:mod:`dali_lab.graph.passes.once`) say so; see :meth:`repeats`.
    identifies
        For a `source`: it can tell which data each sample is made of; see :meth:`identities`.
    keeps
        What it passes on is kept by the pipeline's cache.
    takes_sets
        A list of nodes as an input stands for one call for each of them.
    frames
        Sequences are cut into frames before `run` and joined after it.
    frames_by_layout
        Data without a layout are no sequences, since NVIDIA DALI's operator takes none.
    source
        It has no inputs: a :class:`~dali_lab.schema.source.Source` decides which samples it gives; see
        :meth:`open_source` and :meth:`external`.
    in_order
        Batches go through it one after the other, never two at once.
    defers
        Where :attr:`Call.defer` is set, `run` may leave decoding to the consumer (:attr:`Batch.undecoded`).
    takes_undecoded
        Its first input may be undecoded pictures; see :meth:`ready_for_undecoded`.
    exact_layout
        Leave the layout of inputs as it is, and accept any.
    joins_scopes
        It joins the branches of a condition; see :meth:`cut_of_output` for what cuts a batch.
    syntax
        Python syntax for it in place of a call: ``"arithmetic"`` (a sign, or a function of ``math``), ``"index"``
        (``x[1, 2:5]``), ``"whole index"`` (``x[:]``), ``"shape"`` (``x.shape()``), ``"not"``, and ``"operand"`` for the
        check of an operand of ``and`` and ``or``.
    device_reader
        For a `source` placed on a GPU: the operator that reads its samples into the GPU's memory.
    fed
        For a `source`: batches come from ``Pipeline.feed_input``, unless the argument ``source`` gives them.
    positional_arguments
        Those that classes under `ops` also take by position.
    python_objects
        Arguments that hold Python functions or other objects, which a program names and a file refers to.
    serialized_arguments
        Arguments that NVIDIA DALI's operator has, where it has fewer; `None` where it has them all.
    makes_numbers
        It makes numbers to connect to arguments: random operators, constants.
    decodes
        It turns encoded bytes into pictures, sound, video or arrays.
    whole_decoder
        For a decoder of pictures: the operator that decodes them whole, itself if it does.
    labelled_files
        For a `source`: it reads files with labels, given by `file_root` or by `files` and `labels`.
    resizes
        It brings pictures to a size.
    without_draws
        The operator that does the same without random draws, if there is one.
    moves_points
        Its output is points in the coordinates of a picture.
    beyond_dali
        NVIDIA DALI has no such operator; true of those of other packages that do not say otherwise.
    nvidia_name
        Its name in NVIDIA DALI, where that is not ``nvidia.dali.fn.NAME``.
    tested_elsewhere
        Where its conformance is tested, if not by cases (readers, external sources).
    differs
        A sentence on where it differs from NVIDIA DALI, if it does.
    start
        Arguments of a new node in the editor, so that it runs and shows its effect. They are no defaults: the graph
        holds them.
    """

    name: ClassVar[str]
    schema_name: ClassVar[str] = ""
    family: ClassVar[str] = "tensor"
    title: ClassVar[str] = ""
    inputs: ClassVar[tuple[Input, ...]] = ()
    outputs: ClassVar[tuple[Output, ...]] = (Output("output"),)
    arguments: ClassVar[tuple[Arg, ...]] = ()
    rules: ClassVar[tuple[Rule, ...]] = ()
    devices: ClassVar[tuple[str, ...]] = ("cpu",)
    random: ClassVar[bool] = False
    on_gpu: bool = False
    cpu_inputs: ClassVar[tuple[int, ...]] = ()
    gpu_tolerance: ClassVar[tuple[float, str]] = (0.0, "")
    gpu_share: ClassVar[float] = 0.0
    whole_batch: bool = False
    frames: ClassVar[bool] = False
    frames_by_layout: ClassVar[bool] = False
    source: ClassVar[bool] = False
    in_order: ClassVar[bool] = False
    defers: ClassVar[bool] = False
    takes_undecoded: ClassVar[bool] = False
    repeatable: ClassVar[bool | None] = None
    identifies: ClassVar[bool] = False
    keeps: ClassVar[bool] = False
    takes_sets: ClassVar[bool] = True
    joins_scopes: ClassVar[bool] = False
    syntax: ClassVar[Literal["", "arithmetic", "index", "whole index", "shape", "not", "operand"]] = ""
    device_reader: ClassVar[str] = ""
    fed: ClassVar[bool] = False
    python_objects: ClassVar[tuple[str, ...]] = ()
    positional_arguments: ClassVar[tuple[str, ...]] = ()
    serialized_arguments: ClassVar[frozenset[str] | None] = None
    makes_numbers: ClassVar[bool] = False
    decodes: ClassVar[bool] = False
    whole_decoder: ClassVar[str] = ""
    labelled_files: ClassVar[bool] = False
    resizes: ClassVar[bool] = False
    without_draws: ClassVar[str] = ""
    moves_points: ClassVar[bool] = False
    hidden: ClassVar[bool] = False
    deprecated: ClassVar[str] = ""
    beyond_dali: ClassVar[bool] = False
    nvidia_name: ClassVar[str] = ""
    tested_elsewhere: ClassVar[str] = ""
    differs: ClassVar[str] = ""
    start: ClassVar[Mapping[str, Any]] = {}
    example: ClassVar[str] = ""
    argument_table: ClassVar[dict[str, Arg]]
    _declared: ClassVar[frozenset[str]] = frozenset()

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls._declared = cls._declared.union({"family", "devices"}.intersection(vars(cls)))
        if "family" not in cls._declared and cls.__module__.startswith(_BUILT_IN):
            cls.family = cls.__module__.removeprefix(_BUILT_IN).partition(".")[0]
        if "devices" not in cls._declared:
            cls.devices = ("cpu", "gpu") if cls.on_gpu else ("cpu",)
        table = {arg.name: arg for arg in cls.arguments}
        if cls.random and "seed" not in table:
            table["seed"] = SEED
            if cls.inputs:
                table["_group"] = GROUP
            if not cls.source:
                table["_random_state"] = RANDOM_STATE
        common = dict(common_arguments())
        if cls.syntax:  # what is written as an expression or a statement has no room for it
            del common["on_error"]
        cls.argument_table = {**table, **{k: v for k, v in common.items() if k not in table}}

    def __init__(
        self, values: Mapping[str, Any], connected: Iterable[str] = (), node: str = "", device: str = "cpu"
    ) -> None:
        """Keep the constants; `values` hold canonical values, without ``name`` and ``preserve``."""
        self.node = node
        self.device = device
        self.connected = frozenset(connected)
        self.values: dict[str, Any] = {
            name: values.get(name, None if arg.default is REQUIRED else arg.default)
            for name, arg in self.argument_table.items()
        }
        self.given = frozenset(values) | self.connected
        self.seed_node = ""
        if "_random_state" in self.connected:
            object.__setattr__(self, "whole_batch", True)
        self._repeated: dict[tuple[str, Any], npt.NDArray[Any]] = {}
        self._last: dict[str, tuple[Hashable, Any]] = {}
        self.setup()

    def setup(self) -> None:
        """Check arguments beyond their single ranges, and prepare constants; called once for each node.

        Raises
        ------
        ArgumentError
            If arguments contradict each other.
        """

    def kept(self, what: str, key: Hashable, make: Callable[[], K]) -> K:
        """The last result of `make`, if the key is the same: batches are often alike."""
        known = self._last.get(what)
        if known is None or known[0] != key:
            known = self._last[what] = (key, make())
        return cast("K", known[1])

    def run(self, *args: Any, **kwargs: Any) -> Results:
        """Process one chunk; subclasses declare ``run(self, call, first, second, …)``, one batch for each input.

        They return as many samples in each output as came in, and release the GIL where time is spent.
        """
        raise NotImplementedError(f"{self.name} has no CPU implementation")

    def extents(self) -> tuple[Extent, ...]:
        """Extents of outputs known before anything runs, where input shapes do not determine them: sources, decoders.

        GPU memory is planned from them. For all others they follow from `run`, without data.
        """
        return ()

    def open_source(self, seed: int, *, checkpointing: bool = False, tolerant: bool = False) -> Source:
        """For a `source` that is not external: the state of one run, from its first batch on.

        Parameters
        ----------
        seed
            The node's seed in this run.
        checkpointing
            Checkpoints are taken of the run.
        tolerant
            Listed files that cannot be opened are left out, with a warning.
        """
        raise NotImplementedError(f"{self.name} declares a source and opens none")

    def external(self) -> External | None:
        """For a `source` whose data comes from outside: its declaration, of which the executor makes the source."""
        return None

    @classmethod
    def listed_folder(cls, values: Mapping[str, Any]) -> str | None:
        """For a `source`: the folder whose folders it lists: a new one among them would change samples."""
        return None

    def source_names(self, call: Call) -> tuple[str, ...]:
        """For a `source`: the file of each sample of a call, for errors; empty where there are none."""
        return ()

    def batch_sources(self, call: Call, output: int) -> tuple[str, ...]:
        """For a `source` that `identifies`: the sources of the batch that :meth:`run` gives for an output."""
        return self.source_names(call)

    def identities(self, call: Call, by_content: bool = False) -> npt.NDArray[np.int64] | None:
        """For a `source` that `identifies`: everything that its outputs are a function of, for each sample of a call.

        Parameters
        ----------
        call
            The call that would read the samples.
        by_content
            Tell versions of a file apart by a digest of its bytes, rather than by its size and time of change.

        Returns
        -------
        numpy.ndarray or None
            ``int64[count, K]``: rows that differ wherever samples do, such as digests of paths, sizes and times of
            files. A row of zeros says that it cannot be told for a sample, `None` that it cannot be for any.
        """
        return None

    @property
    def reads_files(self) -> bool:
        """Whether it reads files or decodes what was in them, so that an error of any kind is about a sample."""
        if self.source:
            return self.external() is None and not self.fed
        return self.decodes or bool(self.inputs and self.inputs[0].kind == "encoded")

    def close(self) -> None:
        """Close files and release whatever else outlives a call."""

    @classmethod
    def repeats(cls) -> bool:
        """Whether a sample of the outputs is a function of the same sample of the inputs and of the arguments alone."""
        if cls.random or cls.source or cls.whole_batch or cls.in_order or cls.python_objects:
            return False
        if cls.joins_scopes or cls.cut_of_output(0) is not None:
            return False
        return cls.__module__.startswith(_BUILT_IN) if cls.repeatable is None else cls.repeatable

    @classmethod
    def decoded_whole(cls) -> tuple[str, str] | None:
        """For a decoder of random regions: two operators for it, one that decodes whole pictures and their consumer."""
        return None

    @classmethod
    def cut_of_output(cls, index: int) -> int | None:
        """For operators that split a batch in two by their argument ``predicate``: the group in this output."""
        return None

    @classmethod
    def fuses_as(cls, values: Mapping[str, Any], inputs: int) -> str:
        """The fused operator for a chain of nodes with such arguments; empty if they are not fused."""
        return ""

    @classmethod
    def region_decoder(cls, values: Mapping[str, Any], connected: Iterable[str]) -> str:
        """The decoder that decodes only the region that these arguments cut out; empty where there is none."""
        return ""

    @classmethod
    def one_for_each_output(cls, values: Mapping[str, Any]) -> bool:
        """Whether NVIDIA DALI has an operator for each output of a node with these arguments."""
        return False

    @classmethod
    def state_after(cls, batches: int, batch_size: int, epoch: int) -> Any:
        """For a source without a state in NVIDIA DALI's checkpoints: its state after so many batches of an epoch."""
        return None

    @classmethod
    def output_count(cls, values: Mapping[str, Any]) -> int:
        """Number of outputs for these arguments."""
        return len(cls.present_outputs(values))

    @classmethod
    def present_outputs(cls, values: Mapping[str, Any]) -> tuple[Output, ...]:
        """The declared outputs that are there for these arguments, in order."""
        return tuple(
            each
            for output in cls.outputs
            for each in (output.named(values.get(output.each)) if output.each else (output,))
            if not output.when or any(values.get(name, cls.argument_table[name].default) for name in output.when)
        )

    @classmethod
    def count_outputs(cls, values: Mapping[str, Any], inputs: int) -> int:
        """Number of outputs for these arguments and this many inputs."""
        return cls.output_count(values)

    @classmethod
    def output_keys(cls, values: Mapping[str, Any]) -> tuple[str, ...]:
        """The keys, in order, if ``fn`` gives a dictionary of the outputs."""
        return ()

    @classmethod
    def as_called(cls, values: Mapping[str, Any]) -> Mapping[str, Any]:
        """Arguments in the form that ``fn`` takes, where a graph holds another."""
        return values

    @classmethod
    def python_call(cls, record: Record, inputs: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Record one call of ``fn.<name>(*inputs, **kwargs)`` while a pipeline is defined."""
        return record(cls.name, inputs, kwargs)

    @classmethod
    def on_cpu_only(cls, values: Mapping[str, Any]) -> str:
        """Why a node with these arguments runs on the CPU even if it is placed on a GPU; empty where it runs there."""
        return "" if cls.on_gpu else "it has no GPU version"

    @classmethod
    def verify(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        """Check arguments against each other before anything runs, beyond `rules`.

        Raises
        ------
        GraphError
            If they contradict each other.
        """

    @classmethod
    def check_arguments(cls, values: Mapping[str, Any], connected: Iterable[str], inputs: int) -> None:
        """Check that the arguments of a node keep to `rules`, and what :meth:`verify` asks for.

        Raises
        ------
        GraphError
            If they contradict each other.
        """
        given = {name for name, value in values.items() if value is not None} | set(connected)
        replaced = {name: declared.name for declared in cls.inputs[:inputs] for name in declared.replaces}
        for rule in cls.rules:
            rule.check(given, given | replaced.keys())
        for name in replaced.keys() & given:
            raise ArgumentError(
                f"is given by the input '{replaced[name]}', too; the ``{name}`` argument is incompatible with"
                " providing an input.",
                argument=name,
            )
        cls.verify(values, connected, inputs)

    @classmethod
    def cases(cls) -> Iterable[Case]:
        """Sample cases that the conformance tests run in both engines."""
        return ()

    @classmethod
    def error_cases(cls) -> Iterable[ErrorCase]:
        """Cases that must raise, with words that the message must hold."""
        return ()

    @classmethod
    def summary(cls) -> str:
        """The first sentence of the documentation."""
        return (cls.__doc__ or "").strip().split("\n\n")[0].replace("\n    ", " ").replace("\n", " ")

    @classmethod
    def name_in_nvidia_dali(cls) -> str | None:
        """How a program for NVIDIA DALI writes it; `None` where NVIDIA DALI has no such operator."""
        return None if cls.beyond_dali else cls.nvidia_name or f"nvidia.dali.fn.{cls.name}"

    def ready_for_undecoded(self) -> bool:
        """Whether undecoded pictures can be taken now; if not, prepares for taking them later."""
        return self.takes_undecoded

    def value(self, name: str) -> Any:
        """A constant argument: what was given, else its default, else `None`.

        Raises
        ------
        ArgumentError
            If a node is connected to it; ask the call for its values then. And if it is a Python object that a graph
            file names, and the file is not trusted.
        """
        if name in self.connected:
            raise ArgumentError(
                "must be a constant here, not a node", argument=name, operator=self.name, node=self.node
            )
        value = self.values[name]
        if isinstance(value, PythonReference):
            raise self.fail(
                f"{value!r} comes from a graph file that is not trusted; a program that trusts it loads it by"
                " dali_lab.formats.load(FILE, trust=True)",
                name,
            )
        return value

    def has(self, name: str) -> bool:
        """Whether the argument was given, as a constant or as a node."""
        return name in self.given and (name in self.connected or self.values[name] is not None)

    def fail(self, message: str, argument: str | None = None) -> ArgumentError:
        """An error about this node, to be raised."""
        return ArgumentError(message, node=self.node or None, operator=self.name, argument=argument)


__all__ = ["Call", "Case", "ErrorCase", "Extent", "Operator", "PerSample", "Results"]
