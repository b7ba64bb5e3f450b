"""The names that dynamic mode offers; :mod:`dali_lab.dynamic.functions` makes their functions and classes."""

from __future__ import annotations

from dali_lab.schema.namespaces import Namespace

PACKAGE = "dali_lab.dynamic"
namespace = Namespace(PACKAGE)
