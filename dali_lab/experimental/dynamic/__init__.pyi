from dali_lab.dynamic import *  # noqa: F403
