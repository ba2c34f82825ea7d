"""The page Circuits: its numbers are those of `find_circuit`, and bad input gets a sentence."""

import io
import json
import re
from collections.abc import Callable

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from model.circuits.finding import Circuit, effects_by_position, find_circuit
from model.inference.opening import open_checkpoint
from tests.conftest import BUNDLED
from tests.viz_app.conftest import array, charts, component_data, components, html, in_url, maps
from viz_app.sections.circuits import made
from viz_app.services.analyses import Analysis
from viz_app.services.listing import list_one
from viz_app.widgets.head_picker import WINDOW

OpenApp = Callable[..., AppTest]
NAME = "tiny-gpt-en"
PAIR = tuple(f"When Tom and Anna went to the park, {name} gave a ball to" for name in ("Tom", "Anna"))
TEXTS = {"checkpoint": NAME, "text": PAIR[0], "giver": PAIR[1]}


@pytest.fixture(scope="module")
def found() -> Circuit:
    return find_circuit(open_checkpoint(BUNDLED / NAME), [PAIR])


def test_a_button_finds_the_circuit(open_app: OpenApp, found: Circuit) -> None:
    app = open_app("circuits", **TEXTS)
    assert not components(app, "circuit")
    assert any(caption.value.startswith("This takes about") for caption in app.caption)
    next(button for button in app.button if button.label == "Find the circuit").click().run()
    drawn = component_data(app, "circuit")
    shown = {one["code"]: one["size"] for one in drawn["edges"]}
    assert shown == pytest.approx({one.edge.code: one.effect for one in found.edges[:20]}, abs=1e-4)
    assert list(map(abs, shown.values())) == sorted(map(abs, shown.values())), "thick edges are above thin ones"
    assert drawn["chosen"] == found.edges[0].edge.code
    for chart, expected in zip(charts(app), found.faithfulness, strict=True):
        lines = [array(line["y"]) for line in chart["data"]]
        np.testing.assert_allclose(lines, [expected.circuit, expected.random, expected.without], atol=1e-3)


def test_a_link_shows_the_number_of_edges_and_the_chosen_edge(open_app: OpenApp, found: Circuit) -> None:
    chosen = next(one for one in found.edges[50:] if one.edge.receiver.as_head)
    app = open_app("circuits", **TEXTS, circuit_edges="100", circuit_edge=chosen.edge.code)
    drawn = component_data(app, "circuit")
    assert (len(drawn["edges"]), drawn["chosen"]) == (100, chosen.edge.code)
    assert {one["code"] for one in drawn["edges"] if one["patched"]} == {one.edge.code for one in found.edges[:50]}
    effects = effects_by_position(open_checkpoint(BUNDLED / NAME), *PAIR, chosen.edge.code)
    assert "This edge was not patched." in html(app)
    assert f"its effect is largest at token {np.abs(effects).argmax() + 1} " in html(app)
    heads = [head for head in (chosen.edge.sender.as_head, chosen.edge.receiver.as_head) if head]
    assert len(maps(app)) == len(heads)
    assert (in_url(app, "circuit_edges"), in_url(app, "circuit_edge")) == ("100", chosen.edge.code)
    app = open_app("circuits", **TEXTS, circuit_edges="7", circuit_edge="x")
    assert component_data(app, "circuit")["chosen"] == found.edges[0].edge.code


def test_two_heads_of_a_long_text_share_one_section(open_app: OpenApp) -> None:
    text, donor = (f"Once upon a time there was a boy named {name}. One day" for name in ("Tom", "Mei"))
    texts = {"checkpoint": NAME, "text": text, "giver": donor, "circuit_edges": "100"}
    edges = component_data(open_app("circuits", **texts), "circuit")["edges"]
    between = next(one["code"] for one in edges if re.fullmatch(r"decoder\.\d\.\d>decoder\.\d\.\d\.\w+", one["code"]))
    app = open_app("circuits", **texts, circuit_edge=between)
    assert [one.shape for one in maps(app)] == [(WINDOW, WINDOW)] * 2
    assert not any(message.value for message in app.error)


def test_the_files_have_the_numbers_of_the_result(found: Circuit) -> None:
    analysis = Analysis.of(find_circuit, list_one(BUNDLED / NAME).key, (PAIR,))
    table = pd.read_csv(io.BytesIO(made(analysis, 10, "csv")))
    assert list(table["edge"]) == [one.edge.code for one in found.edges[:10]]
    np.testing.assert_allclose(table["needed"], found.parts[0].falls, atol=1e-5)
    assert json.loads(made(analysis, 10, "json"))["all_edges"] == found.all_edges


def with_file(open_app: OpenApp, content: bytes) -> AppTest:
    app = open_app("circuits", checkpoint=NAME, circuit_from="file", circuit_edges="10")
    app.session_state["kept_pairs_file"] = ("pairs.tsv", content)
    return app.run()


def test_a_file_of_pairs_shows_what_their_circuits_share(open_app: OpenApp) -> None:
    other = [text.replace("park", "shop") for text in PAIR]
    app = with_file(open_app, "\n".join("\t".join(pair) for pair in (PAIR, other)).encode())
    expected = Analysis.of(find_circuit, list_one(BUNDLED / NAME).key, (PAIR, tuple(other))).known()
    assert expected is not None
    assert any(f"share {expected.parts[0].overlap:.0%}".replace("%", "\u00a0%") in one.value for one in app.markdown)
    np.testing.assert_allclose(app.dataframe[-1].value["edges in common"], 100 * np.array(expected.parts[0].shared))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "Upload a file of pairs"),
        (b"\xff\xfe\x00\x01", "is UTF-16 text"),
        (b"\x89PNG\r\n\x1a\n\x80", "is not UTF-8 text"),
        (b"one text only", "Line 1 is not a text, a tab and a donor"),
        (b"a\tb\n" * 20_000, "The file has 20000 pairs"),
        (b"a" * 5_000 + b"\tb", "Line 1 has more than 1000 characters"),
        ("\t".join(PAIR).encode() + b"\nWhen Tom\tWhen Anna went", "Pair 2: The receiver has"),
        (b"\t".join([PAIR[0].encode()] * 2), "Both texts lead to the same result"),
    ],
)
def test_a_bad_file_gets_a_sentence(open_app: OpenApp, content: bytes, reason: str) -> None:
    app = with_file(open_app, content)
    shown = " ".join(message.value for message in (*app.info, *app.error))
    assert reason in shown.replace("\\", "")
    assert not components(app, "circuit")


@pytest.mark.parametrize(
    ("choices", "reason"),
    [
        ({"giver": PAIR[0]}, "so nothing differs"),
        ({"giver": "When Tom"}, "need the same number of tokens"),
        ({"giver": " "}, "Type a donor"),
        ({"checkpoint": "gru-de-en"}, "Choose a Transformer"),
    ],
)
def test_texts_and_models_without_a_circuit_get_a_sentence(
    open_app: OpenApp, choices: dict[str, str], reason: str
) -> None:
    app = open_app("circuits", **TEXTS | choices)
    assert any(reason in message.value for message in (*app.info, *app.error))
    assert not components(app, "circuit")


def test_a_translator_with_texts_of_different_lengths_gets_the_sentence_of_the_model(open_app: OpenApp) -> None:
    texts = {"text": "Where is the hotel?", "giver": "Where is the big old school?"}
    app = open_app("circuits", checkpoint="everyday-en-de", **texts, circuit_edges="10")
    assert any("An edge is patched position by position" in message.value for message in (*app.info, *app.error))
