"""Paste a head: what one head said of another sentence, put into the run over this one."""

import numpy as np
import streamlit as st

from model.analysis.patching import first_difference
from model.config.kinds import KINDS
from model.inference.opening import AnyConfig
from model.interventions import Head
from viz_app.content.demonstrations import demonstration_for
from viz_app.content.examples import DONORS, examples_for
from viz_app.content.plain import visible
from viz_app.figures.attention import difference_map
from viz_app.figures.heads import head_grids
from viz_app.figures.style import Axes
from viz_app.services import analyses, loading, long_analyses, results
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import settle
from viz_app.session.page_facts import add_fact
from viz_app.widgets.charts import draw
from viz_app.widgets.chips import compared
from viz_app.widgets.explanation import explanation
from viz_app.widgets.head_picker import pick_head, pick_kind, picker_columns
from viz_app.widgets.headings import section
from viz_app.widgets.long_work import start_and_wait_for

__all__ = ["pasted_heads"]

MOST = 25  # tokens of either text
LARGEST = 20_000_000  # parameters of a model that can be run some hundred times while one waits


def pasted_heads(key: CheckpointKey, config: AnyConfig, text: str) -> None:
    """Ask for the sentence that gives, and draw how much closer each of its heads brings this one to its word."""
    opening = demonstration_for(config)
    settle("giver", opening.donor if text == opening.receiver else DONORS.get(text, examples_for(config)[-1]))
    giver = st.text_input(
        "The sentence that gives its heads; best, it differs from the one above by one word",
        key="giver",
        max_chars=results.MAX_CHARACTERS,
    )
    if not giver or not giver.strip():
        st.info("Type the other sentence.")
        return
    add_fact("Heads taken from", giver)
    ours, theirs = results.translation_of(key, text), results.translation_of(key, giver)
    st.html(compared([("this one", ours.text), ("the giver", theirs.text)], languages=ours.languages[1:]))
    if max(len(tokens) for one in (ours, theirs) for tokens in (one.source, one.written)) > MOST:
        st.info(f"Heads are pasted between texts of up to {MOST} tokens; shorten them.")
        return
    if sum(parameter.numel() for parameter in loading.translator(key).model.parameters()) > LARGEST:
        st.info(
            f"Every head is pasted at every place; that takes too long for models above {LARGEST / 1e6:.0f} million."
        )
        return
    if first_difference(theirs, ours) is None:
        st.info("Both translations are the same, so there is no word to come closer to; change a word of the giver.")
        return
    found = long_analyses.pasting_of(key, giver, text)
    if found is None:
        subject, work = long_analyses.pasting_work(key, giver, text)
        found = start_and_wait_for(subject, work, lane="pasting", step="Run")
    if found is None:
        return
    wanted, own = visible(theirs.written[found.place].text), visible(ours.written[found.place].text)
    section(
        f"How much closer to “{wanted}”?",
        f"At word {found.place + 1} the giver writes “{wanted}”, and this one writes “{own}”. One head at a time gets "
        "its output from the giver's run. 1: the two logits differ as in the giver's run. 0: nothing changes.",
    )
    draw(
        head_grids(
            {KINDS[kind].title: grid for kind, grid in found.heads.items()}, unit="share", signed=True, height=280
        ),
        key="pasted",
        wide=True,
        alt=f"How much closer each pasted head brings the translation to “{theirs.written[found.place].text}”",
    )
    if np.isnan(found.heads.get("encoder", np.zeros(1))).all():
        st.caption(
            f"Heads of the encoder are left out: the sentences have {len(theirs.source)} and {len(ours.source)} "
            "tokens, so their places do not correspond."
        )
    kinds, picker = picker_columns("kind", "head")
    offered = [kind for kind in found.heads if np.isfinite(found.heads[kind]).any()]
    strongest = max(offered, key=lambda kind: float(np.nanmax(found.heads[kind])))
    with kinds:
        kind = pick_kind(offered, key="pasted_kind", default=strongest)
    layers, heads = found.heads[kind].shape
    first = np.unravel_index(int(found.heads[kind].argmax()), (layers, heads))
    with picker:
        layer, head = pick_head(layers, heads, prefix=f"pasted_{kind}_", default=(int(first[0]), int(first[1])))
    section("At which place?", "The same, but pasted at only one place. Each row is a head: layer · number.")
    places = [token.text for token in (ours.source if kind == "encoder" else ours.read[: found.place + 1])]
    grid = found.places[kind].reshape(layers * heads, -1)
    draw(
        difference_map(
            grid,
            Axes(
                queries=[f"{i // heads + 1} · {i % heads + 1}" for i in range(layers * heads)],
                keys=places,
                query_title="layer · head",
                key_title="place: source token" if kind == "encoder" else "place: token just read",
            ),
            np.ones(grid.shape, dtype=bool),
            height=300,
            unit="share",
        ),
        key="pasted_places",
        alt="How much closer each head brings the translation when it is pasted at one place",
    )
    pasted = analyses.pasted_of(key, giver, text, Head(kind, layer, head))
    section(
        "The translation with this head",
        f"{KINDS[kind].title}, layer {layer + 1}, head {head + 1}, pasted at every place.",
    )
    st.html(compared([("this one", ours.text), ("with the pasted head", pasted.text)], languages=ours.languages[1:]))
    explanation(
        "How it is computed",
        "Activation patching (Vig et al. 2020). Both runs read the same words up to the place where the translations "
        "part. There the difference of the logits of the two words is taken: of the giver's run, of this one's, and of "
        "this one's with a head's output replaced by what it was in the giver's.",
        r"\frac{\Delta_\mathrm{pasted} - \Delta_\mathrm{this}}{\Delta_\mathrm{giver} - \Delta_\mathrm{this}},\quad "
        r"\Delta = z_{\mathrm{giver's\ word}} - z_{\mathrm{own\ word}}",
    )
