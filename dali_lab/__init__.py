"""DALI Lab: pipelines of operators over batches, with NVIDIA DALI's names and meaning, with a GPU or without one."""

from __future__ import annotations

TYPE_CHECKING = False  # everything is imported lazily, so that a command can be interrupted quietly from the start
if TYPE_CHECKING:
    import os
    from typing import Any

    from dali_lab import auto_aug, experimental, fn, math, ops, plugin, tfrecord, types  # noqa: F401
    from dali_lab.data_node import DataNode, newaxis
    from dali_lab.errors import DaliLabError
    from dali_lab.graph.graph import Graph
    from dali_lab.graph.subgraph import subgraph as subgraph
    from dali_lab.pipeline import OperatorConcurrency, Pipeline, StreamPolicy, pipeline_def
    from dali_lab.studio.hosts.showing import show as show
    from dali_lab.studio.hosts.stepping import preview as preview

    def edit(  # its module imports this one
        what: Pipeline | Graph | str | os.PathLike[str] | None = None, *, height: int = 640, theme: str = "auto"
    ) -> Any: ...


__version__ = "0.2.0"

__all__ = [
    "DaliLabError",
    "DataNode",
    "OperatorConcurrency",
    "Pipeline",
    "StreamPolicy",
    "fn",
    "newaxis",
    "pipeline_def",
    "types",
]

_HOMES = {
    "DaliLabError": "errors",
    "DataNode": "data_node",
    "OperatorConcurrency": "pipeline",
    "Pipeline": "pipeline",
    "StreamPolicy": "pipeline",
    "edit": "studio.hosts.widget",
    "newaxis": "data_node",
    "pipeline_def": "pipeline",
    "preview": "studio.hosts.stepping",
    "show": "studio.hosts.showing",
    "subgraph": "graph.subgraph",
}


if not TYPE_CHECKING:  # a type checker is to find names that are not there

    def __getattr__(name: str) -> Any:
        """Import an attribute on first use."""
        import importlib
        import importlib.util

        if name in _HOMES:
            if name in ("edit", "preview", "show"):
                from dali_lab.model.extras import STUDIO, require

                require("studio", ("cv2",) if name == "show" else STUDIO, f"dali_lab.{name}")
            value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
            globals()[name] = value
            return value
        if not name.startswith("_") and importlib.util.find_spec(f"{__name__}.{name}") is not None:
            return importlib.import_module(f"{__name__}.{name}")
        from dali_lab.schema.absent import MODULES, module_reason

        if name in MODULES:
            raise ModuleNotFoundError(module_reason(name), name=f"{__name__}.{name}")
        raise AttributeError(f"module '{__name__}' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
