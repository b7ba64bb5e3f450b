"""Other libraries' forms of a pipeline."""

from __future__ import annotations

from functools import partial

from dali_lab.formats.others.programs import LIBRARIES, dumps, lost
from dali_lab.formats.registry import Format, register

for _name, _library in LIBRARIES.items():
    register(
        Format(
            _name,
            f"a Python program with {'layers' if _name == 'keras' else 'transforms'} of {_library.title}",
            (f".{_name}.py",),
            partial(dumps, library=_name),
            lost=partial(lost, library=_name),
            program=True,
        )
    )
