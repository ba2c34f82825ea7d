"""Widgets that several pages share, under stable keys; see `choices` for how their values are kept."""

from collections.abc import Sequence

import streamlit as st

from model.checkpoint import CheckpointConfig, CheckpointError
from model.config import ClassifierConfig, ConfigError
from viz_app import services
from viz_app.choices import settle
from viz_app.examples import EXAMPLES
from viz_app.services import CheckpointKey, Listed

__all__ = [
    "KINDS",
    "ask_for_text",
    "checkpoint_picker",
    "head_picker",
    "how",
    "kind_picker",
    "require_checkpoint",
    "require_translator",
]

KINDS = {"cross": "cross", "encoder": "encoder self", "decoder": "decoder self, masked"}
FIRST = "multi30k-en-de"  # what a newcomer sees
LANGUAGES = {"de": "German", "en": "English", "zh": "Chinese", "fr": "French"}


def language(code: str) -> str:
    return LANGUAGES.get(code, code)


def checkpoint_picker(found: Sequence[Listed]) -> None:
    """Choose among the usable checkpoints; stands in the sidebar of every page."""
    configs = {listed.key.name: listed.config for listed in found if listed.config is not None}
    if not configs:
        return
    # English first: what most visitors can type into.
    names = sorted(configs, key=lambda name: (configs[name].tokenizer.source_language != "en", name))
    settle("checkpoint", FIRST if FIRST in configs else names[0], configs)
    with st.sidebar:
        name = st.selectbox(
            "Checkpoint",
            names,
            key="checkpoint",
            help="The trained model that all pages look into.",
        )
        st.caption(summary(configs[name]))


def summary(config: CheckpointConfig) -> str:
    """A checkpoint in a line: what it does, tokens, quality."""
    tokenizer, accuracy = config.tokenizer, config.figure("accuracy")
    if isinstance(config.model, ClassifierConfig):
        job = f"{language(tokenizer.source_language)} text: {' or '.join(config.model.labels)}"
    else:
        job = f"{language(tokenizer.source_language)} → {language(tokenizer.target_language)}"
    return " · ".join(
        [
            job,
            "words" if tokenizer.kind == "words" else "subwords",
            *([f"{config.bleu:.1f} BLEU"] if config.bleu else []),
            *([f"{accuracy:.1f} % right"] if accuracy else []),
        ]
    )


def require_checkpoint(found: Sequence[Listed]) -> tuple[CheckpointKey, CheckpointConfig]:
    """The chosen checkpoint, loaded; where it cannot be, a sentence takes the page's place."""
    chosen = next((listed for listed in found if listed.key.name == st.session_state.get("checkpoint")), None)
    if chosen is None:
        st.error(
            "There is no usable checkpoint. Train one with `python -m model train multi30k-en-de`, "
            "or name a folder of checkpoints in `HEADLIGHT_CHECKPOINTS`."
        )
        st.stop()
    try:
        return chosen.key, services.config_of(chosen.key)
    except (CheckpointError, ConfigError) as error:
        st.error(f"{error} Choose another checkpoint on the left.")
        st.stop()


def require_translator(found: Sequence[Listed]) -> tuple[CheckpointKey, CheckpointConfig]:
    """As `require_checkpoint`, for a page that is about translating."""
    key, config = require_checkpoint(found)
    if config.task != "translation":
        st.subheader("This page is about translating")
        st.info(f"{key.name} classifies texts and does not translate. Choose a translator on the left.")
        st.stop()
    return key, config


def ask_for_text(source_language: str) -> str:
    """The sentence to translate, typed or taken from the examples; shared by all pages."""
    examples = EXAMPLES.get(source_language, EXAMPLES["en"])
    previous = st.session_state.get("text_language")
    if previous not in (None, source_language) and st.session_state.get("text") in EXAMPLES.get(previous, ()):
        # An example of the other language would only make nonsense; what a person typed stays.
        st.session_state["text"] = examples[EXAMPLES[previous].index(st.session_state["text"])]
    st.session_state["text_language"] = source_language
    settle("text", examples[0])

    def use_example() -> None:
        if st.session_state["example"]:
            st.session_state["text"] = st.session_state["example"]
            st.session_state["example"] = None

    field, menu = st.columns([5, 1.4], vertical_alignment="bottom")
    with field:
        text = st.text_input(
            f"Type a sentence in {language(source_language)} and press Enter",
            key="text",
        )
    with menu:
        st.selectbox(
            "Examples",
            examples,
            index=None,
            key="example",
            placeholder="Examples",
            label_visibility="collapsed",
            on_change=use_example,
        )
    return text or ""


def kind_picker(key: str, default: str) -> str:
    """Choose a kind of attention, one of `KINDS`."""
    settle(key, default, KINDS)
    return (
        st.segmented_control("Attention", list(KINDS), format_func=KINDS.__getitem__, required=True, key=key) or default
    )


def head_picker(layers: int, heads: int, *, aggregates: bool) -> tuple[int, int | str]:
    """Choose layer and head, shown from 1, returned from 0; with `aggregates` the head may be "mean" or "max"."""
    names = [str(head + 1) for head in range(heads)] + (["mean", "max"] if aggregates else [])
    layer_names = [str(layer + 1) for layer in range(layers)]
    settle("layer", layer_names[-1], layer_names)
    settle("head", names[0], names)
    left, right = st.columns(2)
    layer = left.selectbox("Layer", layer_names, key="layer")
    head = right.selectbox("Head", names, key="head")
    return int(layer) - 1, head if head in ("mean", "max") else int(head) - 1


def how(label: str, explanation: str, formula: str | None = None) -> None:
    """A popover that says how a picture is computed."""
    with st.popover(label, icon=":material/info:", type="tertiary"):
        st.markdown(explanation)
        if formula:
            st.latex(formula)
