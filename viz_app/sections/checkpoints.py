"""Parts of the page Checkpoints: the table, a form to open another one, and the details of one."""

import json
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import streamlit as st

from model.checkpoints.checkpoint import CheckpointError
from model.checkpoints.recognition import Question
from model.config.foreign import ForeignConfig
from model.config.paths import CHECKPOINTS
from model.config.section import ConfigError
from model.inference.opening import AnyConfig
from viz_app.content.cards import LONGEST_CARD
from viz_app.content.explanations import EXPLANATIONS
from viz_app.content.numbers import decimal, joined, percent_column
from viz_app.content.plain import as_sentence, plain
from viz_app.content.tasks import about_task
from viz_app.content.translation import N_, language, t, tn, worded
from viz_app.figures.lines import curves
from viz_app.server.server_state import MODELS_SHARE
from viz_app.server.uploads import largest_upload
from viz_app.services import atlases, listing, models
from viz_app.services.listing import CheckpointKey, Listed
from viz_app.session.own_checkpoints import (
    add_folder,
    add_upload,
    answer_questions,
    left_out_of,
    only_this_computer,
    open_questions,
)
from viz_app.widgets.charts import draw
from viz_app.widgets.headings import introduce
from viz_app.widgets.navigation import page_link, page_title

__all__ = [
    "bring_your_own",
    "draw_training_curves",
    "note_opened",
    "show_atlas_problem",
    "show_card",
    "show_checkpoint_table",
    "show_configuration",
    "show_parameters",
    "show_unused_parts",
    "show_upload_problem",
]

# The bundled models are small, and their cards name the family. Without these columns the table fits on a projector.
OF_OTHERS = ("family", "memory, MB", "maps, MB")
MOST_ROWS = 15  # a longer table scrolls
# The values of configurations in these columns, and what a visitor reads. Other values are names, and stay.
OF_CONFIGURATIONS = ("task", "tokens", "positions")
TASKS = N_(("translation", "continuation", "reading", "encoding", "classification"))
TOKENS = N_(("words", "characters", "subwords"))
POSITIONS = N_(("sinusoidal", "learned", "table", "none", "rotary", "relative", "recurrence", "its own"))
VALUES = {value: value for value in (*TASKS, *TOKENS, *POSITIONS)}
VALUES |= {"bpe": N_("subwords (BPE)"), "alibi": N_("ALiBi")}
WAYS = {"folder": N_("A folder"), "files": N_("A .zip or single files")}
HEIGHT = 340
MOST = 40  # names in a list


def show_checkpoint_table(found: Sequence[Listed]) -> None:
    """Show the task, the sizes and the scores of all checkpoints, and a warning for each one that cannot be used."""
    figures = pd.DataFrame([listing.figures_of(one) for one in found])
    columns = columns_of_table()
    only_ours = all(Path(listed.key.path).parent == CHECKPOINTS for listed in found)
    st.dataframe(
        in_words(figures),
        hide_index=True,
        height="content" if len(found) <= MOST_ROWS else "auto",
        placeholder="–",
        alt=t("Table of all checkpoints with task, languages, sizes and scores"),
        column_order=[name for name in columns if not (only_ours and name in OF_OTHERS)],
        column_config=columns,
    )
    for listed in found:
        if listed.config is None:
            st.warning(plain(worded(listed.problem)))


def in_words(figures: pd.DataFrame) -> pd.DataFrame:
    """The table with the words of the visitor in place of the names of settings."""
    known = [name for name in OF_CONFIGURATIONS if name in figures]
    return figures.assign(
        **{name: figures[name].map(lambda one: t(VALUES[one]) if one in VALUES else one) for name in known}
    )


def columns_of_table() -> dict[str, Any]:
    """Each column in its order → its heading, with the format and the explanation of its numbers."""
    number = st.column_config.NumberColumn
    memory = t(
        "Memory for all maps of a text of {tokens} tokens. It grows with the square of the length.",
        tokens=listing.TYPICAL_TOKENS,
    )
    return {
        "checkpoint": t("checkpoint"),
        "languages": t("languages"),
        "task": t("task"),
        "family": t("family"),
        "tokens": t("tokens"),
        "positions": t("positions"),
        "layers": st.column_config.TextColumn(t("layers"), help=t("Encoder + decoder")),
        "heads": t("heads"),
        "parameters": number(t("parameters"), format="localized"),
        "BLEU": number("BLEU", format="%.1f", help=t("sacreBLEU; in lower case if the model writes lower case")),
        "chrF": number("chrF", format="%.1f"),
        "accuracy": number(t("accuracy"), format=percent_column(), help=t("Texts with the correct class")),
        "size, MB": number(t("size, MB"), format="%.1f", help=t("On the disk")),
        "memory, MB": number(t("memory, MB"), format="%.1f", help=t("Of the weights, in single precision")),
        "maps, MB": number(t("maps, MB"), format="%.1f", help=memory),
    }


