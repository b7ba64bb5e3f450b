"""Runs an operator's declared cases on a device and on the CPU."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import dali_lab
from dali_lab.schema import Case, all_operators
from dali_lab.schema.cases import PerSample
from tests.conformance.harness import declared, expanded
from tests.conformance.harness import describe as describe_case

SEED = 1234


@functools.cache
def operators() -> dict[str, Any]:
    """All operators that run on a GPU."""
    found = all_operators().items()
    return {name: operator for name, operator in found if operator.on_gpu and {"gpu", "mixed"} & {*operator.devices}}


def place(name: str) -> str:
    """Where an operator is placed that runs on a GPU: ``"gpu"``, or ``"mixed"`` for decoders."""
    return "gpu" if "gpu" in all_operators()[name].devices else "mixed"


def cases_of(name: str) -> Iterator[tuple[str, Case]]:
    """Names and cases of an operator that run on a GPU with their arguments."""
    for index, case in enumerate(declared(name)):
        if not operators()[name].on_cpu_only(case.arguments):
            yield f"{name}-{index}-{describe_case(case)}", case


def run(name: str, case: Case, mode: str, device: str) -> list[list[dict[str, Any]]]:
    """Run a case with the operator on `device`; as :func:`tests.conformance.harness.run`.

    `mode` is the pipeline's ``gpu``, `device` ``"cpu"``, ``"gpu"`` or ``"mixed"``.
    """
    inputs = expanded(case.inputs, case.batch_size)
    sizes = [len(arrays) for arrays, _ in inputs]
    sizes += [len(value.values) for value in case.arguments.values() if isinstance(value, PerSample)]
    pipeline = dali_lab.Pipeline(sizes[0] if sizes else case.batch_size, 2, 0, seed=SEED, gpu=mode)

    def feed(arrays: list[Any], layout: str) -> Any:
        options = {"layout": layout} if layout else {}
        return dali_lab.fn.external_source(source=lambda: arrays, **options)

    function: Any = dali_lab.fn
    for part in name.split("."):
        function = getattr(function, part)
    with pipeline:
        nodes = [feed(arrays, layout) for arrays, layout in inputs]
        if device == "gpu":
            nodes = [node.gpu() for node in nodes]
        arguments = {
            key: feed(list(value.values), value.layout) if isinstance(value, PerSample) else value
            for key, value in case.arguments.items()
        }
        outputs = function(*nodes, device=device, **arguments)
        pipeline.set_outputs(*(outputs if isinstance(outputs, (tuple, list)) else (outputs,)))
    pipeline.build()
    rows = []
    for _ in range(case.batches):
        row = []
        for output in pipeline.run():
            assert type(output).__name__ == ("TensorListCPU" if device == "cpu" else "TensorListGPU")
            cpu = output.as_cpu()
            row.append(
                {
                    "dtype": cpu.dtype.name,
                    "layout": cpu.layout(),
                    "samples": [cpu.at(index).copy() for index in range(len(cpu))],
                }
            )
        rows.append(row)
    pipeline.close()
    return rows
