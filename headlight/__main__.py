"""`python -m headlight`: see `command.py`."""

import sys

from headlight.command import main

if __name__ == "__main__":
    sys.exit(main())
