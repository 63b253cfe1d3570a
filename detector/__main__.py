"""`python -m detector` is the command `detector`."""

from __future__ import annotations

import sys

from detector.cli import main

if __name__ == "__main__":
    sys.exit(main())
