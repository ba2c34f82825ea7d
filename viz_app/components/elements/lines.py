"""Attention as lines."""

from viz_app.components.data.attention_lines import AttentionLines
from viz_app.components.mounting import component

__all__ = ["attention_lines"]


def attention_lines(lines: AttentionLines, *, key: str) -> None:
    """Draw maps as lines from queries (left) to keys (right)."""
    component("attention_lines")(key=key, data=lines.data())
