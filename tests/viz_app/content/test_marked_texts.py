"""Every text that a visitor reads is marked for translation, as one whole literal."""

import ast
import re

import pytest

from tests.conftest import ROOT
from tests.viz_app.content.test_catalogues import TEXTS, placeholders
from tools.words import SOURCES

# What a visitor reads of a call of Streamlit: its first argument, and these.
SHOWN_NAMES = {
    "help",
    "placeholder",
    "label",
    "caption",
    "alt",
    "title",
    "text",
    "body",
    "x_label",
    "y_label",
    "reason",
}
SHOWN_NAMES |= {"query_title", "key_title", "summary", "instruction"}
# Functions of our own that show their first argument, or their first two.
SHOWN_FIRST = {"end_page": 1, "heading": 2, "section": 2, "explanation": 2, "add_fact": 1, "boundary": 1, "sentence": 1}
NOT_SHOWN = {"st.html", "st.code", "st.latex", "st.set_page_config", "st.logo", "st.switch_page", "st.Page"}
NOT_SHOWN |= {"st.columns", "st.container", "st.get_option", "st.fragment", "st.components.v2.component"}
LETTERS = re.compile(r"[A-Za-z]{2}")
STATE = ("st.session_state", "st.query_params", "st.context")
NO_WORDS = re.compile(r"#[0-9a-f]{6}\b|:material/\w+:|`[^`]*`|\$[^$]*\$|<[^<>]*>|\bHeadlight\b")


def test_a_call_gives_the_values_of_its_text() -> None:
    for one in TEXTS:
        if one.values is not None:
            given = one.values - {"n"} if one.many else one.values
            wanted = placeholders(one.text, one.many or "") - ({"n"} if one.many else set())
            assert given == wanted, f"{one.path}:{one.line}: {one.text}"


# The files of the lessons show nothing. Their sentences are for a model; what a visitor reads is Markdown.
LESSONS = ROOT / "viz_app" / "course" / "lessons"
PROGRAMS = [path for path in SOURCES if path.suffix == ".py" and not path.is_relative_to(LESSONS)]


def test_no_text_is_shown_without_a_translation() -> None:
    found = [f"{path.relative_to(ROOT)}: {one}" for path in PROGRAMS for one in unmarked(path.read_text("utf-8"))]
    assert len(PROGRAMS) > 200
    assert found == []


def unmarked(source: str) -> list[str]:
    """The lines of a program that show English words, or translate what no catalogue can have."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        function = ast.unparse(node.func)
        name = function.rpartition(".")[2]
        if name in ("t", "tn", "tp", "worded"):
            found += [
                f"{node.lineno}: {ast.unparse(one)}" for one in node.args if isinstance(one, ast.JoinedStr | ast.BinOp)
            ]
        elif (
            name in ("capitalize", "title", "lower", "upper") and isinstance(node.func, ast.Attribute) and not node.args
        ):
            found += [f"{node.lineno}: {function}()"] if has_translation(node.func.value) else []
        elif function not in NOT_SHOWN and not function.startswith(STATE):
            found += [f"{node.lineno}: {ast.unparse(one)}" for one in shown(node, function) if english_words(one)]
    return found


def shown(call: ast.Call, function: str) -> list[ast.expr]:
    """The arguments of a call that a visitor reads."""
    named = [keyword.value for keyword in call.keywords if keyword.arg in SHOWN_NAMES]
    name = function.rpartition(".")[2]
    if name in SHOWN_FIRST:
        return [*call.args[: SHOWN_FIRST[name]], *named]
    streamlit = function.startswith("st.") or name in (
        "caption",
        "markdown",
        "button",
        "metric",
        "popover",
        "selectbox",
        "info",
        "warning",
        "success",
        "toggle",
        "download_button",
    )
    return [*call.args[:1], *named] if streamlit else named


def english_words(node: ast.expr) -> bool:
    """Whether an expression is a text with words, or one of several such texts."""
    if isinstance(node, ast.Constant):
        return isinstance(node.value, str) and bool(LETTERS.search(NO_WORDS.sub("", node.value)))
    if isinstance(node, ast.JoinedStr):
        return any(english_words(part) for part in node.values if isinstance(part, ast.Constant))
    if isinstance(node, ast.IfExp):
        return english_words(node.body) or english_words(node.orelse)
    if isinstance(node, ast.BinOp | ast.BoolOp):
        return any(english_words(part) for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr))
    if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in ("plain", "as_sentence", "escape"):
        return any(map(english_words, node.args))
    return isinstance(node, ast.List | ast.Tuple) and any(map(english_words, node.elts))


def has_translation(node: ast.expr) -> bool:
    return any(isinstance(one, ast.Call) and ast.unparse(one.func) in ("t", "tn", "tp") for one in ast.walk(node))


@pytest.mark.parametrize(
    "line",
    [
        'st.caption("Two words")',
        'st.button(f"Layer {n}", key="x")',
        'st.selectbox(t("Mode"), MODES, help="Which one")',
        'end_page("Type a text.")',
        'left.caption("One" if n == 1 else "Many")',
        'st.caption(plain(f"{n} words"))',
        't(f"Layer {n}")',
        't("head").capitalize()',
        'section(t("Map"), "A caption.")',
    ],
)
def test_a_text_without_a_mark_is_found(line: str) -> None:
    assert unmarked(line)
