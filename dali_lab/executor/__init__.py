"""Running a graph: plan, thread pool, batches in flight, taps, statistics and random streams."""
