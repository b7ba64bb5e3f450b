"""Fuzzing: damaged files of every format that is read. ``python -m tests.fuzz`` runs it; RESULTS.md keeps figures."""
