"""What is in the folder of a checkpoint, or was in its upload, and is not used."""

from collections.abc import Sequence
from pathlib import Path

import streamlit as st

from viz_app.content.numbers import joined
from viz_app.content.plain import plain
from viz_app.content.translation import t, tn
from viz_app.services import loading
from viz_app.services.listing import CheckpointKey
from viz_app.session.own_checkpoints import left_out_of

__all__ = ["show_unused_parts"]

MOST = 40  # names in a list


def show_unused_parts(key: CheckpointKey) -> None:
    """Name the files and the weights that are not used, in one line that opens. Nothing where everything is used."""
    unused = loading.unused_parts(key)
    files, tensors = (*left_out_of(Path(key.path)), *unused.files), unused.tensors
    counts = [
        *([tn("{n} file", "{n} files", n=len(files))] if files else []),
        *([tn("{n} tensor", "{n} tensors", n=len(tensors))] if tensors else []),
    ]
    if not counts:
        return
    with st.expander(t("Not used: {parts}", parts=joined(counts)), icon=":material/info:"):
        if tensors:
            st.markdown(reason(unused.head))
            show_names(tensors)
        if files:
            st.markdown(t("Nothing reads these files. The model does not need them:"))
            show_names(files)


def reason(head: str) -> str:
    """Why weights are not used."""
    if not head:
        return t("The model has no place for these weights:")
    return t("The model opens without the part that {name} adds to it:", name=plain(head))


def show_names(names: Sequence[str]) -> None:
    more = len(names) - MOST
    lines = [*names[:MOST], *([t("{n} more", n=more)] if more > 0 else [])]
    st.code("\n".join(lines), language=None)
