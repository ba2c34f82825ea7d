"""The words of the field that the pages use, each in a sentence or two."""

from html import escape

import streamlit as st

__all__ = ["GLOSSARY", "definitions", "glossary"]

GLOSSARY = {
    "Attention weight": "How much of a query's output comes from a key; the weights of a row sum to 1.",
    "Beam": "A search that keeps several beginnings of the translation at once and goes on with the best of them.",
    "BLEU": "How many words, and groups of up to four, a translation shares with a person's: 0 to 100 (Papineni 2002).",
    "Checkpoint": "A trained model in a folder: its weights, its tokenizer and its settings. Choose one on the left.",
    "chrF": "Like BLEU, but counted in letters instead of words, so forms of a word count in part (Popović 2015).",
    "Cross-attention": "The decoder looks at the source: queries are of the target, keys and values of the source.",
    "Decoder": "The part of the model that writes. It reads its own earlier tokens and looks at the encoder's vectors.",
    "Embedding": "The vector with which a token enters the model. The model learns one for each token.",
    "Encoder": "The part of the model that reads the source. It makes one vector for each token, in its context.",
    "Entropy": "How uncertain a distribution is: 0 nats, one outcome has all of it; ln n, all n are equally likely.",
    "Greedy search": "A search that writes the most likely token at each step.",
    "Head": "One of several attentions of a layer. Each has its own queries, keys and values.",
    "Key, query, value": "A query asks, keys answer how well they fit, and the values of the best fits are added up.",
    "Layer": "One step of the encoder or the decoder: attention, then a feed-forward network.",
    "Logit": "The number that the model gives a token before the softmax turns all of them into probabilities.",
    "Log-probability": "The natural logarithm of a probability, in nats: 0 means certain, −0.7 about one half.",
    "Mask": "It hides what a query may not look at: later tokens, and the padding of shorter sentences.",
    "Nat": "A unit of information like the bit, but with the natural logarithm: 1 nat is 1.44 bits.",
    "Perplexity": "e to the loss: how many equally likely tokens would leave the model as uncertain.",
    "Positional encoding": "Numbers that tell the model where a token stands. Attention alone does not know the order.",
    "Residual stream": "The vector of a token on its way through the layers. Every part of a layer adds to it.",
    "Rollout": "Attention followed through all layers, as if information flowed along its weights (Abnar 2020).",
    "Self-attention": "Tokens of one text look at each other: queries, keys and values come from the same text.",
    "Softmax": "It turns numbers into probabilities: e to each number, divided by the sum of all.",
    "Subword mark": "A dot at the start of a token: it continues the word before it. “Y” and “·esterday” are one word.",
    "Token": "What a model reads and writes one at a time: a word, a part of a word, or a punctuation mark.",
    "<s>": "The token that starts a text. The decoder reads it before it has written anything.",
    "</s>": "The token that ends a text. When the model writes it, the translation is complete.",
    "<pad>": "A token without meaning that fills short sentences of a batch. A mask hides it.",
}


def definitions(*terms: str) -> str:
    """HTML of these words with their meanings, all words where none are named."""
    rows = (f"<dt>{escape(term)}</dt><dd>{escape(GLOSSARY[term])}</dd>" for term in terms or GLOSSARY)
    return f"<dl>{''.join(rows)}</dl>"


def glossary() -> None:
    """A popover for the sidebar."""
    with st.popover("Glossary", icon=":material/menu_book:", type="tertiary"):
        # What scrolls must be reachable by keys, and Streamlit's own popover is not.
        st.html(f'<div class="hl-terms" role="region" aria-label="Terms" tabindex="0">{definitions()}</div>')
