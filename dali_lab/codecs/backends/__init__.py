"""Libraries that decode pictures, a file for each; they are imported on use."""

from __future__ import annotations

from typing import Protocol

from dali_lab.codecs.job import Job


class Backend(Protocol):
    """A library that decodes pictures: a module, or an object."""

    def available(self) -> bool:
        """Whether it can be used now; one that has to be compiled may be later."""

    def decode(self, job: Job, which: list[int]) -> list[int]:
        """Decode pictures of a job into its memory, without touching any other.

        Parameters
        ----------
        job
            Gives bytes, headers and windows, and takes the pixels.
        which
            Indices of pictures that have this backend in their route.

        Returns
        -------
        list of int
            Pictures of `which` that it could not decode, with reasons in `job.failures` as far as it has any.
        """
