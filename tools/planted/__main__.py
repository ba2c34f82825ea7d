"""Writes all planted models, each into its folder: `python -m tools.planted FOLDER`."""

import sys
from pathlib import Path

from tools.planted import MODELS, write_folder

if len(sys.argv) != 2:
    raise SystemExit("Name the folder of the models: python -m tools.planted FOLDER")
for name in MODELS:
    print(write_folder(name, Path(sys.argv[1]) / name).sentence)
