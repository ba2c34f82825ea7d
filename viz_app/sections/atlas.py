"""Parts of the page Atlas: its measurement, all heads, one or two of them, also on a sentence, and their files."""

import io
import zipfile
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from model.atlas.syntax import installed_pipelines
from model.checkpoints.checkpoint import CheckpointError
from model.config.section import ConfigError
from model.corpora.corpora import CorpusError
from model.inference.opening import AnyConfig
from model.inference.run import Result
from model.interventions import Head
from viz_app.components.atlas import head_data, table_data
from viz_app.components.mounting import Data, component
from viz_app.content.numbers import sentences
from viz_app.content.plain import plain
from viz_app.content.tasks import task_of
from viz_app.content.translation import N_, t, worded
from viz_app.sections.heads.head_measures import sentence_set
from viz_app.sections.heads.intervention_choice import head_name
from viz_app.sections.sentiment import require_run_or_review
from viz_app.server.atlas_jobs import OwnAtlas, begun_atlas, forget_atlases, latest_atlas, own_atlas
from viz_app.server.presence import visitor
from viz_app.server.server_state import GATE, remembered
from viz_app.services import atlases, models
from viz_app.services.atlases import AtlasKey
from viz_app.services.attention_view import chosen_map, view
from viz_app.services.listing import CheckpointKey, listed_checkpoints
from viz_app.session.choices import clear_choice, set_choice, settle
from viz_app.session.page_end import end_page
from viz_app.widgets.atlas_links import MapOf, draw_head_map
from viz_app.widgets.head_picker import choose_window, open_head
from viz_app.widgets.headings import section
from viz_app.widgets.long_work import requested, wait_for
from viz_app.widgets.navigation import go_to

__all__ = [
    "FILES",
    "atlas_downloads",
    "draw_all_heads",
    "draw_chosen_heads",
    "draw_heads_side_by_side",
    "heads_on_a_sentence",
    "measure_another",
    "require_atlas",
    "zipped",
]

MOST_LINES = 2_000
CHOICES = (
    "atlas_rule",
    "atlas_x",
    "atlas_y",
    "atlas_head",
    "atlas_second",
    "atlas_like",
    "atlas_sinks",
    "atlas_beside",
)
LONGEST = 200  # characters of a choice
FILES: Mapping[str, Callable[[pd.DataFrame], bytes]] = {  # ending of a file → how a table becomes its content
    "csv": lambda table: table.to_csv(index=False).encode(),
    "parquet": lambda table: table.to_parquet(index=False),
}


def require_atlas(key: CheckpointKey) -> AtlasKey:
    """The atlas of a checkpoint. Where there is none, the page offers to measure one, and ends.

    Raises:
        PageEnded: there is no atlas yet.
    """
    atlas = atlases.shown_atlas(key)
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
    if atlases.atlas_of(key) and latest_atlas(me, *checkpoint):
        label = t("Show the atlas that comes with the checkpoint")
        st.button(label, icon=":material/undo:", key="own_atlas_gone", on_click=forget_atlases, args=(me, *checkpoint))


def measure(key: CheckpointKey) -> None:
    pairs = sentence_set(models.config_of(key), most_lines=MOST_LINES)
    lines = "".join(f"{text}\t{second}\n" if second else f"{text}\n" for text, second in pairs).replace("\0", " ")
    me, place = visitor(), (Path(key.path), key.version, lines, pipelines_for(models.config_of(key)))
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


def draw_all_heads(atlas: AtlasKey) -> tuple[Head, ...]:
    """Draw all heads. Returns those that the visitor chose, at most two."""
    rule, x, y, *names = (chosen(name) for name in CHOICES[:5])
    data = {**table_of(atlas), "rule": rule, "x": x, "y": y, "head": names[0], "second": names[1]}
    component("atlas_heads", "ui/atlas", key="atlas_all", change=take, data=data)
    known = {head.code: head for head in atlases.opened(atlas).heads}
    for missing in (name for name in names if name and name not in known):
        st.caption(t("This model has no head {name}.", name=plain(missing)))
    return tuple(known[name] for name in dict.fromkeys(names) if name in known)


def draw_chosen_heads(atlas: AtlasKey, heads: Sequence[Head]) -> None:
    """Draw one head, or two side by side, with their sentences."""
    others = atlases.with_atlas(listed_checkpoints(), atlas.checkpoint, heads[0].kind)
    beside = chosen("atlas_beside")
    beside = beside if beside in others else next(iter(others), "")
    other = usable(others[beside]) if beside else None
    data = {
        "table": table_of(atlas),
        "heads": [head_of(atlas, head, other) for head in heads],
        "like": chosen("atlas_like"),
        "sinks": chosen("atlas_sinks"),
        "beside": beside,
        "others": list(others),
        "open": True,
    }
    show = partial(open_sentence, task_of(models.config_of(atlas.checkpoint)))
    component("atlas_head", "ui/atlas_head", key="atlas_chosen", change=take, text=show, data=data)
    with st.container(horizontal=True, gap="small"):
        for head in heads:
            label = t("What it reads and writes: {head}", head=head_name(head))
            key = f"reads_and_writes_{head.code}"
            show = partial(open_circuits, head)
            st.button(label, icon=":material/swap_horiz:", type="tertiary", key=key, on_click=show)


