"""Parts for programs of PyTorch: :mod:`~dali_lab.dynamic.pytorch.nodes` are for ``torchdata.nodes``."""
