"""The parts of :class:`dali_lab.Pipeline` besides running: definition by functions, reports, files."""
