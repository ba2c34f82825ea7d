"""Translate: a sentence, its translation, and every attention map that made it."""

from contextlib import suppress
from functools import partial

import streamlit as st

from model.config.kinds import KINDS
from model.config.model import RecurrentConfig
from model.config.section import ConfigError
from viz_app.components.attention_view import chosen_map, select_head, view, with_rollout, with_value_norms
from viz_app.components.page_parts import look, told
from viz_app.content.plain import percent, plain
from viz_app.figures.attention import MAX_TILE
from viz_app.sections.translate import attention_drawings
from viz_app.sections.translate.downloads import take_home
from viz_app.sections.translate.map_window import WINDOW, map_window
from viz_app.services import analyses, head_analyses, listing, translations
from viz_app.session.choices import settle
from viz_app.session.page_end import end_page
from viz_app.session.page_facts import add_fact
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.chips import MAX_CHIPS, rows_of_chips, sentence
from viz_app.widgets.explanation import explanation
from viz_app.widgets.forced_words_note import dropped_tokens_warning, forced_words_note
from viz_app.widgets.head_picker import pick_head, pick_head_or_aggregate, pick_kind, picker_columns, walk_heads
from viz_app.widgets.presenter_mode import presenting, walker
from viz_app.widgets.run_controls import require_run

VIEWS = {"heatmaps": "Heatmaps", "lines": "Lines", "head": "BertViz heads", "model": "BertViz model"}

# Said quietly: a model that was never taught to say "I do not know" writes something for anything.
DOUBTS = {
    "script": ":material/info: Most letters of this text are not those of {0}, which is what this model is to read.",
    "pieces": ":material/info: Much of this text is in no word or piece that this model knows, so it can but guess.",
    "unsure": ":material/info: The model is less sure of this than of 49 in 50 sentences like those it learned from. "
    "Other words, or another language than {0}, may be new to it.",
}

key, config = checkpoint_choice.require_translator(listing.listed_checkpoints(), also=("continuation", "reading"))
writes = config.task != "reading"
text, run = require_run(key)
search, forced = run
translation = translations.translation_of(key, text, *run)
if translation.text:
    add_fact("Translation" if config.task == "translation" else "Text", translation.text)

given = translation.given
rows = {"reads": translation.source or translation.read[: given + 1], "writes": translation.written[given:]}
settle("shares", False)
followed = st.session_state["shares"] and not analyses.why_no_stream(key)
shares = []
if followed:
    with suppress(ConfigError):  # of a text that is too long
        shares = analyses.influence_of(key, text, *run)[1].source.sum(axis=1).tolist()
chips = rows_of_chips(rows, languages=translation.languages, shares=shares, lined=bool(config.model.kinds))
if translation.text:
    chips += sentence(translation.text, translation.languages[1])
elif translation.written:
    chips += sentence("(the model wrote nothing)")
st.html(chips)
told(translation.text, languages=translation.languages)
if shares:
    st.caption("Bar below a word: blue, how much of it came from the source; orange, from the words before it.")
# In a place of its own: what comes and goes must not move what follows, which the browser would build anew.
with st.container():
    if forced:
        forced_words_note(key, text, forced)
    elif config.task == "translation" and (reason := translations.doubt_of(key, text, search)):
        st.caption(DOUBTS[reason].format(plain(checkpoint_choice.language(config.tokenizer.source_language))))
    if len(text) > translations.MAX_CHARACTERS:
        st.warning(f"The text has {len(text):,} characters; only the first {translations.MAX_CHARACTERS:,} were read.")
    if translation.dropped:
        st.warning(
            f"This model has {config.model.max_length} positions"
            + (", of which some are kept for what it writes" if config.task == "continuation" else "")
            + f": the last {translation.dropped} tokens of the text were left out."
        )
    if not translation.finished and config.task == "continuation":
        st.caption(f"The model would go on; it was stopped after {len(translation.written) - given} tokens.")
    elif not translation.finished and not dropped_tokens_warning(forced, config.model.max_length):
        st.warning("The model did not end its translation; it was stopped at the length limit for this source.")

if not config.model.kinds:
    st.info(
        "This model has no attention: a recurrent network read the sentence into one vector, and all that it wrote "
        "came out of that. Try a long sentence, and choose its sister with attention on the left."
    )
    end_page()

recurrent = isinstance(config.model, RecurrentConfig)
kinds, views, heads_column = picker_columns("kind", "view", "head", key="set_view")
for option in ("merge", "hide_special", "norms", "logarithmic"):
    settle(option, False)
