"""The checkpoint picker in the sidebar, and the languages of a model that has many."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from model.checkpoints.languages import usual_languages
from model.config.foreign import ForeignConfig
from model.config.model import ClassifierConfig
from model.inference.opening import AnyConfig
from viz_app.content.numbers import decimal, percent
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t, tp, worded
from viz_app.services.listing import CheckpointKey, Listed
from viz_app.session.choices import choices, clear_choice, hand_over, set_choice, settle
from viz_app.widgets.forced_tokens import text_choices
from viz_app.widgets.language_names import language_label, language_name

__all__ = ["DEFAULT_CHECKPOINT", "checkpoint_picker", "chosen_languages", "with_chosen_languages"]

DEFAULT_CHECKPOINT = "everyday-en-de"  # newcomers type everyday sentences, which captions of pictures are not
# Old links name checkpoints that others have replaced.
REPLACED = {"multi30k-de-en": "everyday-de-en", "tatoeba-en-zh": "everyday-en-zh"}
TASKS = {
    "classification": N_("classifies texts"),
    "translation": N_("translates or rewrites"),
    "continuation": N_("continues texts"),
    "reading": N_("reads texts"),
}
ENCODES = N_("encoder without an output layer")


def checkpoint_picker(listed: Sequence[Listed]) -> None:
    """Draw the picker in the sidebar, with one line about the chosen checkpoint below it."""
    configs = {one.key.name: one.config for one in listed if one.config is not None}
    if not configs:
        return
    missing = settle_checkpoint(configs)
    with st.sidebar:
        name = st.selectbox(
            t("Checkpoint"),
            in_order(configs),
            index=None if missing else 0,
            key="checkpoint",
            placeholder=t("Choose a checkpoint"),
            help=t("The trained model that all pages show."),
        )
        if name:
            st.caption(plain(summary(configs[name])))


def settle_checkpoint(configs: dict[str, AnyConfig]) -> bool:
    """Give the picker its checkpoint. Returns whether the chosen one is missing; then the picker is empty."""
    chosen = choices().chosen.get("checkpoint")
    if chosen not in configs and REPLACED.get(str(chosen)) in configs:
        chosen = REPLACED[str(chosen)]
        set_choice("checkpoint", chosen)
    missing = chosen is not None and chosen not in configs
    default = DEFAULT_CHECKPOINT if DEFAULT_CHECKPOINT in configs else in_order(configs)[0]
    settle("checkpoint", None if missing else default, configs)
    owners = set(choices().owners)
    if hand_over("checkpoint", str(chosen) if missing else st.session_state["checkpoint"], ("intervention",)):
        # No page has shown the text of a link, so its forced tokens belong to the last checkpoint.
        for name in text_choices() if owners == {"checkpoint"} else ():
            clear_choice(name)
    return missing


def in_order(configs: dict[str, AnyConfig]) -> list[str]:
    """Names of checkpoints: our own first, and of these the ones that read English, which most visitors can type."""

    def rank(name: str) -> tuple[bool, bool, str]:
        config = configs[name]
        return isinstance(config, ForeignConfig), config.tokenizer.source_language != "en", name

    return sorted(configs, key=rank)


def summary(config: AnyConfig) -> str:
    """A checkpoint in one line: task or languages, tokens, quality."""
    if isinstance(config, ForeignConfig):
        layers = " + ".join(str(n) for n in (config.model.num_encoder_layers, config.model.num_decoder_layers) if n)
        return t(
            "{family} · {task} · {layers} layers, {heads} heads each",
            family=worded(config.family),
            task=t(TASKS[config.task] if config.predicts else ENCODES),
            layers=layers,
            heads=config.model.num_heads,
        )
    tokenizer, accuracy = config.tokenizer, config.figure("accuracy")
    if isinstance(config.model, ClassifierConfig):
        language = language_name(tokenizer.source_language)
        task = t("{language} text: {labels}", language=language, labels=", ".join(config.model.labels))
    else:
        task = f"{language_name(tokenizer.source_language)} → {language_name(tokenizer.target_language)}"
    parts = [task, t("words") if tokenizer.kind == "words" else t("subwords")]
    if config.bleu:
        parts.append(f"{decimal(config.bleu, digits=1)} BLEU")
    if accuracy:
        parts.append(t("{share} accuracy", share=percent(accuracy / 100)))
    return " · ".join(parts)


def with_chosen_languages(key: CheckpointKey, config: AnyConfig) -> CheckpointKey:
    """The key with the two languages that the visitor chose; unchanged for a model that has one pair."""
    if not isinstance(config, ForeignConfig) or not config.tokenizer.languages:
        return key
    source, target = usual_languages(config)
    pick_language(tp("language", "From"), "from_language", config, source)
    pick_language(tp("language", "Into"), "into_language", config, target)
    return chosen_languages(key, config)


def chosen_languages(key: CheckpointKey, config: AnyConfig) -> CheckpointKey:
    """As `with_chosen_languages`, without the two pickers."""
    if not isinstance(config, ForeignConfig) or not config.tokenizer.languages:
        return key
    usual, chosen = usual_languages(config), choices().chosen
    source, target = (
        str(chosen[name]) if chosen.get(name) in config.tokenizer.languages else default
        for name, default in zip(("from_language", "into_language"), usual, strict=True)
    )
    return replace(key, source=source, target=target)


def pick_language(label: str, name: str, config: ForeignConfig, default: str) -> None:
    """Choose one of the languages of the model, in the sidebar."""
    codes = list(config.tokenizer.languages)
    settle(name, default, codes)
    with st.sidebar:
        st.selectbox(label, codes, key=name, format_func=language_label)
