"""``python -m dali_lab`` is ``dali-lab``."""

import sys

from dali_lab.cli import main

if __name__ == "__main__":
    sys.exit(main())
