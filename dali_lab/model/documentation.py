"""The documentation that `dali-lab docs` builds: its folder, and the pages of operators in it."""

from __future__ import annotations

from pathlib import Path

from dali_lab.model.cache_folder import cache_folder


def work_folder() -> Path:
    """The folder that the documentation is built in; it need not be there yet."""
    return cache_folder() / "documentation"


def pages_folder() -> Path:
    """The folder of the pages, in which the app finds them."""
    return work_folder() / "html"


def page_name(operator: str) -> str:
    """The name of an operator's page, without folder and ending."""
    return operator.replace(".", "_")


def operator_page(operator: str) -> str:
    """The address of an operator's page, below that of the documentation."""
    return f"reference/operators/{page_name(operator)}.html"
