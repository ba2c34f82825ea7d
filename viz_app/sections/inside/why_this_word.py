"""Why a written word and not another: what every part of the decoder added to the difference of their logits."""

import numpy as np
import streamlit as st

from viz_app.content.plain import percent, visible
from viz_app.figures.heads import head_grids
from viz_app.services import analyses, translations
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import settle
from viz_app.widgets.charts import draw
from viz_app.widgets.explanation import explanation
from viz_app.widgets.headings import section

__all__ = ["why_this_word"]


def times(difference: float) -> str:
    """How many times as likely a difference of logits makes a word, as a person writes it."""
    factor = np.exp(min(difference, 20))
    return f"about {factor:,.0f}" if factor >= 10 else f"{factor:.2f}"


def why_this_word(key: CheckpointKey, text: str, run: translations.Run) -> None:
    """Ask for a written word and a rival, and draw what spoke for each."""
    translation = translations.translation_of(key, text, *run)
    places = list(range(len(translation.written)))
    written_column, rival_column, _ = st.columns([2.4, 2.4, 3])
    settle("query", min(2, places[-1]), places)
    place = written_column.selectbox(
        "Written word",
        places,
        format_func=[f"{i + 1} · {token.text}" for i, token in enumerate(translation.written)].__getitem__,
        key="query",
    )
    word = translation.written[place]
    rivals = {candidate.id: candidate for candidate in word.candidates if candidate.id != word.id}
    settle("rival", next(iter(rivals)), rivals)
    rival = rival_column.selectbox(
        "Why not",
        list(rivals),
        format_func={i: f"{c.token} · {percent(c.probability)}" for i, c in rivals.items()}.__getitem__,
        key="rival",
    )
    parts = analyses.contributions_of(key, text, place, rival, *run)
    ours, theirs = visible(word.text), visible(rivals[rival].token)
    section(
        f"The logit of “{ours}” is {parts.difference:.3f} above that of “{theirs}”",
        f"So it is {times(parts.difference)} times as likely. The picture shows what each part added to the "
        f"difference: red for “{ours}”, blue for “{theirs}”.",
    )
    draw(
        head_grids(
            {
                "cross": parts.cross.astype(np.float32),
                "decoder self": parts.decoder.astype(np.float32),
                "feed-forward": parts.feed_forward[:, None].astype(np.float32),
            },
            unit="logits",
            signed=True,
            height=280,
        ),
        key="contributions",
        wide=True,
        alt=f"What each head and feed-forward added to the logit of “{word.text}” over that of “{rivals[rival].token}”",
    )
    sums = {
        "heads, cross": float(parts.cross.sum()),
        "heads, decoder self": float(parts.decoder.sum()),
        "feed-forwards": float(parts.feed_forward.sum()),
        "the word read last": parts.word,
        "its position": parts.position,
        "biases": parts.biases,
    }
    st.markdown(
        " + ".join(f"{name} **{value:+.3f}**" for name, value in sums.items())
        + f" = **{parts.total:+.3f}**, which differs from the model's own difference by "
        f"{abs(parts.total - parts.difference):.1g}."
    )
    explanation(
        "How it is computed",
        "Every head, every feed-forward and the embedding add a vector to the stream that ends in the logits. A "
        "LayerNorm on the way is linear once its standard deviation is held at what it was, so each vector can be "
        "followed to the end alone, and the parts add up. These are direct effects (Elhage et al. 2021): what a head "
        "tells a later layer, which then speaks, counts as that layer's.",
        r"z_a - z_b = \sum_i (w_a - w_b)\cdot \mathrm{norms}_i(v_i)",
    )
