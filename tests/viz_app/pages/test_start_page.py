"""Start here: its terms, its field for a code, and its links to every page."""

from collections.abc import Callable

from streamlit.testing.v1 import AppTest

from model.checkpoints.checkpoint import Checkpoint
from model.inference.translate import translate
from tests.viz_app.conftest import NAME, html
from viz_app.content.glossary import GLOSSARY
from viz_app.content.shared import PAGES
from viz_app.session.links import CODES, Place

OpenApp = Callable[..., AppTest]


def test_it_explains_terms_on_real_tokens_and_links_to_every_page(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    app = open_app("start", checkpoint=NAME)
    shown = html(app)
    for term in ("Token", "Subword mark", "Checkpoint"):
        assert GLOSSARY[term] in shown
    assert "&lt;/s&gt;" in shown
    source = [token.text for token in translate(checkpoint, app.text_input(key="text").value).source]
    assert any(token.startswith("·") for token in source), "a word split into subwords"
    assert all(token.replace("</s>", "&lt;/s&gt;") in shown for token in source)
    links = {link.proto.page: link.proto.label for link in app.get("page_link")}
    assert list(PAGES) == ["start", *(page or "translate" for page in links)]
    assert all(PAGES[page or "translate"]["instruction"] in label for page, label in links.items())


def test_it_is_the_first_page_of_the_list_but_translate_opens_first(open_app: OpenApp) -> None:
    assert next(iter(PAGES)) == "start"
    assert ">Translate <" in html(open_app())


def test_a_code_opens_its_page(open_app: OpenApp) -> None:
    code = CODES.code_of(Place("steps", (("text", "A dog runs."),)))
    app = open_app("start")
    app.text_input(key="code_on_start").set_value(code).run()
    assert not app.exception
    assert ">Step by step <" in html(app)
    assert app.text_input(key="text").value == "A dog runs."