def bring_your_own(taken: Collection[str]) -> None:
    """Ask for a checkpoint, and open it. `taken` has the names of all other checkpoints."""
    introduce("open-your-own", limit=largest_upload())
    st.caption(t(EXPLANATIONS["memory-of-models"].text, memory=decimal(MODELS_SHARE / 1e9, digits=1)))
    ask_about_weights()
    ask_for_files(taken)
    if only_this_computer():
        ask_for_folder(taken)


def ask_about_weights() -> None:
    """Ask what the weights that the visitor brought do not tell."""
    questions = open_questions()
    if not questions:
        return
    with st.form(key="describe"):
        st.markdown(
            t(
                "Headlight knows the names of these weights. They do not contain the settings below. Choose the values "
                "of the code that trained them. Headlight writes them into a `headlight.toml`."
            )
        )
        for question in questions:
            st.selectbox(
                t(question.text),
                question.choices,
                index=None,
                format_func=as_choice,
                placeholder=t("Choose"),
                key=answer_key(question),
            )
        st.form_submit_button(t("Open"), on_click=partial(attempt, open_described))


def as_choice(value: object) -> str:
    return (t("yes") if value else t("no")) if isinstance(value, bool) else str(value)


def answer_key(question: Question) -> str:
    return f"answer_{question.name}"


def open_described() -> None:
    answer_questions({question.path: st.session_state[answer_key(question)] for question in open_questions()})


def ask_for_files(taken: Collection[str]) -> None:
    """Ask for files to upload: a folder, a .zip or single files."""
    way = st.segmented_control(
        t("What do you have?"), list(WAYS), format_func=lambda way: t(WAYS[way]), default="folder", required=True
    )
    is_folder, key = way == "folder", f"upload_{way}"
    with st.form(key="upload", border=False, clear_on_submit=True):  # else the uploader keeps its files in memory
        st.file_uploader(
            t("The folder of a checkpoint") if is_folder else t("A .zip, or config.json, weights and tokenizer"),
            accept_multiple_files="directory" if is_folder else True,
            key=key,
        )
        st.form_submit_button(t("Open"), on_click=partial(attempt, partial(open_uploaded_files, key, taken)))


def ask_for_folder(taken: Collection[str]) -> None:
    """Ask for a folder on the server's computer, which is also the visitor's."""
    with st.form(key="folder_on_this_machine", border=False):
        st.text_input(
            t("Or a folder on this computer"),
            key="folder_to_open",
            help=t("This field is here because only this computer can reach the server."),
            max_chars=1000,
        )
        st.form_submit_button(t("Open it"), on_click=partial(attempt, partial(open_chosen_folder, taken)))


def attempt(open_checkpoint: Callable[[], None]) -> None:
    """Callback: open a checkpoint, or keep the reason why it was not possible."""
    st.session_state.pop("upload_opened", "")  # of an earlier checkpoint
    try:
        open_checkpoint()
    except CheckpointError as error:
        st.session_state["upload_problem"] = worded(error)


def open_uploaded_files(key: str, taken: Collection[str]) -> None:
    files = st.session_state[key]
    if not files:
        raise CheckpointError(
            "No files were received. Choose files of up to {limit} MB in total. Press Open when all of them are "
            "listed without an error.",
            limit=largest_upload(),
        )
    folder, slash, _ = files[0].name.partition("/")
    single = folder.removesuffix(".zip") if len(files) == 1 else "upload"
    add_upload(folder if slash else single, [(file.name, file) for file in files], taken=taken)


def open_chosen_folder(taken: Collection[str]) -> None:
    add_folder(st.session_state["folder_to_open"], taken=taken)


def show_upload_problem() -> None:
    """Show once why the last checkpoint was not opened."""
    if problem := st.session_state.pop("upload_problem", ""):
        st.error(plain(as_sentence(problem)))


def note_opened(name: str) -> None:
    """Say once that the visitor's checkpoint is open, if the page has loaded the one of this name."""
    if st.session_state.pop("upload_opened", "") == name:
        st.success(t("{name} is open and chosen on the left.", name=plain(name)), icon=":material/check:")
        page_link("translate", t("See its attention maps on the page {page}", page=page_title("translate")))


