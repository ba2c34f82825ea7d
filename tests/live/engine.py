"""Runs the engine of Headlight Live in Node.js and returns its results as plain values and arrays."""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.conftest import PATIENCE
from tests.javascript.check import program
from tools.family_in_page import array_of

SCRIPT = Path(__file__).parent / "run_engine.mjs"


def run_engine(folder: Path, jobs: Sequence[Mapping[str, object]]) -> list[Any]:
    """The result of each job; see `run_engine.mjs`.

    Args:
        folder: Of a checkpoint.
        jobs: Each has its name as `job`, and its options.
    """
    command = [program("node"), "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", str(SCRIPT)]
    given = json.dumps({"folder": str(folder), "jobs": list(jobs)})
    found = subprocess.run(command, input=given, capture_output=True, encoding="utf-8", timeout=PATIENCE, check=False)
    assert found.returncode == 0, found.stderr
    return list(json.loads(found.stdout, object_hook=array_of))
