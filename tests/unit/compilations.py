"""Counts the kernels that a program compiles, for tests that run programs."""

from __future__ import annotations

NOTED = """
from numba.core import event

compiled = []

class Listener(event.Listener):
    def on_start(self, event):
        compiled.append(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event):
        pass

event.register("numba:compile", Listener())
"""
"""The beginning of a program that notes in ``compiled`` the name of each function that Numba compiles after it."""
