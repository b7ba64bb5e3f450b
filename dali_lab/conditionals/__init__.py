"""Conditionals: ``if``, ``and``, ``or`` and ``not`` that decide for each sample when the pipeline runs.

The functions that define a pipeline are rewritten (:mod:`rewriting`) so that these constructs call :mod:`runtime`,
which traces both branches and records nodes that cut the batch in two and join it again; :mod:`stack` knows which node
belongs to which branch.
"""

from dali_lab.conditionals.stack import ConditionStack

__all__ = ["ConditionStack"]
