"""Every page with checkpoints that we did not train: those of `transformers`, of each of their three tasks."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest
from transformers import BertForTokenClassification

from model.analysis.mask_bugs import bugs_of
from model.analysis.padded_batch import padded_batch
from model.analysis.patching import patch_every_head
from model.checkpoints.languages import with_languages
from model.config.search import SearchConfig
from model.inference.continuation import with_continuation
from model.inference.opening import open_translator
from model.inference.translate import translate
from tests.foreign_folders import make_folder, make_many_languages
from tests.viz_app.conftest import array, charts, component_data, head_map, html, in_url, maps
from tools.foreign_families import family_named
from tools.small_models import make_family
from viz_app.content.examples import BATCHES
from viz_app.sections.masks.bug_lab import MISTAKES

FAMILIES = ("t5", "gpt2", "bert")
OTHERS = {"wide": "Qwen 3, wide heads", "bitnet": "BitNet", "latent": "DeepSeek V3"}
WINDOW = {"window": "Gemma 3"}
TEXT = "The cat sat on the mat."
OpenApp = Callable[..., AppTest]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("others")
    for family in (*FAMILIES, "bert-classifier"):
        make_folder(root / f"small-{family}", family)
    for name, title in (OTHERS | WINDOW).items():
        make_family(root / f"small-{name}", family_named(title))
    make_folder(root / "small-chat", "llama")
    template = "{{ bos_token }}Be kind & <b>short</b>: {{ messages[0]['content'] }}</s>"
    (root / "small-chat" / "chat_template.jinja").write_text(template)
    make_folder(root / "small-broken", "gpt2")
    (root / "small-broken" / "chat_template.jinja").write_text("{{ raise_exception('Only *tools*.') }}")
    settings = make_folder(root / "small-settings", "bart") / "generation_config.json"
    own = {"no_repeat_ngram_size": 2, "min_length": 4, "num_beams": 3, "early_stopping": True, "guidance_scale": 1.5}
    settings.write_text(json.dumps(json.loads(settings.read_text()) | own))
    damaged = make_folder(root / "small-damaged", "gpt2") / "model.safetensors"
    damaged.write_bytes(damaged.read_bytes()[:-1000])
    tokens = make_folder(root / "small-encoder", "bert")
    BertForTokenClassification.from_pretrained(tokens).save_pretrained(tokens)
    (tokens / "optimizer.pt").write_bytes(b"state")
    make_many_languages(root / "small-nllb", ("deu_Latn", "eng_Latn", "zho_Hans"))
    return root


@pytest.fixture
def open_with(open_app: OpenApp, folder: Path, monkeypatch: pytest.MonkeyPatch) -> OpenApp:
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(folder))

    def open_page(page: str, family: str, **query: str) -> AppTest:
        return open_app(page, checkpoint=f"small-{family}", text=TEXT, **query)

    return open_page


@pytest.mark.parametrize("family", FAMILIES)
def test_the_map_on_the_screen_equals_that_of_the_model(open_with: OpenApp, folder: Path, family: str) -> None:
    app = open_with("translate", family, layer="2", head="3")
    checkpoint = open_translator(folder / f"small-{family}")
    expected = translate(checkpoint, TEXT)
    kind = checkpoint.model.config.kinds[0]
    drawn, weights = np.nan_to_num(head_map(app)), expected.maps[kind][1, 2][:40, :40]
    np.testing.assert_allclose(drawn, weights, atol=1e-6)
    if expected.text:
        assert expected.text.split()[0] in html(app)


@pytest.mark.parametrize(("layer", "masked"), [("1", 4), ("2", None)])
def test_a_cell_outside_a_window_is_shown_as_masked(open_with: OpenApp, layer: str, masked: int | None) -> None:
    drawn = head_map(open_with("translate", "window", layer=layer, head="2"))
    distance = np.arange(len(drawn))[:, None] - np.arange(drawn.shape[1])
    np.testing.assert_array_equal(np.isnan(drawn), (distance < 0) | (distance >= (masked or len(drawn))))
    rolled = head_map(open_with("translate", "window", layer="2", head="rollout"))
    np.testing.assert_array_equal(np.isnan(rolled), distance < 0)  # through a layer without a window


def test_a_model_of_many_languages_asks_for_two_and_keeps_to_them(open_with: OpenApp, folder: Path) -> None:
    checkpoint = open_translator(folder / "small-nllb")
    app = open_with("translate", "nllb", layer="2", head="3")
    assert [
        (app.selectbox(key=key).label, app.selectbox(key=key).value) for key in ("from_language", "into_language")
    ] == [
        ("From", "eng_Latn"),
        ("Into", "deu_Latn"),
    ]
    app.selectbox(key="into_language").set_value("zho_Hans").run()
    assert not app.exception
    expected = translate(with_languages(checkpoint, "eng_Latn", "zho_Hans"), TEXT)
    kind = checkpoint.model.config.kinds[0]
    np.testing.assert_allclose(np.nan_to_num(head_map(app)), expected.maps[kind][1, 2][:40, :40], atol=1e-6)
    app.switch_page("viz_app/pages/steps.py").run()
    assert not app.exception
    assert app.selectbox(key="into_language").value == "zho_Hans"


@pytest.mark.parametrize(
    ("page", "query"),
    [
        *(("inside", {"inside_tab": name}) for name in ("layers", "why")),
        *(("heads", {"heads_tab": name}) for name in ("board", "paste")),
        ("translate", {}),
        ("masks", {}),
    ],
)
def test_an_encoder_without_an_output_layer_is_asked_for_no_mask(
    open_with: OpenApp, page: str, query: dict[str, str]
) -> None:
    app = open_with(page, "encoder", **query)
    texts = [*app.info, *app.caption, *app.markdown]
    said = " ".join([*(element.value for element in texts), *(field.label for field in app.text_input)])
    assert not re.search("mask token|in place of a word|guess", said)
    if "inside_tab" in query or "heads_tab" in query:
        assert "encoder without an output layer" in said
    assert any("bert · encoder without an output layer" in element.value for element in app.sidebar.caption)


def test_the_page_checkpoints_names_what_is_not_used(open_with: OpenApp) -> None:
    app = open_with("checkpoints", "encoder")
    (line,) = (place for place in app.expander if place.label.startswith("Not used"))
    assert line.label == "Not used: 1 file and 2 tensors"
    assert [code.value for code in line.code] == ["classifier.bias\nclassifier.weight", "optimizer.pt"]
    assert "BertForTokenClassification" in line.markdown[0].value
    assert app.dataframe[0].value.set_index("checkpoint")["task"]["small-encoder"] == "encoding"
    assert not any(place.label.startswith("Not used") for place in open_with("checkpoints", "gpt2").expander)


PAGES = ("translate", "steps", "inside", "positions", "masks", "heads", "checkpoints")
REFUSED = {("steps", "bert"), ("positions", "t5")}


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("page", PAGES)
def test_every_page_works_or_names_the_reason(open_with: OpenApp, page: str, family: str) -> None:
    app = open_with(page, family)
    said = " ".join(element.value for element in app.info)
    titles = [element.value for element in app.header]
    assert any(title.startswith("This page is about") for title in titles) == ((page, family) in REFUSED)
    if (page, family) in REFUSED:
        assert f"small-{family}" in said.replace("\\", "")
        assert "left" in said


@pytest.mark.parametrize("tab", ["What heads do", "Importance"])
@pytest.mark.parametrize("family", FAMILIES)
def test_heads_are_measured(open_with: OpenApp, family: str, tab: str) -> None:
    app = open_with("heads", family, heads_tab=tab)
    measured = tab == "What heads do" or family != "bert"
    assert bool(charts(app)) == measured
    assert measured or "another model" in app.info[0].value


def test_a_prompt_and_its_continuation_are_distinguished(open_with: OpenApp) -> None:
    app = open_with("translate", "gpt2")
    shown = html(app)
    assert shown.index("reads") < shown.index("writes")
    assert "stopped after 40 tokens" in " ".join(element.value for element in app.caption)
    assert app.text_input[0].label.startswith("Type the beginning of a text")


def test_a_masked_word_is_predicted(open_with: OpenApp) -> None:
    app = open_with("translate", "bert")
    assert "&lt;mask&gt;" in app.text_input[0].label or "mask" in app.text_input[0].label
    app.text_input[0].set_value("The <mask> sat on the mat.").run()
    assert not app.exception
    assert html(app).count('class="hl-tip"') == 1  # the ten candidates of the one masked token


@pytest.mark.parametrize(("family", "said"), [("bert", r"in place of a word"), ("gpt2", "")])
def test_the_board_says_why_it_measures_no_head(open_with: OpenApp, family: str, said: str) -> None:
    captions = [one.value for one in open_with("heads", family).caption]
    reasons = [one for one in captions if "is not measured here" in one]
    assert len(reasons) == bool(said)
    assert said in "".join(reasons)


@pytest.mark.parametrize(("family", "title"), [("gpt2", "Continue a text"), ("bert", "Fill gaps"), ("t5", "Translate")])
def test_the_title_says_what_the_model_does(open_with: OpenApp, family: str, title: str) -> None:
    assert f">{title} <span>" in html(open_with("translate", family))


def test_heads_of_a_foreign_model_can_be_silenced(open_with: OpenApp) -> None:
    everything = "off.decoder.1.1-2-3-4~off.decoder.2.1-2-3-4"
    app = open_with("heads", "gpt2", intervention=everything)
    texts = " ".join(element.value for element in app.caption)
    assert "as trained has the log-probability" in texts
    assert "(+0.00 nats)" not in texts


@pytest.mark.parametrize("norms", ["true", "false"])
@pytest.mark.parametrize("family", FAMILIES)
def test_value_norms_and_rollout_are_offered(open_with: OpenApp, family: str, norms: str) -> None:
    app = open_with("translate", family, norms=norms, head="rollout")
    assert head_map(app).size
    assert not app.exception


def test_a_foreign_classifier_reads_a_review(open_with: OpenApp) -> None:
    app = open_with("sentiment", "bert-classifier")
    assert "&lt;b&gt;great&lt;/b&gt;" in html(app) or "terrible" in html(app) or "so-so" in html(app)
    assert "<b>great</b>" not in html(app)
    assert len(maps(app)) == 1
    assert app.segmented_control(key="reading").options == ["rollout to the words", "first token"]
    said = " ".join(element.value for element in app.markdown)
    assert "the vector of the first token" in said
    assert "learned query" not in said


@pytest.mark.parametrize("bug", ["", "fill"])
def test_the_bug_lab_runs_models_that_ban_nothing(open_with: OpenApp, bug: str) -> None:
    app = open_with("masks", "t5", mask_tab="Bug lab", **({"bug": bug} if bug else {}))
    assert not app.exception
    assert len(charts(app)) >= 2


def test_the_beam_tree_of_a_language_model_begins_after_the_prompt(open_with: OpenApp, folder: Path) -> None:
    app = open_with("steps", "gpt2", steps_view="beam", beam_size="3")
    checkpoint = open_translator(folder / "small-gpt2")
    expected = translate(checkpoint, TEXT, search=SearchConfig(method="beam", beam_size=3))
    assert expected.text in html(app)
    nodes = component_data(app, "beam_tree")["nodes"]
    begin = [node for node in nodes if node["parent"] == -1]
    assert {node["depth"] for node in begin} == {1}
    assert len(begin) > 1  # a choice, which a prompt does not have
    assert sum(node["best"] for node in nodes) == len(expected.written) - expected.prompt_length


def test_a_step_of_the_prompt_offers_nothing_to_choose(open_with: OpenApp) -> None:
    data = component_data(open_with("steps", "gpt2"), "stepper")
    assert data["given"] > 0
    assert "chooses nothing" in data["given_note"]
    data = component_data(open_with("steps", "nllb"), "stepper")
    assert data["given"] == 1
    assert "deu_Latn" in data["given_note"]


def test_a_model_without_scaling_says_so(open_with: OpenApp) -> None:
    app = open_with("inside", "t5", kind="encoder")
    assert app.toggle(key="scaled").disabled
    assert "only rounding" in app.success[0].value
    assert any("distance" in latex.value for latex in app.latex)


def test_one_text_alone_has_neither_source_nor_target(open_with: OpenApp) -> None:
    for family in ("gpt2", "bert"):
        data = component_data(open_with("translate", family), "attention_map")
        for title in (data["query_title"], data["key_title"]):
            assert "source" not in title
            assert "target" not in title


@pytest.mark.parametrize("family", ["wide", "latent"])
def test_heads_of_another_width_than_the_model_are_taken_apart(open_with: OpenApp, family: str) -> None:
    app = open_with("inside", family, head="3")
    assert "only rounding" in app.success[0].value
    vectors = charts(app)[-1]
    heads, _, output = np.array(array(vectors["data"][0]["z"]), dtype=float)
    assert np.isfinite(output).sum() == 32
    width = np.isfinite(heads).sum() // 4
    frame = vectors["layout"]["shapes"][0]
    assert (frame["x0"], frame["x1"]) == (2 * width - 0.5, 3 * width - 0.5)
    assert list(vectors["layout"]["xaxis"]["tickvals"]) == [0, width, 2 * width, 3 * width]


def test_a_gate_or_a_norm_after_the_heads_is_named_instead_of_computed(open_with: OpenApp) -> None:
    app = open_with("inside", "bitnet")
    assert "layer output" not in app.success[0].value
    said = [info.value.replace("\\", "") for info in app.info]
    assert any("The last step" in text and "a norm, a gate" in text for text in said)
    app = open_with("translate", "bitnet", norms="true")
    assert app.toggle(key="norms").disabled
    assert "a norm, a gate" in app.toggle(key="norms").help.replace("\\", "")


def test_side_by_side_names_a_checkpoint_that_cannot_be_opened(open_with: OpenApp) -> None:
    app = open_with("compare", "gpt2", beside="small-damaged")
    assert any("damaged" in info.value and "Choose another checkpoint" in info.value for info in app.info)


def test_the_number_of_new_tokens_and_the_chat_template_follow_the_visitor(open_with: OpenApp, folder: Path) -> None:
    app = open_with("translate", "chat", new_tokens="5", layer="1", head="1")
    assert app.slider(key="new_tokens").value == 5
    checkpoint = open_translator(folder / "small-chat")
    plain = translate(with_continuation(checkpoint, new_tokens=5), TEXT)
    assert component_data(app, "attention_map")["queries"][-1].split()[-1] == plain.read[-1].text
    app.toggle(key="chat").set_value(True).run()
    assert not app.exception
    assert "<s>Be kind & <b>short</b>: " in [code.value for code in app.code]  # as text
    wrapped = translate(with_continuation(checkpoint, new_tokens=5, chat=True), TEXT)
    drawn, weights = np.nan_to_num(head_map(app)), wrapped.maps["decoder"][0, 0][:40, :40]
    np.testing.assert_allclose(drawn, weights, atol=1e-6)
    app.switch_page("viz_app/pages/steps.py").run()
    assert (in_url(app, "chat"), in_url(app, "new_tokens")) == ("true", "5")


def test_a_broken_chat_template_is_named_and_the_text_is_read_without_it(open_with: OpenApp, folder: Path) -> None:
    app = open_with("translate", "broken", chat="true", new_tokens="3", layer="1", head="1")
    assert [error.value for error in app.error] == [
        "The chat template of small\\-broken cannot be used\\: Only \\*tools\\*\\. The text is read without the chat "
        "template\\."
    ]
    read = translate(with_continuation(open_translator(folder / "small-broken"), new_tokens=3), TEXT)
    np.testing.assert_allclose(np.nan_to_num(head_map(app)), read.maps["decoder"][0, 0][:40, :40], atol=1e-6)


def test_two_beginnings_are_compared_by_position(
    open_app: OpenApp, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(folder))
    app = open_app("compare", checkpoint="small-gpt2", compare="sentences", new_tokens="4")
    assert [field.value for field in app.text_input][:2] == [
        "The cat sat on the mat because",
        "The dog sat on the mat because",
    ]
    assert (len(maps(app)), len(charts(app))) == (3, 1)  # two maps, their difference, and the heads


def test_the_page_names_the_generation_settings(open_with: OpenApp) -> None:
    app = open_with("translate", "settings", method="beam")
    shown = " ".join(text.value for text in app.markdown)
    assert "Every search follows `no_repeat_ngram_size` 2, `min_length` 4" in shown
    assert "would search with `num_beams` 3, `early_stopping` True" in shown
    assert "does not follow `guidance_scale` 1\\.5" in shown
    assert app.slider(key="beam_size").value == 3


@pytest.mark.parametrize("family", ["gpt2", "bert"])
def test_heads_are_patched_between_two_texts_of_one_length(open_with: OpenApp, folder: Path, family: str) -> None:
    texts = {
        "gpt2": ("The cat sat on the mat because", "The dog sat on the mat because"),
        "bert": ("The <mask> sat on the mat.", "The <mask> sat on the dog."),  # with another guess
    }
    text, donor = texts[family]
    checkpoint = open_translator(folder / f"small-{family}")
    app = open_with("heads", family, heads_tab="paste", giver=donor)
    app.session_state["text"] = text
    app.run()
    found = patch_every_head(checkpoint, donor, text)
    assert found is not None
    (grid,) = found.heads.values()
    np.testing.assert_allclose(array(charts(app)[0]["data"][0]["z"]).astype(float), grid, atol=1e-4)


def test_a_donor_of_another_length_gets_a_reason(open_with: OpenApp) -> None:
    app = open_with("heads", "gpt2", heads_tab="paste", giver="The cat")
    assert "need the same number of tokens" in app.info[0].value
    assert not charts(app)


def test_a_language_model_shows_its_padding_on_both_sides(open_with: OpenApp, folder: Path) -> None:
    checkpoint = open_translator(folder / "small-window")
    for side in ("left", "right"):
        app = open_with("masks", "window", padding_side=side, layer="1", sentence="1")
        padding, causal, combined, *_ = charts(app)
        batch = padded_batch(checkpoint, BATCHES["beginnings"], side=side)
        np.testing.assert_array_equal(array(padding["data"][0]["z"]), batch.read_real)
        np.testing.assert_array_equal(array(causal["data"][0]["z"]), batch.unpadded_mask("decoder", 0))
        np.testing.assert_array_equal(array(combined["data"][0]["z"]), batch.allowed["decoder"][0, 0])
        app = open_with("masks", "window", padding_side=side, mask_tab="bugs")
        offered = [MISTAKES[name].label for name in bugs_of(checkpoint, side)]
        assert app.segmented_control(key="bug").options == offered
