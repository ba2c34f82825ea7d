"""The checkpoint of a page: the picker in the sidebar, and what a page requires of the choice."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import streamlit as st

from model.analysis.learning import list_snapshots
from model.checkpoints.checkpoint import CheckpointError
from model.checkpoints.languages import usual_languages
from model.config.foreign import ForeignConfig
from model.config.model import ClassifierConfig, RecurrentConfig
from model.config.section import ConfigError
from model.inference.opening import AnyConfig
from model.text.vocab import NEW_TOKENS
from viz_app.components.page_parts import add_fact
from viz_app.content.numbers import decimal, percent, sentences
from viz_app.content.plain import as_sentence, plain
from viz_app.content.tasks import about_task
from viz_app.content.translation import N_, t, tp, worded
from viz_app.services import models
from viz_app.services.listing import CheckpointKey, Listed, listed_checkpoints
from viz_app.session.choices import choices, clear_choice, hand_over, set_choice, settle
from viz_app.session.page_end import end_page
from viz_app.widgets.language_names import language_label, language_name
from viz_app.widgets.navigation import page_link, page_title
from viz_app.widgets.run_form import lengths, text_choices

__all__ = [
    "DEFAULT_CHECKPOINT",
    "checkpoint_picker",
    "chosen_key",
    "link_to_sentiment",
    "require_checkpoint",
    "require_classifier",
    "require_model",
    "require_snapshots",
    "require_usable",
]

DEFAULT_CHECKPOINT = "everyday-en-de"  # newcomers type everyday sentences, which captions of pictures are not
# Old links name checkpoints that others have replaced.
REPLACED = {"multi30k-de-en": "everyday-de-en", "tatoeba-en-zh": "everyday-en-zh"}
LANGUAGES = ("from_language", "into_language")  # choices
MAX_NAME = 80  # characters of a name from a link


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
            task=about_task(config.task, "does") if config.predicts else t("encoder without an output layer"),
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


def as_chosen(key: CheckpointKey, config: AnyConfig) -> tuple[CheckpointKey, ConfigError | None]:
    """The key with the languages that the visitor chose, or with the way in which the model continues a text.

    Also returns why the chosen chat template is not applied, if it cannot be used.
    """
    if not isinstance(config, ForeignConfig) or not config.tokenizer.languages:
        return chosen_continuation(key, config)
    chosen = choices().chosen
    source, target = (
        str(chosen[name]) if chosen.get(name) in config.tokenizer.languages else usual
        for name, usual in zip(LANGUAGES, usual_languages(config), strict=True)
    )
    return replace(key, source=source, target=target), None


def chosen_continuation(key: CheckpointKey, config: AnyConfig) -> tuple[CheckpointKey, ConfigError | None]:
    """The key with the chosen number of new tokens and chat template; unchanged for a model that continues no text.

    Also returns why the template is not applied, if it cannot be used.
    """
    if not isinstance(config, ForeignConfig) or config.task != "continuation":
        return key, None
    chosen = choices().chosen
    number = chosen.get("new_tokens")
    allowed = lengths(config)
    if isinstance(number, int) and number in allowed:
        key = replace(key, new_tokens=number)
    elif NEW_TOKENS not in allowed:
        key = replace(key, new_tokens=allowed[-1])
    if not (chosen.get("chat") and config.tokenizer.chat_template):
        return key, None
    try:
        models.chat_frame(key.model)
    except ConfigError as error:
        return key, error
    return replace(key, chat=True), None


def pick_languages(config: AnyConfig) -> None:
    """Ask in the sidebar for two of the languages of a model that has many."""
    if not isinstance(config, ForeignConfig) or not config.tokenizer.languages:
        return
    codes, labels = list(config.tokenizer.languages), (tp("language", "From"), tp("language", "Into"))
    for name, label, usual in zip(LANGUAGES, labels, usual_languages(config), strict=True):
        settle(name, usual, codes)
        st.sidebar.selectbox(label, codes, key=name, format_func=language_label)


def require_usable(name: object, listed: Sequence[Listed]) -> None:
    """End the page where a link or an earlier choice names a checkpoint that cannot be used.

    Args:
        name: The chosen name; None for no choice.
        listed: All checkpoints.

    Raises:
        PageEnded: the checkpoint is missing or broken.
    """
    checkpoint = next((one for one in listed if one.key.name == name), None)
    if name is None or (checkpoint and checkpoint.config):
        return
    shown = plain(str(name)[:MAX_NAME])
    if checkpoint:
        st.error(
            t(
                "{name} cannot be used. {problem} Choose another checkpoint on the left.",
                name=shown,
                problem=plain(as_sentence(worded(checkpoint.problem))),
            )
        )
    else:
        st.error(
            t(
                "This server has no checkpoint “{name}”. Only the visitor who uploaded or trained a checkpoint can "
                "open it, and only until they leave. Choose another checkpoint on the left.",
                name=shown,
            )
        )
    end_page()


def require_checkpoint() -> tuple[CheckpointKey, AnyConfig]:
    """The chosen checkpoint and its configuration.

    Raises:
        PageEnded: it is missing, broken, or there is none at all.
    """
    listed = listed_checkpoints()
    require_usable(choices().chosen.get("checkpoint"), listed)
    chosen = chosen_among(listed)
    if chosen is None:
        st.error(
            t(
                "There is no usable checkpoint. Train one with `python -m model train multi30k-en-de`, or name a "
                "folder of checkpoints in `HEADLIGHT_CHECKPOINTS`."
            )
        )
        end_page()
    _, config = opened(chosen.key)
    pick_languages(config)
    key, problem = as_chosen(chosen.key, config)
    if problem:
        st.error(plain(sentences([as_sentence(worded(problem)), t("The text is read without the chat template.")])))
    if key.chat:
        add_fact(t("Chat template"), t("The model reads the text inside its chat template."))
    return noted(*opened(key))


def require_model(*tasks: str, attends: bool = True, transformer_heading: str = "") -> tuple[CheckpointKey, AnyConfig]:
    """As `require_checkpoint`, for a page that not every model has something for. A sentence says what to choose.

    Args:
        tasks: The tasks that the page can show.
        attends: The page is about attention.
        transformer_heading: The heading that replaces the page for a recurrent network, if the page is about a part
            that only a Transformer has.

    Raises:
        PageEnded: the page has nothing for the chosen model.
    """
    key, config = require_checkpoint()
    name = plain(key.name)
    if config.task not in tasks:
        st.header(t("This page is about models that write text"))
        st.info(about_task(config.task, "no_translator", name=name))
        if config.task == "classification":
            link_to_sentiment()
        else:
            page_link("translate", t("See all of its attention maps on the page {page}", page=page_title("translate")))
        end_page()
    if transformer_heading and isinstance(config.model, RecurrentConfig):
        st.header(transformer_heading)
        st.info(
            t(
                "{name} is a recurrent network and reads one word after the other. Choose a Transformer on the left.",
                name=name,
            )
        )
        if config.model.kinds:
            page_link("translate", t("See the attention of this network on the page Translate"))
        end_page()
    if attends and not config.model.kinds:
        st.header(t("This page is about attention"))
        st.info(
            t(
                "{name} has no attention. It keeps the whole source sentence in one vector. Choose another checkpoint "
                "on the left.",
                name=name,
            )
        )
        end_page()
    return key, config


def link_to_sentiment() -> None:
    """A link to the page about classifiers."""
    page_link("sentiment", t("See its attention on the page Sentiment"))


def require_snapshots() -> tuple[CheckpointKey, AnyConfig]:
    """The chosen checkpoint if it has snapshots of its training, else the first checkpoint that has them.

    Raises:
        PageEnded: no checkpoint has snapshots.
    """

    def has_snapshots(key: CheckpointKey, config: AnyConfig) -> bool:
        return config.task == "translation" and bool(config.model.kinds) and len(list_snapshots(Path(key.path))) > 1

    return chosen_or_first(
        has_snapshots,
        instead=N_("The chosen checkpoint has no snapshots of its training. This page shows {name} instead."),
        without=N_(
            "No checkpoint has snapshots of its training. Train one with `snapshot_steps` in its recipe, such as "
            "`python -m model train multi30k-en-de`."
        ),
    )


def require_classifier() -> tuple[CheckpointKey, AnyConfig]:
    """The chosen checkpoint if it classifies, else the first classifier.

    Raises:
        PageEnded: there is no classifier.
    """
    return chosen_or_first(
        lambda _, config: config.task == "classification",
        instead=N_("The chosen checkpoint is not a classifier. This page uses {name} instead."),
        without=N_("There is no classifier. Train one with `python -m model train imdb-sentiment`."),
    )


def chosen_or_first(
    suits: Callable[[CheckpointKey, AnyConfig], bool], *, instead: str, without: str
) -> tuple[CheckpointKey, AnyConfig]:
    """The chosen checkpoint if it suits, else the first that does.

    Args:
        suits: Whether a page can show a checkpoint.
        instead: The note for another checkpoint than the chosen one, with a place for its name, marked with `N_`.
        without: The message where none suits, marked with `N_`.
    """
    listed = listed_checkpoints()
    require_usable(choices().chosen.get("checkpoint"), listed)
    usable = [one for one in listed if one.config is not None and suits(one.key, one.config)]
    if not usable:
        st.error(t(without))
        end_page()
    chosen = chosen_among(usable)
    if chosen is None:
        st.caption(t(instead, name=plain(usable[0].key.name)))
    return noted(*opened((chosen or usable[0]).key))


def chosen_key(listed: Sequence[Listed]) -> CheckpointKey | None:
    """The key that the pages use, with the chosen languages and the chosen continuation; None without a usable one."""
    chosen = chosen_among(listed)
    if chosen is None or chosen.config is None:
        return None
    return as_chosen(chosen.key, models.config_of(chosen.key))[0]


def chosen_among(listed: Sequence[Listed]) -> Listed | None:
    return next((one for one in listed if one.key.name == st.session_state.get("checkpoint")), None)


def opened(key: CheckpointKey) -> tuple[CheckpointKey, AnyConfig]:
    """Load a checkpoint.

    Raises:
        PageEnded: it cannot be loaded.
    """
    add_fact(t("Checkpoint"), key.name)
    try:
        return key, models.config_of(key)
    except (CheckpointError, ConfigError) as error:
        problem = sentences([as_sentence(worded(error)), t("Choose another checkpoint on the left.")])
        st.error(plain(problem))
        end_page()


def noted(key: CheckpointKey, config: AnyConfig) -> tuple[CheckpointKey, AnyConfig]:
    """Say what is not finite in the model of a page."""
    if finding := models.loaded(key.model).finding:
        st.warning(plain(worded(finding)))
    return key, config