def show_card(key: CheckpointKey) -> None:
    """Show the card, or say that there is none."""
    try:
        card = listing.model_card(key, language())
    except ValueError as error:
        st.warning(plain(worded(error)))
        return
    if card.licence:
        st.caption(t("Licence: {licence}", licence=plain(card.licence)))
    st.markdown(card.text or t("This checkpoint has no model card (README.md)."))
    if card.cut:
        limit = decimal(LONGEST_CARD)
        st.caption(t("This card is longer. Only its first {limit} characters are shown.", limit=limit))


def draw_training_curves(key: CheckpointKey, config: AnyConfig) -> None:
    """Draw the loss and the quality over the training run, or say that there are no curves."""
    classifies = config.task == "classification"
    task, column = ("classification", "valid_accuracy") if classifies else ("translation", "valid_bleu")
    history = listing.training_history(key, column)
    if history is None:
        st.info(t("This checkpoint has no history.csv that can be read, so there are no curves."))
        return
    loss, quality = st.columns(2)
    steps = history["step"].tolist()
    losses = {t("training"): history["train_loss"].tolist(), t("validation"): history["valid_loss"].tolist()}
    scores = {t("validation"): history[column].tolist()}
    loss_title = t("loss, nats per token") if config.task == "translation" else t("loss, nats per text")
    with loss:
        draw(
            curves(steps, losses, title=loss_title, height=HEIGHT),
            heading=t("Loss"),
            about=t("The training loss includes label smoothing and dropout."),
            key="loss_curve",
            alt=t("Training and validation loss over the training steps"),
        )
    with quality:
        draw(
            curves(steps, scores, title=about_task(task, "quality_axis"), height=HEIGHT),
            heading=about_task(task, "quality"),
            about=about_task(task, "quality_meaning"),
            key="quality_curve",
            alt=about_task(task, "quality_alt"),
        )


def show_parameters(key: CheckpointKey) -> None:
    """Show how many parameters each module has, and its share."""
    modules, place = models.parameter_table(key), st.container(key="parameters")
    place.markdown(
        t(
            "**{parameters} parameters** in {modules} modules. A matrix that several modules share counts for the "
            "first of them.",
            parameters=decimal(int(modules["parameters"].sum())),
            modules=len(modules),
        )
    )
    place.dataframe(
        modules.assign(share=100 * modules["share"]),
        hide_index=True,
        alt=t("Table of the parameters of each module"),
        column_config={
            "module": t("module"),
            "parameters": st.column_config.NumberColumn(t("parameters"), format="localized"),
            "share": st.column_config.ProgressColumn(
                t("share"), format=percent_column(), max_value=100 * modules["share"].max()
            ),
        },
    )


def show_configuration(key: CheckpointKey, config: AnyConfig) -> None:
    """Show the text of `headlight.toml` with notes on the weights, or else `config.json`."""
    description = listing.description_text(key)
    if description is None:
        st.code(json.dumps(config.to_dict(), indent=1, ensure_ascii=False), language="json")
        return
    for note in config.notes if isinstance(config, ForeignConfig) else ():
        st.info(plain(worded(note)))
    st.caption(t("The `headlight.toml` of this checkpoint describes its weights."))
    st.code(description, language="toml")


def show_atlas_problem(key: CheckpointKey) -> None:
    """Say why the atlas that comes with a checkpoint cannot be used."""
    atlas = atlases.atlas_of(key)
    try:
        if atlas:
            atlases.opened(atlas)
    except ConfigError as error:
        st.warning(plain(worded(error)))


def show_unused_parts(key: CheckpointKey) -> None:
    """Name the files and the weights that are not used, in one line that opens. Nothing where everything is used."""
    unused = models.unused_parts(key)
    files, tensors = (*left_out_of(Path(key.path)), *unused.files), unused.tensors
    counts = [
        *([tn("{n} file", "{n} files", n=len(files))] if files else []),
        *([tn("{n} tensor", "{n} tensors", n=len(tensors))] if tensors else []),
    ]
    if not counts:
        return
    with st.expander(t("Not used: {parts}", parts=joined(counts)), icon=":material/info:"):
        if tensors:
            st.markdown(
                t("The model opens without the part that {name} adds to it:", name=plain(unused.head))
                if unused.head
                else t("The model has no place for these weights:")
            )
            show_names(tensors)
        if files:
            st.markdown(t("Nothing reads these files. The model does not need them:"))
            show_names(files)


def show_names(names: Sequence[str]) -> None:
    more = len(names) - MOST
    lines = [*names[:MOST], *([t("{n} more", n=more)] if more > 0 else [])]
    st.code("\n".join(lines), language=None)
