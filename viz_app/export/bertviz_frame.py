"""BertViz made safe and offline: its head view and model view as one self-contained HTML document.

By itself, BertViz loads require.js, d3 and jQuery from other hosts, embeds its numbers twice, and lets a token end its
script. Here d3 and jQuery come from installed packages, and the document asks no host for anything. Importing this file
takes a second, so the app imports it only for a BertViz view.
"""

import json
from functools import cache
from html import escape
from itertools import product
from pathlib import Path
from typing import Any, Literal

import mpld3
import numpy as np
import torch
from bertviz import head_view, model_view
from xstatic.pkg import jquery

from viz_app.content.numbers import html_language
from viz_app.content.translation import t
from viz_app.figures.colours import DARK, LIGHT, translucent
from viz_app.figures.style import Axes, FloatArray

__all__ = ["MAX_TOKENS", "View", "document", "height"]

View = Literal["head", "model"]
MAX_TOKENS = {"head": 64, "model": 32}  # larger views take seconds to draw
PARAMETERS = "const params = "
# All heads of the model view fit beside each other, also in a narrow frame.
FIT = """<script>
  const fit = () => { document.body.style.zoom = Math.min(SCALE, innerWidth / 990); };
  addEventListener("resize", fit);
  fit();
</script>"""


@cache
def libraries() -> str:
    """d3 5.7.0 and jQuery 3.7.1 as script elements, with the two functions of require.js that BertViz calls."""
    d3 = Path(mpld3.__file__).parent / "js" / "d3.v5.min.js"
    scripts = [
        d3.read_text(encoding="utf-8"),
        (Path(jquery.BASE_DIR) / "jquery.min.js").read_text(encoding="utf-8"),
        "window.require = window.requirejs = (names, then) => then(jQuery, d3); require.config = () => {};",
    ]
    return "".join(f"<script>{script}</script>" for script in scripts)


def document(
    view: View,
    kind: str,
    maps: FloatArray,
    axes: Axes,
    *,
    layer: int,
    head: int | None,
    second_start: int = 0,
    dark: bool = False,
    scale: float = 1.0,
) -> str:
    """One kind of attention as BertViz draws it.

    Args:
        view: "head" for the lines of one layer, "model" for small pictures of all layers and heads.
        kind: "encoder", "decoder" or "cross". BertViz gets one kind, because kinds may differ in their layers.
        maps: (L, H, T, S) with at most `MAX_TOKENS` tokens on each side.
        axes: Labels.
        layer: The layer of the head view.
        head: The head that the head view shows first; None for all.
        second_start: The first token of the second text of a pair, for a menu of the attention inside each text and
            between both; 0 for a single text.
        dark: Whether the page is dark.
        scale: Enlarges the drawing.
    """
    # It draws nothing where a weight is not a number, and JSON has no NaN.
    rounded = torch.from_numpy(np.where(np.isfinite(maps), maps, 0).astype(np.float64).round(4))
    layers = [one[None] for one in rounded]  # (1, H, T, S) each
    queries, keys = list(axes.queries), list(axes.keys)
    by_kind: dict[str, dict[str, Any]] = {
        "encoder": {"attention": layers, "tokens": keys, "sentence_b_start": second_start or None},
        "decoder": {"decoder_attention": layers, "decoder_tokens": keys},
        "cross": {"cross_attention": layers, "encoder_tokens": keys, "decoder_tokens": queries},
    }
    common = {**by_kind[kind], "prettify_tokens": False, "html_action": "return"}
    if view == "head":
        html = head_view(layer=layer, heads=None if head is None else [head], **common).data
    else:
        html = model_view(display_mode="dark" if dark else "light", **common).data
    _, _, body = html.partition("</script>")  # the first script loads require.js
    fitted = FIT.replace("SCALE", str(scale)) if view == "model" else f"<style>body{{zoom:{scale}}}</style>"
    frame = f"{style(dark)}{libraries()}{counted_from_one(body)}{fitted}"
    return f"<!doctype html><html lang='{html_language()}'><meta charset='utf-8'>{frame}"


def style(dark: bool) -> str:
    """The style of a frame in the colours of the page."""
    theme = DARK if dark else LIGHT
    lit = translucent(theme.primary, 0.35)
    return (
        f"<style>body{{margin:8px;color:{theme.text};background:{theme.page};overflow-x:auto}}text{{fill:{theme.text}}}"
        f".background{{fill:{lit}}}"
        ".attn_background{fill:transparent}</style>"
    )


def worded(script: str) -> str:
    """The script of BertViz, without the tokens, with its words in the language of the visitor."""
    layer, head = "config.layers[layerIndex]", "config.heads[headIndex]"
    name = script_text(t("layer {layer}, head {head}", layer="\x00", head="\x01"))
    for number, sign in ((layer, "\\u0000"), (head, "\\u0001")):
        name = name.replace(sign, f'" + {number} + "')
    words = {
        '"Heads"': script_text(t("heads")),
        '"Layers"': script_text(t("layers")),
        f"'Layer ' + {layer} + \", Head \" + {head}": name,
    }
    for before, after in words.items():
        script = script.replace(before, after)
    return script


def script_text(text: str) -> str:
    """A text as a literal of JavaScript."""
    return json.dumps(text).replace("<", "\\u003c")


def counted_from_one(body: str) -> str:
    """Count layers and heads from 1, remove the comment that repeats all numbers, and escape `<` in tokens."""
    start = body.index(PARAMETERS) + len(PARAMETERS)
    parameters, end = json.JSONDecoder().raw_decode(body, start)
    rest = body[body.index("\n", end) :]
    for names in ("include_layers", "include_heads"):
        if names in parameters:
            parameters[names] = [number + 1 for number in parameters[names]]
    if parameters.get("layer") is not None:
        parameters["layer"] += 1
    compact = json.dumps(parameters, separators=(",", ":"), ensure_ascii=False, allow_nan=False).replace("<", "\\u003c")
    return f"{with_own_menus(body[:start])}{compact};{worded(rest)}"


def with_own_menus(html: str) -> str:
    """Hide the menu of layers, because the page has one, and put the menu of a pair's texts into words."""
    html = html.replace('Layer: <select id="layer">', '<select id="layer" hidden>')
    html = html.replace("Attention: <select", f"{escape(t('Attention'))}: <select").replace(">All<", f">{t('all')}<")
    for query, key in product("AB", repeat=2):
        html = html.replace(f">Sentence {query} -> Sentence {key}<", f">{t('from {a} to {b}', a=query, b=key)}<")
    return html


def height(view: View, maps: FloatArray) -> int:
    """The height of the document in pixels."""
    layers, heads, queries, keys = maps.shape
    longest = max(queries, keys)
    if view == "head":
        return 80 + round(22.5 * longest)
    tiles, enlarged = 40 + layers * (84 / heads * longest + 10), 60 + 18 * longest
    return 40 + round(max(tiles, enlarged))
