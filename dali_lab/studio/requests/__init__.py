"""A function for each method of the protocol, in :data:`HANDLERS`."""

from __future__ import annotations

from dali_lab.studio.requests import connection, document, preview, program
from dali_lab.studio.requests.table import HANDLERS

__all__ = ["HANDLERS", "connection", "document", "preview", "program"]
