"""A padded batch as an HTML table of tokens and ids."""

from collections.abc import Sequence
from html import escape

import numpy as np
from numpy.typing import NDArray

from viz_app.content.plain import visible
from viz_app.content.translation import t
from viz_app.widgets.marked_text import lang_attribute

__all__ = ["batch_table"]


def batch_table(
    name: str, tokens: Sequence[Sequence[str]], ids: NDArray[np.int64], real: NDArray[np.bool_], *, lang: str = ""
) -> str:
    """HTML of a padded batch: one row per sentence, with each token above its id.

    Args:
        name: The name of the rows, such as "source".
        tokens: B × S, as text.
        ids: (B, S).
        real: False at padding, which is grey, (B, S).
        lang: The language of the sentences, see `languages.tag`.
    """
    language = lang_attribute(lang)
    rows = "".join(
        f'<tr><th scope="row">{escape(name)} {number}</th>'
        + "".join(
            f"<td{language if is_real else ' class=hl-pad'}>{escape(visible(token))}<span>{i}</span></td>"
            for token, i, is_real in zip(line, line_ids.tolist(), line_real.tolist(), strict=True)
        )
        + "</tr>"
        for number, (line, line_ids, line_real) in enumerate(zip(tokens, ids, real, strict=True), start=1)
    )
    label = t("Tokens of the batch above their ids: {name}", name=name)
    return f'<div class="hl-batch" role="region" aria-label="{escape(label)}" tabindex="0"><table>{rows}</table></div>'
