"""Which checkpoint the pages look into: the picker, and what a page needs of it or says instead."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import streamlit as st

from model.analysis.learning import list_snapshots
from model.checkpoints.checkpoint import CheckpointError
from model.checkpoints.languages import short_code, usual_languages
from model.config.foreign import ForeignConfig
from model.config.model import ClassifierConfig, RecurrentConfig
from model.config.section import ConfigError
from model.inference.opening import AnyConfig
from viz_app.content.plain import as_sentence, percent, plain
from viz_app.services import loading
from viz_app.services.listing import CheckpointKey, Listed
from viz_app.session.choices import choices, set_choice, settle
from viz_app.session.page_end import end_page
from viz_app.session.page_facts import add_fact
from viz_app.widgets.navigation import page_link

__all__ = [
    "FIRST",
    "checkpoint_picker",
    "language",
    "lead_to_sentiment",
    "require_attention",
    "require_checkpoint",
    "require_classifier",
    "require_known",
    "require_snapshots",
    "require_translator",
]

FIRST = "everyday-en-de"  # what a newcomer sees: people type sentences of every day first, not captions
MAX_NAME = 80  # characters of a name from a link
# Checkpoints that others have replaced: old links lead to those.
REPLACED = {"multi30k-de-en": "everyday-de-en", "tatoeba-en-zh": "everyday-en-zh"}
JOBS = {
    "classification": "classifies texts",
    "translation": "translates or rewrites",
    "continuation": "goes on with a text",
    "reading": "reads a text",
}
LANGUAGES = {
    **{"ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English", "es": "Spanish"},
    **{"fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian", "it": "Italian"},
    **{"ja": "Japanese", "ko": "Korean", "nl": "Dutch", "pl": "Polish", "pt": "Portuguese", "ro": "Romanian"},
    **{"ru": "Russian", "sv": "Swedish", "tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese"},
}


def language(code: str) -> str:
    return LANGUAGES.get(code, code)


def checkpoint_picker(found: Sequence[Listed]) -> None:
    """Choose among the usable checkpoints; stands in the sidebar of every page."""
    configs = {listed.key.name: listed.config for listed in found if listed.config is not None}
    if not configs:
        return
    wanted = choices().chosen.get("checkpoint")
    if wanted not in configs and REPLACED.get(str(wanted)) in configs:
        set_choice("checkpoint", REPLACED[str(wanted)])
    # Ours first, and of those English, which most visitors can type into.
    names = sorted(
        configs,
        key=lambda name: (
            isinstance(configs[name], ForeignConfig),
            configs[name].tokenizer.source_language != "en",
            name,
        ),
    )
    wanted = choices().chosen.get("checkpoint")
    missing = wanted is not None and wanted not in configs
    settle("checkpoint", None if missing else FIRST if FIRST in configs else names[0], configs)
    with st.sidebar:
        name = st.selectbox(
            "Checkpoint",
            names,
            index=None if missing else 0,
            key="checkpoint",
            placeholder="Choose a checkpoint",
            help="The trained model that all pages look into.",
        )
        if name:
            st.caption(plain(summary(configs[name])))


def require_known(name: object, found: Sequence[Listed]) -> None:
    """Where a link or an earlier choice names a checkpoint that cannot be used, a sentence takes the page's place."""
    listed = next((one for one in found if one.key.name == name), None)
    if name is None or (listed and listed.config):
        return
    shown = plain(str(name)[:MAX_NAME])
    if listed:
        st.error(f"{shown} cannot be used: {plain(listed.problem)} Choose another checkpoint on the left.")
    else:
        st.error(
            f"There is no checkpoint “{shown}” here. A checkpoint that was uploaded or trained in a browser can be "
            "opened by that visitor alone, until they leave. Choose another checkpoint on the left."
        )
    end_page()


def summary(config: AnyConfig) -> str:
    """A checkpoint in a line: what it does, tokens, quality."""
    tokenizer, accuracy = config.tokenizer, config.figure("accuracy")
    if isinstance(config, ForeignConfig):
        layers = " + ".join(str(n) for n in (config.model.num_encoder_layers, config.model.num_decoder_layers) if n)
        return f"{config.family} · {JOBS[config.task]} · {layers} layers of {config.model.num_heads} heads"
    if isinstance(config.model, ClassifierConfig):
        job = f"{language(tokenizer.source_language)} text: {' or '.join(config.model.labels)}"
    else:
        job = f"{language(tokenizer.source_language)} → {language(tokenizer.target_language)}"
    return " · ".join(
        [
            job,
            "words" if tokenizer.kind == "words" else "subwords",
            *([f"{config.bleu:.1f} BLEU"] if config.bleu else []),
            *([f"{percent(accuracy / 100)} right"] if accuracy else []),
        ]
    )


def require_checkpoint(found: Sequence[Listed]) -> tuple[CheckpointKey, AnyConfig]:
    """The chosen checkpoint, loaded; where it cannot be, a sentence takes the page's place."""
    require_known(choices().chosen.get("checkpoint"), found)
    chosen = next((listed for listed in found if listed.key.name == st.session_state.get("checkpoint")), None)
    if chosen is None:
        st.error(
            "There is no usable checkpoint. Train one with `python -m model train multi30k-en-de`, "
            "or name a folder of checkpoints in `HEADLIGHT_CHECKPOINTS`."
        )
        end_page()
    return opened(in_languages(*opened(chosen.key)))


