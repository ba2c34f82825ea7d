"""Our JavaScript modules joined into one text."""

import re

from viz_app.components.bundle import ASSETS, bundle, library
from viz_app.components.mounting import WAIT


def test_a_bundle_defines_each_module_once_and_after_those_that_it_imports() -> None:
    names = {path.stem for path in ASSETS.glob("*.js")}
    text = bundle("app")
    defined = re.findall(r"^modules\.(\w+) = ", text, re.MULTILINE)
    assert sorted(defined) == sorted(names), "a module is in no bundle"
    for name in defined:
        used = text.index(f"= modules.{name};") if f"= modules.{name};" in text else len(text)
        assert text.index(f"modules.{name} = ") < used, name


def test_no_import_and_one_export_are_left() -> None:
    left = re.findall(r"^(?:import|export)\b.*", library(), re.MULTILINE)
    assert left == ["export default modules.app.pageKeys;"]


def test_only_the_bridge_and_two_style_sheets_name_elements_of_streamlit_and_plotly() -> None:
    known = {"bridge.js", "streamlit.css", "streamlit_presenting.css"}
    private = re.compile(r"data-testid|\.st[A-Z]\w+|js-plotly-plot|main-svg|nsewdrag|_full(Layout|Data)|replaceState")
    names = {path.name for path in ASSETS.glob("*.*s*") if private.search(path.read_text(encoding="utf-8"))}
    assert names == known


def test_the_bundle_needs_no_promise_with_resolvers_which_phones_before_2024_lack() -> None:
    assert "withResolvers" not in library() + WAIT
