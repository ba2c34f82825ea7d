"""Step by step: the decode as it happens, another word forced into it, and beam search as a tree."""

from dataclasses import asdict
from functools import partial

import pandas as pd
import streamlit as st

from model.config.search import SearchConfig
from viz_app.components import elements
from viz_app.components.attention_view import looked_at
from viz_app.components.page_parts import told
from viz_app.content.plain import plain
from viz_app.services import listing, translations
from viz_app.session.choices import settle
from viz_app.session.page_facts import add_fact
from viz_app.widgets import checkpoint_choice, forced_tokens
from viz_app.widgets.charts import numbers
from viz_app.widgets.chips import sentence
from viz_app.widgets.explanation import explanation
from viz_app.widgets.forced_words_note import dropped_tokens_warning
from viz_app.widgets.run_controls import chosen_forced_tokens
from viz_app.widgets.search_picker import beam_size_slider, typed_translation
from viz_app.widgets.text_field import require_text

SEARCHES = {"greedy": "Greedy, step by step", "beam": "Beam search as a tree"}
ROWS = {"cross": "cross", "decoder": "decoder self, masked"}
FITTING = 5  # steps of a tree that are seen at once
MAX_STEPS = 60  # beyond, the pictures of this page are wider than any screen

key, config = checkpoint_choice.require_attention(listing.listed_checkpoints(), also=("continuation",))
text = require_text(config, forces=True)

forced = chosen_forced_tokens(key)
free = translations.translation_of(key, text)
translation = translations.translation_of(key, text, forced=forced)
spoken = translation.languages[1]
add_fact("Translation", translation.text)
if forced:
    add_fact("Forced", "words of it were not the model's own choice")

with st.container(key="set_steps"):
    searches, rows_column, undoing, resetting = st.columns([3.2, 2.4, 1, 1.3], vertical_alignment="bottom")
settle("steps_view", "greedy", SEARCHES)
offered = [kind for kind in ROWS if kind in config.model.kinds]
settle("steps_kind", offered[0], offered)
shown = searches.segmented_control(
    "Search", list(SEARCHES), format_func=SEARCHES.__getitem__, required=True, key="steps_view"
)
undoing.button(
    "Undo", icon=":material/undo:", disabled=not forced_tokens.can_undo(), on_click=forced_tokens.undo, width="stretch"
)
resetting.button(
    "Force nothing",
    icon=":material/restart_alt:",
    disabled=not forced,
    on_click=forced_tokens.clear_typed_translation if typed_translation(config) else forced_tokens.clear_forced_tokens,
    width="stretch",
    help="Let the model write by itself again.",
)
if forced:
    written = translation.written
    words = ", ".join(f"“{plain(written[at].text)}” at step {at + 1}" for at, _ in forced if at < len(written))
    what = "You typed this translation" if typed_translation(config) else f"Forced: {words}"
    st.caption(
        f"{what}. Greedy log-probability {translation.log_prob:.2f}; by itself the model writes "
        f"“{plain(free.text)}” with {free.log_prob:.2f}."
    )
    if too_long := dropped_tokens_warning(forced, config.model.max_length):
        st.warning(too_long)

if len(translation.written) - translation.prompt_length > MAX_STEPS or translation.prompt_length > MAX_STEPS:
    st.info(f"This page follows decodes of up to {MAX_STEPS} tokens; shorten the text.")
elif shown == "greedy":
    with rows_column:
        kind = st.segmented_control("Rows of", offered, format_func=ROWS.__getitem__, required=True, key="steps_kind")
    settle("guess", False)
    place, guessing = st.columns([4, 1], vertical_alignment="center")
    guess = guessing.toggle("Guess first", key="guess", help="Words and candidates stay hidden until you ask for them.")
    wrote = sentence(translation.text, spoken) if translation.text else sentence("(the model wrote nothing)")
    told("" if guess else translation.text, languages=translation.languages)
    place.html(sentence("…") if guess else wrote)
    st.caption(
        "At each step the decoder reads what is written so far and offers a next token. Play, move the slider, or "
        "choose a token; grey tokens are masked: at that step they do not exist yet."
    )
    settle("step", 0)
    elements.stepper(
        translation,
        kind=kind or offered[0],
        key="stepper",
        on_force=forced_tokens.force,
        on_step=forced_tokens.remember_step,
        step=st.session_state["step"] - 1 if st.session_state["step"] else None,
        guess=guess,
    )
    step = min(st.session_state["step"] or translation.prompt_length + 1, len(translation.written)) - 1
    if not guess:
        numbers(
            {"": partial(looked_at, translation, kind or offered[0], step)},
            summary=f"At step {step + 1} “{translation.written[step].text}” is written: the weights of every head.",
            key="stepper",
            alt="Where each head looks at this step",
        )
else:
    with rows_column:
        size = beam_size_slider()
    tree = translations.search_tree_of(key, text, SearchConfig(method="beam", beam_size=size), forced)
    told(tree.text, languages=translation.languages)
    st.html(sentence(tree.text, spoken) if tree.text else sentence("(the model wrote nothing)"))
    st.caption(
        f"Each box is a prefix that was weighed, with its log-probability: the {size} best of a step are kept (solid), "
        "the others pruned (dashed); green ones have ended. The orange path wins: the best mean log-probability a "
        "token. Choose a box to go on from it."
        + (" The tree goes on to the right: scroll it." if max(node.depth for node in tree.nodes) > FITTING else "")
    )
    numbers(
        {"": partial(pd.DataFrame, [asdict(node) for node in tree.nodes])},
        summary=f"{len(tree.nodes)} prefixes were weighed; the winner is “{tree.text}”.",
        key="beam_tree",
        alt="The prefixes of the beam search",
    )
    elements.beam_tree(
        tree,
        lang=spoken,
        alt=f"Tree of a beam search with {len(tree.nodes)} prefixes; the winner is “{tree.text}”",
        key="beam_tree",
        on_pick=partial(forced_tokens.force_path, tree),
    )
explanation(
    "How it is computed",
    "The decoder's last state, projected to the vocabulary, gives a probability for every token. Greedy search writes "
    "the likeliest. Entropy says how undecided the model was: 0 nats, one token has all the probability. A forced "
    "token is written whatever its probability, and everything after it follows from it.",
    r"p(y_t \mid y_{<t}, x) = \mathrm{softmax}(W s_t)\qquad H = -\sum_y p(y)\ln p(y)",
)
