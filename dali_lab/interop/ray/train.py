"""The distribution of a pipeline's batches over the workers of Ray Train."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import ray
import ray.train

from dali_lab.interop.ray.iterator import with_share
from dali_lab.interop.ray.share import share_of

if TYPE_CHECKING:
    from ray.data import DataIterator, Dataset


class DataConfig(ray.train.DataConfig):  # type: ignore[misc]
    """Gives each worker of Ray Train the same number of batches of a pipeline's dataset.

    Blocks of batches are dealt to the ranks in turn; ``last_batch_policy`` of the dataset decides about the last round.
    There is no coordinator and no barrier: each worker drives the tasks that compute its batches. Other datasets are
    split by Ray as usual. It takes the parameters of ``ray.train.DataConfig``.
    """

    def configure(
        self,
        datasets: Mapping[str, Dataset],
        world_size: int,
        worker_handles: object = None,
        worker_node_ids: object = None,
        **settings: object,
    ) -> list[dict[str, DataIterator]]:
        """The datasets of each worker, as Ray Train asks for them."""
        ours = {name: data for name, data in datasets.items() if share_of(data.context) is not None}
        others = {name: data for name, data in datasets.items() if name not in ours}
        shards: list[dict[str, DataIterator]] = super().configure(
            others, world_size, worker_handles, worker_node_ids, **settings
        )
        cpus = float(ray.cluster_resources().get("CPU", 1))
        for name, data in ours.items():
            for rank, shard in enumerate(shards):
                made = with_share(data, rank, world_size)
                options = self._resolve_execution_options(name)
                options.preserve_order = options.preserve_order or made.context.execution_options.preserve_order
                # Each worker's execution takes itself for the only one of the cluster.
                limit = max(1.0, cpus / world_size / len(ours))
                options.resource_limits = options.resource_limits.copy(cpu=min(options.resource_limits.cpu, limit))
                made.context.execution_options = options
                shard[name] = made.iterator()
        return shards
