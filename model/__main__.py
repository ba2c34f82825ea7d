"""`python -m model`: see `model/cli/`."""

import sys

from model.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
