"""The words of the field that the pages use, each in a sentence."""

from html import escape

import streamlit as st

__all__ = ["GLOSSARY", "glossary"]

GLOSSARY = {
    "Attention weight": "How much of a query's output comes from a key; the weights of a row sum to 1.",
    "BLEU": "How many words, and groups of up to four, a translation shares with a person's: 0 to 100 (Papineni 2002).",
    "chrF": "As BLEU, counted in letters instead of words, so that forms of a word count in part (Popović 2015).",
    "Cross-attention": "The decoder looks at the source: queries are of the target, keys and values of the source.",
    "Entropy": "How undecided a distribution is: 0 nats, one outcome has everything; ln n, all n are alike.",
    "Head": "One of several attentions of a layer, each with its own queries, keys and values of a part of the width.",
    "Key, query, value": "A query asks, keys answer how well they fit, and the values of those that fit are added up.",
    "Logit": "The number that the model gives a token before the softmax makes probabilities of all of them.",
    "Mask": "What may not be looked at: tokens that are not written yet, and the padding of shorter sentences.",
    "Nat": "A unit of information, as the bit, but with the natural logarithm: 1 nat is 1.44 bits.",
    "Perplexity": "e to the loss: among how many tokens, all alike, the model would be as undecided.",
    "Residual stream": "The vector of a token on its way through the layers, to which every part adds.",
    "Rollout": "Attention followed through all layers, as if information flowed along its weights (Abnar 2020).",
    "Softmax": "Makes probabilities of numbers: e to each, divided by the sum of all.",
    "Token": "What a model reads and writes: a word, or a piece of one.",
}


def glossary() -> None:
    """A popover for the sidebar."""
    with st.popover("Glossary", icon=":material/menu_book:", type="tertiary"):
        # What scrolls must be reachable by keys, and Streamlit's own popover is not.
        terms = "".join(f"<dt>{escape(term)}</dt><dd>{escape(says)}</dd>" for term, says in GLOSSARY.items())
        st.html(f'<div class="hl-terms" role="region" aria-label="Terms" tabindex="0"><dl>{terms}</dl></div>')