no_norms = "This model has no heads." if recurrent else head_analyses.why_no_norms(key)
norms, logarithmic = st.session_state["norms"] and not no_norms, st.session_state["logarithmic"]
with kinds:
    kind = pick_kind(config.model.kinds)
settle("view", "heatmaps", VIEWS)
how_shown = views.segmented_control("View", list(VIEWS), format_func=VIEWS.__getitem__, required=True, key="view")
merge, hide_special = st.session_state["merge"], st.session_state["hide_special"]
condense = {"merge": merge, "hide_special": hide_special}
measured = with_value_norms(translation, head_analyses.value_norms_of(key, text, *run)) if norms else translation
shown = view(measured, kind, **condense)
with heads_column:
    pick = pick_head if recurrent else pick_head_or_aggregate
    layer, head = pick(*shown.maps.shape[:2])
walker(partial(walk_heads, *shown.maps.shape[:2]))
rolled = view(with_rollout(translation), kind, **condense) if head == "rollout" else None
chosen = chosen_map(shown, rolled, layer, head, weighted=norms)

if max(map(len, rows.values())) <= MAX_CHIPS:
    as_written = not (merge or hide_special or norms)
    own = chosen.weights if as_written else select_head(translation.maps[kind], layer, "mean" if rolled else head)
    name = chosen.name if as_written or not rolled else "mean of the heads"
    title = f"What the words looked at: {KINDS[kind].full_name}, layer {layer + 1}, {name}"
    in_map = as_written and max(own.shape) <= WINDOW and how_shown == "heatmaps"
    with st.sidebar:  # it shows nothing of its own
        look(own, kind, title=title, given=given, in_map=in_map)
if how_shown in ("head", "model"):
    unscaled = view(translation, kind, **condense)
    attention_drawings.bertviz(unscaled, kind, layer, head, model_view=how_shown == "model")
else:
    part, chosen_part = map_window(shown, chosen)
    left, right = st.columns([1, 1.4 if presenting() else 1.15])
    with left:
        if how_shown == "lines":
            attention_drawings.lines(part, chosen_part, kind, layer, head)
        else:
            largest = float(shown.maps.max()) if norms else 1.0
            attention_drawings.all_heads(shown, kind, layer, head, largest=largest, logarithmic=logarithmic)
    with right:
        attention_drawings.one_head(part, chosen_part, kind, layer, logarithmic=logarithmic)

with st.container(key="set_shown", horizontal=True, gap="small", vertical_alignment="center"):
    st.toggle(
        "Merge subwords",
        key="merge",
        disabled=config.tokenizer.kind == "words",
        help="Add up the weights of the pieces of a word as a key, average them as a query.",
    )
    st.toggle("Hide special tokens", key="hide_special", help="Leave out <s> and </s>.")
    st.toggle(
        "× value norms",
        key="norms",
        disabled=bool(no_norms),
        help=plain(no_norms)
        or "Multiply each weight by the length of what its key adds, its value after the output projection "
        "(Kobayashi et al. 2020): a large weight on a tiny value does little.",
    )
    st.toggle("Log colours", key="logarithmic", help="A logarithmic colour scale shows small weights too.")
    if not analyses.why_no_stream(key):
        st.toggle(
            "Read or guessed",
            key="shares",
            help="A bar below each written word: how much of it came from the source (blue) and how much from the "
            "words before it (orange). See the page Inside.",
        )
    explanation(
        "How it is computed",
        "These are the weights that the model used while it "
        + ("wrote this, recorded at each step of the decode. " if writes else "read this. ")
        + "The query comes from the state at the row's position, the key from that at the column's; the softmax "
        "makes each row sum to 1. In the decoder, the position that writes a token has read all tokens before it.\n\n"
        "**Rollout** (Abnar and Zuidema 2020) follows the mean of the heads through all layers, half of each layer's "
        "output coming through its residual connection; in the decoder through what was read and through the encoder.",
        r"\mathrm{weights} = \mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + \mathrm{mask}\right)",
    )
    take_home(key, text, search, forced, translation)
if chosen.hidden_share:
    st.caption(
        f"The hidden columns hold {percent(chosen.hidden_share)} of the {chosen.unit} on the large map, in the mean of "
        "its rows."
    )
if how_shown == "heatmaps" and max(shown.maps.shape[2:]) > MAX_TILE:
    st.caption(f"The overview shows at most {MAX_TILE} cells a side: each is the largest of the weights it covers.")

table = st.expander("Strongest alignments", icon=":material/table_rows:", on_change="rerun", key="alignments")
if table.open:
    with table:
        attention_drawings.alignment_table(shown, chosen, layer)
