"""``dali-lab ops``: the operators, or the reference of one."""

from __future__ import annotations

import argparse

from dali_lab.cli.options import Commands, add_command
from dali_lab.model.errors import DaliLabError, GraphError


def add(commands: Commands) -> None:
    """Declare the command."""
    parser = add_command(commands, "ops", "list the operators, or print the reference of one")
    parser.add_argument(
        "name", nargs="?", metavar="NAME", help="an operator, such as resize or decoders.image, or a word to look for"
    )
    parser.set_defaults(function=_ops)


def _ops(options: argparse.Namespace) -> int:
    from dali_lab.schema.families import FAMILIES, find_family
    from dali_lab.schema.reference import docstring
    from dali_lab.schema.registry import all_operators, find_operator, has_operator

    operators = {name: operator for name, operator in all_operators().items() if not operator.hidden}
    if options.name is not None:
        name = options.name.removeprefix("fn.")
        if has_operator(name) or name in {operator.schema_name for operator in operators.values()}:
            operator = find_operator(name)
            print(f"fn.{operator.name}    ({', '.join(operator.devices)})\n")
            print(docstring(operator))
            return 0
        word = name.lower()
        operators = {n: o for n, o in operators.items() if word in n or word in o.summary().lower()}
        if not operators:
            try:
                find_operator(name)
            except GraphError as error:
                raise DaliLabError(error.message) from None
    width = max(map(len, operators), default=0)
    known = [family.name for family in FAMILIES]
    families = sorted(
        {operator.family for operator in operators.values()}, key=lambda f: (known.index(f) if f in known else 99, f)
    )
    for family in families:
        print(find_family(family).title)
        for name, operator in operators.items():
            if operator.family == family:
                print(f"  {name:<{width}}  {operator.summary()}")
    return 0
