"""Rules about which arguments of an operator are given together."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from dali_lab.model.errors import ArgumentError


class OneOf:
    """Alternatives, of which at most one is given.

    Parameters
    ----------
    alternatives
        Names of arguments; several names in one string, with spaces between, count as one alternative.
    needed
        Whether one of them must be given.
    refused_as
        Text that the message has, too, where several are given.
    lacking_as
        The same where one is needed and none is given.
    """

    def __init__(self, *alternatives: str, needed: bool = False, refused_as: str = "", lacking_as: str = "") -> None:
        self.alternatives = [names.split() for names in alternatives]
        self._needed = needed
        self._refused_as = refused_as
        self._lacking_as = lacking_as

    def check(self, given: AbstractSet[str], provided: AbstractSet[str]) -> None:
        """Raise :class:`ArgumentError` if the rule is broken by the arguments `given`.

        `provided` are those that inputs give, too.
        """
        found = [next(iter(those)) for names in self.alternatives if (those := [n for n in names if n in given])]
        if len(found) > 1:
            message = f"excludes '{found[0]}'; give one of them{self._refused_as and f'. {self._refused_as}'}"
            raise ArgumentError(message, argument=found[1])
        every = [name for names in self.alternatives for name in names]
        if self._needed and provided.isdisjoint(every):
            others = "".join(f", or '{name}'" for name in every[1:])
            raise ArgumentError(
                f"must be given{others}{self._lacking_as and f'. {self._lacking_as}'}",
                argument=every[0],
                code="argument_missing",
            )


class Needs:
    """An argument that has no meaning without another one; the message has the text `refused_as`, too."""

    def __init__(self, name: str, other: str, refused_as: str = "") -> None:
        self._name = name
        self._other = other
        self._refused_as = refused_as

    def check(self, given: AbstractSet[str], provided: AbstractSet[str]) -> None:
        """Raise :class:`ArgumentError` if the rule is broken."""
        if self._name in given and self._other not in provided:
            why = self._refused_as and f". {self._refused_as}"
            raise ArgumentError(
                f"must be given where '{self._name}' is{why}", argument=self._other, code="argument_missing"
            )


Rule = OneOf | Needs
