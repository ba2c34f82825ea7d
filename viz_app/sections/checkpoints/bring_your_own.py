"""Open a checkpoint that is not listed: uploaded files, or a folder on the server's computer."""

from collections.abc import Callable, Collection
from functools import partial

import streamlit as st

from model.checkpoints.checkpoint import CheckpointError
from model.checkpoints.questions import Question
from viz_app.content.numbers import decimal
from viz_app.content.plain import as_sentence, plain
from viz_app.content.translation import N_, t, worded
from viz_app.server.server_state import MODELS_SHARE
from viz_app.session.descriptions import answer_questions, open_questions
from viz_app.session.own_checkpoints import add_folder, add_upload, largest_upload, only_this_computer
from viz_app.widgets.navigation import page_link

__all__ = ["bring_your_own", "note_opened", "show_upload_problem"]

WAYS = {"folder": N_("A folder"), "files": N_("A .zip or single files")}


def bring_your_own(taken: Collection[str]) -> None:
    """Ask for a checkpoint, and open it.

    Args:
        taken: The names of all other checkpoints.
    """
    st.markdown(
        t(
            "A checkpoint folder of Hugging Face `transformers` or of Headlight, or the weights of a tutorial with "
            "their vocabulary. Up to {limit} MB in total. Only you can see it. Its files are removed when you leave. "
            "No code in it is run.",
            limit=largest_upload(),
        )
    )
    st.caption(
        t(
            "An open model needs 4 bytes of memory for each parameter: 0.44 GB for the 110 million of BERT. This "
            "server has {memory} GB for models. A larger model is refused before it is opened.",
            memory=decimal(MODELS_SHARE / 1e9, digits=1),
        )
    )
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
    """Say once that the visitor's checkpoint is open, if it is the one that the page has loaded.

    Args:
        name: The name of the checkpoint that the page has loaded.
    """
    if st.session_state.pop("upload_opened", "") == name:
        st.success(t("{name} is open and chosen on the left.", name=plain(name)), icon=":material/check:")
        page_link("translate", t("See its attention maps on the page Translate"))
