"""The technical terms on the pages, each with a definition of one or two sentences."""

from html import escape

import streamlit as st

from viz_app.content.translation import N_, t

__all__ = ["GLOSSARY", "definitions", "glossary"]

GLOSSARY = N_(
    {
        "Attention weight": "The share that a key has in the output of a query. The weights of one query sum to 1.",
        "Beam search": "It keeps several beginnings of the translation at once, and continues the best of them.",
        "BLEU": (
            "How many words and groups of up to four a translation shares with a human one: 0 to 100 (Papineni 2002)."
        ),
        "Checkpoint": "A folder with the weights, the tokenizer and the settings of one model. Choose one on the left.",
        "chrF": (
            "Like BLEU, but with groups of letters instead of words. Similar word forms count in part (Popović 2015)."
        ),
        "Cross-attention": "The decoder attends to the source: queries of the target, keys and values of the source.",
        "Decoder": "The part of the model that writes. It reads its own earlier tokens, and attends to the source.",
        "Embedding": "The vector of a token when it enters the model. Training learns one for each token.",
        "Encoder": "The part of the model that reads the source. It makes one vector for each token, in its context.",
        "Entropy": (
            "How uncertain a distribution is, in nats: 0 if one outcome is certain, ln n if n are equally likely."
        ),
        "Greedy search": "It writes the most likely token at each step.",
        "Head": "One of several attentions in a layer. Each head has its own queries, keys and values.",
        "Importance": "How much the loss rises when a head is silenced.",
        "Key, query, value": (
            "Three vectors of a token. Query times key is a score. The scores decide how to mix values."
        ),
        "Layer": "One step of the encoder or the decoder: attention, then a feed-forward network.",
        "Logit": "The number that the model gives to a token. The softmax turns all logits into probabilities.",
        "Log-probability": "The natural logarithm of a probability, in nats: 0 means certain, −0.7 about one half.",
        "Mask": "It excludes keys that a query may not attend to: later tokens, and the padding of shorter sentences.",
        "Nat": "A unit of information like the bit, but with the natural logarithm: 1 nat is 1.44 bits.",
        "Patch a head": "Replace the output of a head by its output for another sentence, the donor.",
        "Perplexity": "e to the power of the loss: how many equally likely tokens would leave the model as uncertain.",
        "Positional encoding": (
            "Numbers that give the model the position of a token. Attention itself ignores the order."
        ),
        "Residual stream": "The vector of a token on its way through the layers. Every part of a layer adds to it.",
        "Rollout": "Attention followed through all layers, as if information flowed along its weights (Abnar 2020).",
        "Self-attention": (
            "The tokens of one text attend to each other: queries, keys and values come from the same text."
        ),
        "Silence a head": "Set the output of a head to zero. Papers also call it ablation.",
        "Softmax": "It turns numbers into probabilities: e to the power of each number, divided by the sum of all.",
        "Subword mark": (
            "A dot at the start of a token: it continues the word before it. “Y” and “·esterday” are one word."
        ),
        "Token": "What the model reads and writes one at a time: a word, a part of a word, or a punctuation mark.",
        "<s>": "The token that starts a text. The decoder reads it first, before it has written anything.",
        "</s>": "The token that ends a text. The translation is complete when the model writes it.",
        "<pad>": "A token without meaning. It fills up the short sentences of a batch, and a mask excludes it.",
    }
)


def definitions(*terms: str) -> str:
    """Return the HTML list of these terms with their definitions, or of all terms if none are given.

    Args:
        terms: As in `GLOSSARY`, in English.
    """
    rows = (f"<dt>{escape(t(term))}</dt><dd>{escape(t(GLOSSARY[term]))}</dd>" for term in terms or GLOSSARY)
    return f"<dl>{''.join(rows)}</dl>"


def glossary() -> None:
    """Draw the popover with all terms."""
    with st.popover(t("Glossary"), icon=":material/menu_book:", type="tertiary"):
        # A region that scrolls must be reachable with the keyboard. Streamlit's own popover is not.
        label = escape(t("Terms"))
        st.html(f'<div class="hl-terms" role="region" aria-label="{label}" tabindex="0">{definitions()}</div>')