@remembered()
def table_of(key: AtlasKey) -> Data:
    """`table_data` of an atlas, kept for all visitors."""
    return table_data(atlases.opened(key))


@remembered()
def head_of(key: AtlasKey, head: Head, beside: AtlasKey | None) -> Data:
    """`head_data` of an atlas, kept for all visitors.

    Args:
        key: Of the atlas.
        head: One of its heads.
        beside: The atlas of another checkpoint, whose similar heads are named.
    """
    others = {} if beside is None else {beside.checkpoint.name: atlases.opened_alone(beside)}
    return head_data(
        atlases.opened(key), head, text_of=models.loaded(key.checkpoint).tokenizers.source.decode, others=others
    )


def open_circuits(head: Head) -> None:
    """Callback: show what a head reads and writes, from its weights."""
    set_choice("kind", head.kind)
    open_head(head.layer, head.head)
    set_choice("heads_tab", "circuits")
    go_to("heads")


def usable(other: AtlasKey) -> AtlasKey | None:
    """The atlas of another checkpoint; a sentence and None where it cannot be opened."""
    try:
        atlases.opened_alone(other)
    except ConfigError as error:
        st.caption(
            plain(sentences([t("Similar heads in {name} are missing.", name=other.checkpoint.name), worded(error)]))
        )
        return None
    return other


def open_sentence(task: str, sent: Mapping[str, Any]) -> None:
    """Callback: show a sentence with a head on the page of the model's task."""
    classifies = task == "classification"
    set_choice("review" if classifies else "text", str(sent["text"]))
    set_choice("kind", str(sent["kind"]))
    open_head(int(sent["layer"]), int(sent["head"]), prefix="review_" if classifies else "")
    go_to("sentiment" if classifies else "translate")


def chosen(name: str) -> str:
    settle(name, "")
    return str(st.session_state[name])


def take(sent: Mapping[str, str]) -> None:
    """Callback: take the choices that a component reports; also another checkpoint, with its head."""
    for name, value in sent.items():
        if name in (*CHOICES, "checkpoint") and isinstance(value, str):
            if value:
                set_choice(name, value[:LONGEST])
            else:
                clear_choice(name)


def atlas_downloads(atlas: AtlasKey, heads: Sequence[Head]) -> None:
    """A popover of files. A file is made when the visitor clicks on it."""
    name = f"headlight-atlas-{atlas.checkpoint.name}"
    tables = {name: (t("All heads"), partial(atlases.numbers_of, atlas))} | {
        f"{name}-{head.code}": (t("Rows of {head}", head=head_name(head)), partial(atlases.places_of, atlas, head))
        for head in heads
    }
    with st.popover(t("Download"), icon=":material/download:"):
        for (file, (label, table)), ending in product(tables.items(), FILES):
            st.download_button(
                f"{label}, {ending.upper()}",
                partial(made, table, FILES[ending]),
                f"{file}.{ending}",
                icon=":material/download:",
                on_click="ignore",
                key=f"{file}_{ending}",
                width="stretch",
            )
        st.download_button(
            t("The whole atlas, ZIP"),
            partial(zipped, Path(atlas.folder)),
            f"{name}.zip",
            icon=":material/download:",
            on_click="ignore",
            key="whole_atlas",
            width="stretch",
        )


def zipped(folder: Path) -> bytes:
    """A folder as an archive. Unpacked, `open_atlas` opens it."""
    content = io.BytesIO()
    with GATE.inside(), zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.iterdir()):
            archive.write(path, f"atlas/{path.name}")
    return content.getvalue()


def made(table: Callable[[], pd.DataFrame], write: Callable[[pd.DataFrame], bytes]) -> bytes:
    """The content of a file; it is made in a thread of its own."""
    with GATE.inside():
        return write(table())


def heads_on_a_sentence(key: CheckpointKey, heads: Sequence[Head]) -> None:
    """Ask for a sentence, and draw the maps of some heads beside each other."""
    section(t("Both heads on one sentence"), t("Type a sentence. Each map is what the model computes for it."))
    run = require_run_or_review(key)
    draw_heads_side_by_side(key, models.result_of(key, run), heads, picture="atlas_map")


def draw_heads_side_by_side(key: CheckpointKey, result: Result, heads: Sequence[Head], *, picture: str) -> None:
    """Draw the maps of one or more heads, with the same section of large maps; `picture` begins their keys."""
    views = [view(result, head.kind, merge=False, hide_special=False) for head in heads]
    large = [
        chosen_map(maps, None, head.layer, head.head, weighted=False) for maps, head in zip(views, heads, strict=True)
    ]
    widest = max(range(len(heads)), key=lambda i: large[i].weights.size)
    window = choose_window(large[widest].weights, views[widest].axes)
    for number, (column, head) in enumerate(zip(st.columns(max(2, len(heads))), heads, strict=False)):
        with column:
            name = head_name(head)
            section(name)
            draw_head_map(
                large[number].weights,
                views[number].axes,
                large[number].allowed,
                window=window,
                of=MapOf(checkpoint=key, head=head, result=result),
                key=f"{picture}_{number}",
                alt=t("Attention weights of {name}", name=name),
            )
