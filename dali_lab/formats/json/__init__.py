"""The project's own graph file."""

from __future__ import annotations

from dali_lab.formats.json.graph_file import dumps, loads
from dali_lab.formats.registry import Format, beginning, register

register(
    Format(
        "json",
        "the project's graph file, which keeps everything",
        (".dali.json", ".json"),
        dumps,
        lambda data, name, arguments, file: loads(data),
        lambda data, name: beginning(data) in (b"{", b"["),
        movable=True,
    )
)
