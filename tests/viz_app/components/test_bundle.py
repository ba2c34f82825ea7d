"""Our JavaScript modules joined into one text."""

import re
import subprocess

import pytest

from tests.javascript.check import program
from viz_app.components.bundle import COMMENT, LIVE, exports_of, imports_of, joined, library, modules
from viz_app.components.mounting import WAIT
from viz_app.export.live_page import script_of

FIRST = """const LEFT = 1;

export function first() {
  return LEFT + helper();
}

function helper() { return 0; }
"""
SECOND = """import { first } from "./first.js";
const RIGHT = 0, LEFT = 2;
export const second = () => helper();

function helper() {
  return first() + LEFT;
}
"""
MAIN = """import { second } from "./second.js";
import { left } from "./out.js";

console.log(second(), left);
"""
SCRIPTS = {"first.js": FIRST, "second.js": SECOND, "main.js": MAIN}


def ran(script: str, kind: str = "commonjs") -> str:
    """What a script prints."""
    command = [program("node"), f"--input-type={kind}"]
    found = subprocess.run(command, input=script, capture_output=True, encoding="utf-8", check=True)
    return found.stdout.strip()


def test_the_app_has_each_module_once_and_after_those_that_it_imports() -> None:
    found = modules("streamlit/app.js")
    own = {path.relative_to(LIVE).as_posix() for room in ("ui", "streamlit") for path in (LIVE / room).glob("*.js")}
    assert set(found) == own, "a module is in no bundle"
    exported: set[str] = set()
    for path, text in found.items():
        assert exported.issuperset(imports_of(text)), path
        exported.update(exports_of(text))


def test_no_import_and_one_export_are_left() -> None:
    left = re.findall(r"^(?:import|export)\b.*", library(), re.MULTILINE)
    assert left == ["export default pageKeys;"]


def test_modules_become_one_script_and_equal_names_stay_apart() -> None:
    script = joined(SCRIPTS)
    assert not re.search(r"^(import|export)\b", script, re.MULTILINE)
    assert ran(script) == ran(script_of(SCRIPTS)) == "3 undefined"
    assert ran(script, kind="module") == "3 undefined"


def test_a_comment_that_begins_a_statement_is_not_taken_for_a_line_of_its_own() -> None:
    assert COMMENT.sub("", "/** @type {any} */ (a).b = 1;\n/**\n * Call it.\n */\nc();\n") == (
        "/** @type {any} */ (a).b = 1;\nc();\n"
    )


def test_two_exports_of_one_name_are_refused() -> None:
    with pytest.raises(ValueError, match="first"):
        joined({**SCRIPTS, "third.js": "export const first = 3;\n"})


def test_only_the_bridge_and_two_style_sheets_name_elements_of_streamlit_and_plotly() -> None:
    known = {"bridge.js", "streamlit.css", "streamlit_presenting.css"}
    private = re.compile(r"data-testid|\.st[A-Z]\w+|js-plotly-plot|main-svg|nsewdrag|_full(Layout|Data)|replaceState")
    files = (path for room in ("ui", "streamlit") for path in (LIVE / room).glob("*.*s*"))
    names = {path.name for path in files if private.search(path.read_text(encoding="utf-8"))}
    assert names == known


def test_the_bundle_needs_no_promise_with_resolvers_which_phones_before_2024_lack() -> None:
    assert "withResolvers" not in library() + WAIT