def in_languages(key: CheckpointKey, config: AnyConfig) -> CheckpointKey:
    """The key with the languages that are asked for in the sidebar, of a model that knows many."""
    if not isinstance(config, ForeignConfig) or not config.tokenizer.languages:
        return key
    source, target = usual_languages(config)
    return replace(
        key,
        source=pick_language("From", "from_language", config, source),
        target=pick_language("Into", "into_language", config, target),
    )


def pick_language(title: str, name: str, config: ForeignConfig, usual: str) -> str:
    """Ask for a language of the model."""
    codes = list(config.tokenizer.languages)
    settle(name, usual, codes)
    with st.sidebar:
        found: str = st.selectbox(title, codes, key=name, format_func=language_name)
    return found


def language_name(code: str) -> str:
    name = LANGUAGES.get(short_code(code))
    return f"{name} ({code})" if name else code


def require_translator(found: Sequence[Listed], *, also: Sequence[str] = ()) -> tuple[CheckpointKey, AnyConfig]:
    """As `require_checkpoint`, for a page that is about translating.

    Args:
        found: All checkpoints.
        also: Other tasks for which the page makes sense.
    """
    key, config = require_checkpoint(found)
    if config.task not in ("translation", *also):
        st.header("This page is about models that write" if also else "This page is about translating")
        st.info(f"{plain(key.name)} {JOBS[config.task]} and does not translate. Choose a translator on the left.")
        if config.task == "classification":
            lead_to_sentiment()
        else:
            page_link("translate", "See all of its maps on the page Translate")
        end_page()
    return key, config


def require_attention(
    found: Sequence[Listed], *, of_transformer: str = "", also: Sequence[str] = ()
) -> tuple[CheckpointKey, AnyConfig]:
    """As `require_translator`, for a page that needs something to look at.

    Args:
        found: All checkpoints.
        of_transformer: What of a Transformer the page is about, where a recurrent network has no such thing.
        also: See there.
    """
    key, config = require_translator(found, also=also)
    if of_transformer and isinstance(config.model, RecurrentConfig):
        st.header(f"This page is about {of_transformer}")
        st.info(
            f"{plain(key.name)} is a recurrent network, which has none: it reads one word after the other. Choose a "
            "Transformer on the left"
            + (", or see on the page Translate what this one looks at." if config.model.kinds else ".")
        )
        end_page()
    if not config.model.kinds:
        st.header("This page is about attention")
        st.info(
            f"{plain(key.name)} has none: all that it knows of the source while it writes is one vector. Choose "
            "another checkpoint on the left."
        )
        end_page()
    return key, config


def lead_to_sentiment() -> None:
    """A link to the page that is about a classifier."""
    page_link("sentiment", "See what it looks at on the page Sentiment")


def require_snapshots(found: Sequence[Listed]) -> tuple[CheckpointKey, AnyConfig]:
    """The chosen checkpoint if its training kept snapshots, else the first whose training did; or a sentence."""
    require_known(choices().chosen.get("checkpoint"), found)
    usable = [
        one
        for one in found
        if one.config is not None
        and one.config.task == "translation"
        and one.config.model.kinds
        and len(list_snapshots(Path(one.key.path))) > 1
    ]
    chosen = [one for one in usable if one.key.name == st.session_state.get("checkpoint")]
    if not usable:
        st.error(
            "No checkpoint has snapshots of its training. Train one with `snapshot_steps` in its recipe, such as "
            "`python -m model train multi30k-en-de`."
        )
        end_page()
    key = (chosen or usable)[0].key
    if not chosen:
        st.caption(
            f"This page follows {plain(key.name)}, because the chosen checkpoint has no snapshots of its training."
        )
    return opened(key)


def opened(key: CheckpointKey) -> tuple[CheckpointKey, AnyConfig]:
    add_fact("Checkpoint", key.name)
    try:
        return key, loading.config_of(key)
    except (CheckpointError, ConfigError) as error:
        st.error(plain(f"{as_sentence(str(error))} Choose another checkpoint on the left."))
        end_page()


def require_classifier(found: Sequence[Listed]) -> tuple[CheckpointKey, AnyConfig]:
    """The chosen checkpoint if it classifies, else the first that does; without any, a sentence instead of the page."""
    require_known(choices().chosen.get("checkpoint"), found)
    usable = [listed for listed in found if listed.config is not None and listed.config.task == "classification"]
    chosen = [listed for listed in usable if listed.key.name == st.session_state.get("checkpoint")]
    if not usable:
        st.error("There is no classifier. Train one with `python -m model train imdb-sentiment`.")
        end_page()
    key = (chosen or usable)[0].key
    if not chosen:
        st.caption(f"This page reads with {plain(key.name)}, because the chosen checkpoint is no classifier.")
    return opened(key)
