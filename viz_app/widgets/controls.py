"""Widgets that several pages share, under stable keys; see `choices` for how their values are kept."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import streamlit as st

from model.config.kinds import KINDS
from model.config.search import SearchConfig
from model.inference.opening import AnyConfig
from model.inference.searching import GREEDY
from viz_app.content.examples import PURPOSES, TOY_EXAMPLES, offered_examples
from viz_app.content.plain import plain
from viz_app.session.choices import choices, choose, fits_into_a_link, settle, settle_number
from viz_app.session.page_facts import tell
from viz_app.widgets.checkpoint_choice import language
from viz_app.widgets.forced_tokens import pin_text, start_afresh_for

if TYPE_CHECKING:
    from viz_app.server.streamlit_bridge import TabContainer

__all__ = [
    "ask_for_text",
    "ask_for_text_and_search",
    "clicked_head",
    "head_picker",
    "how",
    "kind_picker",
    "open_head",
    "open_tile",
    "say_greedy",
    "say_what_no_link_holds",
    "tabs",
    "typed_translation",
    "use_example",
    "walk_heads",
    "with_progress",
]

AGGREGATES = ("mean", "max", "rollout")


def ask_for_text(config: AnyConfig, *, first: str = "", forces: bool = False) -> str:
    """The sentence to translate, typed or taken from the examples; shared by all pages.

    A page that asks for no search shows the greedy run, and says so where a visitor asked for another.

    Args:
        config: Of the checkpoint.
        first: With what the page opens; by default the first example.
        forces: The page applies forced words.
    """
    text = ask(config, with_search=False, first=first)[0]
    if config.task != "reading":
        say_greedy(forces=forces)
    return text


def say_greedy(*, forces: bool = False) -> None:
    """Where a visitor chose a search or forced words, say that this page shows the greedy run; see `ask_for_text`."""
    chosen = choices().chosen
    forced = chosen.get("forced") or (chosen.get("method") == "typed" and chosen.get("typed"))
    if chosen.get("method") in ("beam", "sample"):
        st.caption(f":material/info: This page shows the greedy run, not {SEARCHES[str(chosen['method'])]}.")
    elif forced and not forces:
        st.caption(":material/info: This page shows the greedy run, without the words that you forced.")


def ask_for_text_and_search(config: AnyConfig, *, first: str = "") -> tuple[str, SearchConfig]:
    """As `ask_for_text`, with how its translation is searched for."""
    return ask(config, with_search=True, first=first)


def ask(config: AnyConfig, *, with_search: bool, first: str = "") -> tuple[str, SearchConfig]:
    examples = offered_examples(config)
    offered = st.session_state.get("examples_offered", examples)
    if offered != examples and (typed := choices().chosen.get("text")) in offered:
        # An example for another checkpoint would only make nonsense; what a person typed stays.
        place = offered.index(typed)
        choose("text", examples[place] if place < len(examples) else examples[0])
    st.session_state["examples_offered"] = examples
    settle("text", first or examples[0])

    with st.container(key="set_text"):
        field, menu, *rest = st.columns([5, 1.4, 1.2] if with_search else [5, 1.4], vertical_alignment="bottom")
    with field:
        text = st.text_input(f"{what_to_type(config)} and press Enter", key="text")
    pair = config.tokenizer.source_language, config.tokenizer.target_language
    start_afresh_for("|".join((st.session_state["checkpoint"], *pair, text or "")))
    with menu:
        st.selectbox(
            "Examples",
            examples,
            index=None,
            key="example",
            placeholder="Examples",
            label_visibility="collapsed",
            on_change=use_example,
            args=("example", "text"),
        )
    search = GREEDY
    for place in rest:
        with place:
            search = search_picker(translates=config.task == "translation")
    say_what_no_link_holds(text or "")
    tell("Sentence", text or "")
    if purpose := PURPOSES.get(pair, {}).get(text or ""):
        st.caption(f":material/lightbulb: {purpose}")
    return text or "", search


def what_to_type(config: AnyConfig) -> str:
    """The question above the text field, which fits what the model does."""
    if config.task == "continuation":
        return "Type the beginning of a text"
    if config.task == "reading":
        mask = getattr(config.tokenizer, "mask", "")
        return "Type a text" + (f" ({plain(mask)} stands for a word to guess)" if mask else "")
    name = language(config.tokenizer.source_language)
    if name in TOY_EXAMPLES:
        return f"Type {name} with spaces between them" if name == "letters" else "Type a date in words"
    return f"Type a sentence in {plain(name)}" if name else "Type a text"


def use_example(example: str, field: str) -> None:
    """Callback of a list of examples: the chosen one goes into the text field, and the list is empty again."""
    if st.session_state[example]:
        choose(field, st.session_state[example])
        st.session_state[example] = None


def say_what_no_link_holds(*texts: str) -> None:
    """Where a text is too long for the URL, say so: a link to this page would show another."""
    if not all(map(fits_into_a_link, texts)):
        st.caption("This text is too long for a link: a link to this page leaves it out.")


SEARCHES = {"beam": "that of the beam search", "sample": "that of the sampling"}
METHODS = {"greedy": "Greedy", "beam": "Beam", "sample": "Sampling", "typed": "Typed by you"}


def search_picker(*, translates: bool) -> SearchConfig:
    """How the next token is chosen, in a popover; a translation may be typed by the visitor instead."""
    offered = [method for method in METHODS if translates or method != "typed"]
    settle("method", "greedy", offered)
    with st.popover(METHODS[st.session_state["method"]], icon=":material/tune:", width="stretch"):
        method = st.segmented_control(
            "Search",
            offered,
            format_func=METHODS.__getitem__,
            required=True,
            key="method",
            help="Greedy: the likeliest token at each step. Beam: several prefixes grow side by side; of those that "
            "end, the one with the best mean log-probability a token wins. Sampling: each token is drawn at random.",
        )
        if method == "beam":
            settle("beam_size", 5, range(2, 9))
            size = st.slider("Beam size, prefixes kept", 2, 8, key="beam_size")
            return SearchConfig(method="beam", beam_size=size)
        if method == "sample":
            settle_number("temperature", 1.0, 0.1, 2.0)
            settle("top_k", 0, range(51))
            settle_number("top_p", 1.0, 0.05, 1.0)
            settle("seed", 0, range(1000))
            temperature = st.slider("Temperature", 0.1, 2.0, step=0.1, key="temperature", help="Above 1: bolder.")
            top_k = st.slider("Top-k, 0 = all tokens", 0, 50, key="top_k", help="Draw among the k likeliest tokens.")
            top_p = st.slider(
                "Top-p", 0.05, 1.0, step=0.05, key="top_p", help="Draw among the fewest tokens that hold this share."
            )
            seed = st.number_input("Seed", 0, 999, key="seed", help="The same seed draws the same translation.")
            return SearchConfig(method="sample", temperature=temperature, top_k=top_k, top_p=top_p, seed=int(seed))
        if method == "typed":
            settle("typed", "")
            st.text_input(
                "The translation",
                key="typed",
                max_chars=2000,
                on_change=pin_text,
                help="The model is made to write this, word by word.",
            )
            return GREEDY
        st.caption("Greedy search has no settings.")
    return GREEDY


def typed_translation(config: AnyConfig) -> str:
    """What the visitor wants the model to write, or nothing; on every page, whether or not it has the field."""
    chosen = choices().chosen
    wanted = chosen.get("method") == "typed" and config.task == "translation"
    return str(chosen.get("typed", "")).strip() if wanted else ""


def kind_picker(kinds: Sequence[str], key: str, default: str) -> str:
    """Choose one of the kinds of attention that a model has, the default if it is among them."""
    first = default if default in kinds else kinds[0]
    settle(key, first, kinds)
    return (
        st.segmented_control("Attention", kinds, format_func=lambda kind: KINDS[kind].title, required=True, key=key)
        or first
    )


def head_picker(
    layers: int, heads: int, *, aggregates: bool, of: str = "", first: tuple[int, int] | None = None
) -> tuple[int, int | str]:
    """Choose layer and head, shown from 1, returned from 0.

    Args:
        layers: How many there are.
        heads: How many a layer has.
        aggregates: The head may also be one of `AGGREGATES`.
        of: Begins the names of the choices, where they are not those of the translators' heads.
        first: Layer and head until one chooses; the first head of the last layer.
    """
    layer_at_first, head_at_first = first or (layers - 1, 0)
    names = numbers(heads) + (list(AGGREGATES) if aggregates else [])
    settle(f"{of}layer", str(layer_at_first + 1), numbers(layers))
    settle(f"{of}head", names[head_at_first], names)
    left, right = st.columns(2)
    layer = left.selectbox("Layer", numbers(layers), key=f"{of}layer")
    head = right.selectbox("Head", names, key=f"{of}head")
    return int(layer) - 1, head if head in AGGREGATES else int(head) - 1


def walk_heads(layers: int, heads: int, on: int) -> None:
    """Choose the next head, or the one before, as they stand on the page, row by row; see `head_picker`."""
    layer, head = int(st.session_state["layer"]) - 1, st.session_state["head"]
    place = layer * heads + (int(head) - 1 if head.isdecimal() else -(on > 0))
    layer, number = divmod((place + on) % (layers * heads), heads)
    choose("layer", str(layer + 1))
    choose("head", str(number + 1))


def clicked_head(layers: int, heads: int, *, of: str) -> tuple[int, int]:
    """The layer and head that `open_tile` chose, counted from 0, where there is no `head_picker`."""
    settle(f"{of}layer", str(layers), numbers(layers))
    settle(f"{of}head", "1", numbers(heads))
    return int(st.session_state[f"{of}layer"]) - 1, int(st.session_state[f"{of}head"]) - 1


def numbers(count: int) -> list[str]:
    return [str(i + 1) for i in range(count)]


Item = TypeVar("Item")


def with_progress(items: Sequence[Item], sentence: str, *, at_least: int) -> Iterator[Item]:
    """Go through the items under a progress bar, if there are so many that it takes a second."""
    bar = st.progress(0.0, sentence) if len(items) >= at_least else None
    for done, item in enumerate(items):
        if bar:
            bar.progress(done / len(items), f"{sentence} {done + 1} of {len(items)}")
        yield item
    if bar:
        bar.empty()


def open_tile(chart: str, *, of: str = "") -> None:
    """Callback of a picture of all heads: the layer and the head that were clicked are chosen, see `head_picker`."""
    points = st.session_state[chart].selection.points
    if points and "customdata" in points[0]:
        open_head(*points[0]["customdata"], of=of)


def open_head(layer: int, head: int, *, of: str = "") -> None:
    """Choose a layer and a head, counted from 0; see `head_picker`."""
    choose(f"{of}layer", str(layer + 1))
    choose(f"{of}head", str(head + 1))


def choose_nth(key: str, values: Sequence[str], number: int) -> None:
    """Choose the value with this number, counted from 0. A callback that knows the values, and nothing of its page."""
    choose(key, values[number])


def how(label: str, explanation: str, formula: str | None = None) -> None:
    """A popover that says how a picture is computed."""
    with st.popover(label, icon=":material/info:", type="tertiary"):
        st.markdown(explanation)
        if formula:
            st.latex(formula)


def tabs(labels: Mapping[str, str], key: str) -> Sequence["TabContainer"]:
    """Tabs; the page draws only the open one, and the URL names it.

    Args:
        labels: Id → label. Links name the ids, see `choices.OLD_TABS`.
        key: Of the choice.
    """
    settle(key, next(iter(labels)), labels)
    shown = f"{key}_shown"
    st.session_state[shown] = labels[st.session_state[key]]
    return st.tabs(list(labels.values()), key=shown, on_change=open_tab, args=(key, labels))


def open_tab(key: str, labels: Mapping[str, str]) -> None:
    """Callback of `tabs`: the one that is open now is chosen."""
    choose(key, next(name for name, label in labels.items() if label == st.session_state[f"{key}_shown"]))
