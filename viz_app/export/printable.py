"""A page for paper: one HTML file without scripts, black on white, from a small part of Markdown.

The part has headings, paragraphs, lists, tables, **bold**, *italic*, `code` and formulas of one line. Everything else,
such as HTML, links and images, is text. Formulas become plain HTML, because the file asks no host for fonts or scripts.
"""

import re
from html import escape

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline

from viz_app.content.numbers import html_language

__all__ = ["blocks", "document", "inline"]

STYLE = """
@page { size: A4; margin: 16mm 15mm; }
:root { color-scheme: only light; }
body { font: 10.5pt/1.45 system-ui, "Noto Sans", "Noto Sans CJK SC", "Noto Sans CJK KR", sans-serif; color: #000;
  background: #fff; max-width: 180mm; margin: 0 auto; padding: 4mm; overflow-wrap: anywhere; }
h1 { font-size: 18pt; line-height: 1.2; margin: 0 0 3mm; }
h2 { font-size: 13pt; margin: 7mm 0 1.5mm; border-bottom: .5pt solid #000; }
h3 { font-size: 10.5pt; margin: 3mm 0 1mm; }
h1, h2, h3 { break-after: avoid; }
p, ul, ol { margin: 0 0 2mm; }
ul, ol { padding-left: 6mm; }
li { break-inside: avoid; }
a { color: #000; }
table { break-inside: avoid; border-collapse: collapse; width: calc(100% - 1pt); margin: 0 0 3mm; }
td:first-child, th:first-child { white-space: nowrap; }
th, td { border: .5pt solid #000; padding: 1mm 2mm; text-align: start; vertical-align: top; }
td.mark { width: 6mm; text-align: center; font-weight: bold; }
code { font-family: ui-monospace, monospace; font-size: 9.5pt; }
.root { border-top: .8pt solid #000; }
.about, .link { font-size: 9pt; color: #333; }
.question { font-weight: bold; break-after: avoid; }
.together { break-inside: avoid; }
.notes { break-inside: avoid; break-before: avoid; width: calc(100% - 1pt); box-sizing: border-box;
  border: .5pt solid #000; min-height: 22mm; padding: 1mm 2mm; margin: 2mm 0 0; }
@media print { body { padding: 0; max-width: none; } }
"""
SIGNS = {r"\cdot": "·", r"\times": "×", r"\div": "÷", r"\approx": "≈", r"\le": "≤", r"\ge": "≥", r"\sum": "Σ"}
SIGNS |= {r"\dots": "…", r"\ldots": "…", r"\pm": "±", r"\to": "→", r"\alpha": "α", r"\sigma": "σ", r"\infty": "∞"}
RAISED = re.compile(r"([_^])(?:\{([^{}]*)\}|(\w|\\\w+))")


def reader() -> MarkdownIt:
    """A reader of the part of Markdown that lessons use, and of formulas."""
    parts = ["heading", "list", "table", "backticks", "emphasis", "escape"]
    found = MarkdownIt("zero", {"html": False}).enable(parts)
    found.inline.ruler.before("escape", "formula", read_formula)
    found.add_render_rule("formula", lambda _, tokens, index, *__: f"<i>{mathematics(tokens[index].content)}</i>")
    return found


def read_formula(state: StateInline, silent: bool) -> bool:
    """A rule of the reader: what stands between two dollar signs is a formula of one line."""
    end = state.src.find("$", state.pos + 1)
    if state.src[state.pos] != "$" or end <= state.pos + 1:
        return False
    if not silent:
        state.push("formula", "", 0).content = state.src[state.pos + 1 : end]
    state.pos = end + 1
    return True


READER = reader()


def inline(text: str) -> str:
    """One line of Markdown as HTML. A sign after a backslash is this sign."""
    return READER.renderInline(text).replace("\n", " ")


def blocks(markdown: str) -> str:
    """Several lines of Markdown as HTML."""
    return READER.render(markdown)


def mathematics(formula: str) -> str:
    """A formula of one line as HTML: roots, fractions, raised and lowered parts, and the signs above."""
    text = escape(formula)
    text = re.sub(r"\\(?:text|mathrm|operatorname)\{([^{}]*)\}", r"\1", text)
    text = RAISED.sub(lambda m: f"<{tag(m[1])}>{m[2] if m[2] is not None else m[3]}</{tag(m[1])}>", text)
    text = re.sub(r"\\sqrt\{([^{}]*)\}", r'√<span class="root">\1</span>', text)
    text = re.sub(r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"(\1) ÷ (\2)", text)
    text = re.sub(r"\\[a-z]+", lambda m: SIGNS.get(m[0], m[0][1:]), text)
    return re.sub(r"[{}\\]", "", text)


def tag(sign: str) -> str:
    return "sub" if sign == "_" else "sup"


def document(title: str, body: str) -> str:
    """A whole page.

    Args:
        title: Text.
        body: HTML.
    """
    return (
        f'<!doctype html>\n<html lang="{escape(html_language(), quote=True)}">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
