"""Measure an atlas in the app, over our sentences or those of the visitor."""

from pathlib import Path

import streamlit as st

from model.atlas.syntax import installed_pipelines
from model.checkpoints.checkpoint import CheckpointError
from model.corpora.corpora import CorpusError
from model.inference.opening import AnyConfig
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t, worded
from viz_app.sections.heads.head_measures import sentence_set
from viz_app.server.atlas_jobs import OwnAtlas, begun_atlas, forget_atlases, latest_atlas, own_atlas
from viz_app.server.presence import visitor
from viz_app.services.atlases import AtlasKey, atlas_of, shown_atlas
from viz_app.services.listing import CheckpointKey
from viz_app.services.models import config_of
from viz_app.session.page_end import end_page
from viz_app.widgets.long_work import requested, wait_for

__all__ = ["measure_another", "require_atlas"]

MOST_LINES = 2_000


def require_atlas(key: CheckpointKey) -> AtlasKey:
    """The atlas of a checkpoint. Where there is none, the page offers to measure one, and ends.

    Raises:
        PageEnded: there is no atlas yet.
    """
    atlas = shown_atlas(key)
    if atlas is None:
        st.markdown(
            t(
                "This checkpoint has no atlas yet. An atlas measures what every head does in many sentences. Choose "
                "sentences, and measure it here. A few hundred sentences take seconds with our models, and minutes "
                "with large ones."
            )
        )
        measure(key)
        end_page()
    return atlas


def measure_another(key: CheckpointKey) -> None:
    """Offer to measure the heads over other sentences."""
    place = st.expander(
        t("Measure other sentences"), icon=":material/monitoring:", key="measure_other", on_change="rerun"
    )
    if place.open:
        with place:
            measure(key)
    me, checkpoint = visitor(), (Path(key.path), key.version)
    if atlas_of(key) and latest_atlas(me, *checkpoint):
        label = t("Show the atlas that comes with the checkpoint")
        st.button(label, icon=":material/undo:", key="own_atlas_gone", on_click=forget_atlases, args=(me, *checkpoint))


def measure(key: CheckpointKey) -> None:
    pairs = sentence_set(config_of(key), most_lines=MOST_LINES)
    lines = "".join(f"{text}\t{second}\n" if second else f"{text}\n" for text, second in pairs).replace("\0", " ")
    me, place = visitor(), (Path(key.path), key.version, lines, pipelines_for(config_of(key)))
    own = begun_atlas(me, *place)
    if own and own.folder.is_dir():
        st.caption(t("This is the atlas of these sentences."))
        return
    label = t("Continue measuring") if own and own.begun else t("Measure the heads")
    running = own is not None and requested(subject_of(own))
    if running or st.button(label, icon=":material/play_arrow:", key="measure_atlas"):
        try:
            own = own_atlas(me, *place)
            done = wait_for(subject_of(own), own.measure, lane="atlas", step=N_("Sentence {done} of {total}."))
        except (CheckpointError, CorpusError) as error:
            st.error(plain(worded(error)))
        else:
            if done:
                st.rerun()


def pipelines_for(config: AnyConfig) -> tuple[str, ...]:
    """Ask for the pipelines of spaCy for the numbers of syntax, where some are installed; "-" is none."""
    names = installed_pipelines()
    if not names:
        return ()
    labels = [t("spaCy reads the sentences with"), t("spaCy reads the translations with")]
    fields = labels if config.task == "translation" else labels[:1]
    help_text = t("A pipeline finds parts of speech and dependencies. The atlas then has six numbers more.")
    chosen = tuple(
        st.selectbox(
            label,
            ("-", *names),
            format_func=lambda name: t("none") if name == "-" else name,
            key=f"atlas_syntax_{i}",
            help=help_text,
            width=320,
        )
        for i, label in enumerate(fields)
    )
    return chosen if any(name != "-" for name in chosen) else ()


def subject_of(own: OwnAtlas) -> tuple[str, str]:
    """What the job of an atlas is about."""
    return "atlas", str(own.data)
