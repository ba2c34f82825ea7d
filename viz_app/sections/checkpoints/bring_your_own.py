"""Open a checkpoint that is not listed: from the visitor's machine, or from a folder of this one."""

from collections.abc import Callable, Collection

import streamlit as st

from model.checkpoints.checkpoint import CheckpointError
from viz_app.content.plain import as_sentence, plain
from viz_app.session.own_checkpoints import add_folder, add_upload, largest_upload, only_this_computer
from viz_app.widgets.navigation import page_link

__all__ = ["bring_your_own", "problem_with_upload", "was_opened"]

HOW = {"folder": "A folder", "files": "A .zip or single files"}


def bring_your_own(taken: Collection[str]) -> None:
    """Ask for files or a folder, and open what is given; `taken` are the names of the other checkpoints."""
    st.markdown(
        "A folder of Hugging Face's `transformers`, one of Headlight, or weights of a tutorial with a "
        f"`headlight.toml`. Up to {largest_upload()} MB in all. Only you see it. Its files are removed when you "
        "leave. Nothing in it is run."
    )
    how = st.segmented_control(
        "What do you have?", list(HOW), format_func=HOW.__getitem__, default="folder", required=True
    )
    folder = how == "folder"
    with st.form("upload", border=False, clear_on_submit=True):  # else the uploader would hold its files in memory
        st.file_uploader(
            "The folder of a checkpoint" if folder else "A .zip, or config.json, weights and tokenizer",
            accept_multiple_files="directory" if folder else True,
            key=f"upload_{how}",
        )
        st.form_submit_button("Open", on_click=lambda: attempt(lambda: receive(f"upload_{how}", taken)))
    if only_this_computer():
        with st.form("folder_on_this_machine", border=False):
            st.text_input(
                "Or a folder on this machine",
                key="folder_to_open",
                help="Only while the server listens to this machine alone.",
                max_chars=1000,
            )
            st.form_submit_button(
                "Open it", on_click=lambda: attempt(lambda: add_folder(st.session_state["folder_to_open"], taken=taken))
            )


def problem_with_upload() -> None:
    """Say once why the last files were not opened."""
    if problem := st.session_state.pop("upload_problem", ""):
        st.error(plain(as_sentence(problem)))


def was_opened(name: str) -> None:
    """Say once that the files of a visitor are open, if theirs is the checkpoint that the page has loaded."""
    if st.session_state.pop("upload_opened", "") == name:
        st.success(f"{plain(name)} is open and chosen on the left.", icon=":material/check:")
        page_link("translate", "See its maps on the page Translate")


def attempt(what: Callable[[], None]) -> None:
    st.session_state.pop("upload_opened", "")  # of earlier files
    try:
        what()
    except CheckpointError as error:
        st.session_state["upload_problem"] = str(error)


def receive(key: str, taken: Collection[str]) -> None:
    files = st.session_state[key]
    if not files:
        raise CheckpointError(
            f"No files were received. Choose files of up to {largest_upload()} MB in all, and press Open when all of "
            "them are listed without an error."
        )
    first = files[0].name
    single = first.removesuffix(".zip") if len(files) == 1 else "upload"
    add_upload(first.partition("/")[0] if "/" in first else single, [(f.name, f) for f in files], taken=taken)
