"""One run of a model as one HTML file for any browser: the page of `live/` with the recorded answers, without weights.

The file needs only what was recorded, so it works for every model. It asks no host for anything.
"""

import base64
import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from model.config.kinds import Sizes
from model.inference.classify import Classification
from model.inference.run import Result, Token
from model.interventions import Intervention
from model.messages import MessageError
from viz_app.components.mounting import Data, packed
from viz_app.content.numbers import day
from viz_app.content.plain import isolated, visible
from viz_app.content.translation import N_, language, t
from viz_app.export.live_page import Contents, code_of_page, compact, one_file
from viz_app.session.choice_forms import write_forced

__all__ = ["MAX_TOKENS", "Changed", "TooLongError", "report"]

MAX_TOKENS = 120  # on each side; larger files open too slowly in a browser
ABOUT = '<meta name="generator" content="Headlight">'
REPORT = Contents(form="report")
ENCODINGS = ("sinusoidal", "rotary")  # that are formulas, so the page computes them
SIZES = ("architecture", "attention", "positional", "d_model", "num_heads", "max_length")
TOO_LONG = N_("One HTML file can hold {limit} tokens on each side. This run has {n}. Try a shorter text.")


class TooLongError(MessageError, ValueError):
    """The text has too many tokens for a report. The message names both numbers."""


@dataclass(frozen=True, kw_only=True)
class Changed:
    """The run of the changed model over the same text."""

    intervention: Intervention
    translation: Result  # what the changed model writes
    rescored: Result  # the changed model writes the translation of the unchanged model


def report(
    translation: Result,
    *,
    text: str,
    second: str = "",
    name: str,
    made: date,
    note: str = "",
    sizes: Sizes | None = None,
    forced: Mapping[int, int] | None = None,
    changed: Changed | None = None,
    choices: Mapping[str, str] | None = None,
) -> str:
    """An HTML page with everything that a model did for one text, at first in the language of this thread.

    Args:
        translation: A translation with its maps.
        text: The source as typed. Markup in it is text.
        second: The second text of a pair.
        name: The name of the checkpoint.
        made: The date in the page.
        note: A note about forced words, or "".
        sizes: Of the model, for the pages about positions and masks.
        forced: Position → id of the tokens that the model had to write.
        changed: The run with the visitor's changes inside the model.
        choices: What the visitor chose, in the form of a link.

    Raises:
        TooLongError: the text has more than `MAX_TOKENS` tokens.
    """
    runs = [translation, changed.translation] if changed else [translation]
    longest = max(len(tokens) for run in runs for tokens in (run.source, run.read))
    if longest > MAX_TOKENS:
        raise TooLongError(TOO_LONG, n=longest, limit=MAX_TOKENS)
    origin = t(
        "Made with Headlight on {day} from the checkpoint {name}. Every number is the model's own.",
        day=day(made),
        name=isolated(visible(name)),
    )
    intervention = changed.intervention.code() if changed else ""
    forced_code = write_forced(sorted((forced or {}).items()))
    opening = {
        "text": text,
        "second": second,
        "link": f"#translate?{urlencode({**(choices or {}), 'lang': language()})}",
        "chosen": {"forced": forced_code, "intervention": intervention},
        "pages": pages_of(translation, sizes, changed=changed is not None),
        "made": origin,
        "note": note,
    }
    code = code_of_page(REPORT)
    site = {
        "checkpoints": [listed(translation, text, name)],
        "words": code.words,
        "shared": code.shared(),
        "report": opening,
    }
    recorded = {"info": info(translation, sizes), "runs": runs_of(translation, changed, forced_code)}
    return one_file({"site": compact(site), "recorded": compact(recorded)}, REPORT, about=ABOUT)


def listed(translation: Result, text: str, name: str) -> Data:
    """The checkpoint as a site lists it; the only text is that of the report."""
    task, languages = task_in(translation), list(translation.languages)
    return {"name": name, "files": None, "task": task, "languages": languages, "examples": [text], "batch": []}


def task_in(translation: Result) -> str:
    """What the model did, as `Task` in live/engine/types.d.ts."""
    if isinstance(translation, Classification):
        return "classification"
    if translation.written:
        return "translation" if translation.source else "continuation"
    return "filling" if translation.text else "reading"


def info(translation: Result, sizes: Sizes | None) -> Data:
    """What the page knows of the model."""
    config = {size: getattr(sizes, size, None) for size in SIZES}
    heads = {kind: weights.shape[:2] for kind, weights in translation.maps.items()}  # layers, heads in a layer
    return {"config": config, "languages": list(translation.languages), "heads": heads}


def pages_of(translation: Result, sizes: Sizes | None, *, changed: bool) -> list[str]:
    """The pages that have something to show, by their names in a link."""
    attends, recurrent = bool(translation.maps), getattr(sizes, "architecture", "") == "recurrent"
    shown = {
        "translate": True,
        "steps": bool({"cross", "decoder"} & set(translation.maps)),
        "heads": changed and attends and bool(translation.written),
        "positions": getattr(sizes, "positional", "") in ENCODINGS,
        "masks": attends and not recurrent,
    }
    return [page for page, has in shown.items() if has]


def runs_of(translation: Result, changed: Changed | None, forced: str) -> Data:
    """The runs by the forced words and the changes of each, as the page asks for them."""
    runs = {f"{forced} ": run_data(translation)}
    if changed:
        code = changed.intervention.code()
        same = write_forced((position, token.id) for position, token in enumerate(translation.written))
        runs[f"{same} {code}"] = run_data(changed.rescored, maps=False)
        runs[f"{forced} {code}"] = run_data(changed.translation)
    return runs


def run_data(translation: Result, *, maps: bool = True) -> Data:
    """A translation in the form of `Result` in `live/engine/types.d.ts`. Every number is exact.

    The tokens that the decoder read are the first one and those that it wrote, so only the first one is repeated.

    Args:
        translation: A translation, a continuation or a reading.
        maps: Include its maps and masks.
    """
    return {
        "text": translation.text,
        "source": [token_data(token) for token in translation.source],
        "start": token_data(translation.read[0]) if translation.read else None,
        "written": [token_data(token) for token in translation.written],
        "finished": translation.finished,
        "dropped": translation.dropped,
        "languages": list(translation.languages),
        "prompt_length": translation.prompt_length,
        "first_token_fixed": translation.first_token_fixed,
        # Half precision would change the last digits that the page shows.
        "maps": {kind: {"shape": one.shape, "data": packed(one)} for kind, one in translation.maps.items() if maps},
        "masks": {kind: {"shape": one.shape, "data": bits(one)} for kind, one in translation.masks.items() if maps},
    }


def token_data(token: Token) -> Data:
    data: dict[str, object] = {"text": token.text, "id": token.id, "word": token.word}
    if token.unknown:
        data["unknown"] = True
    if token.part:
        data["part"] = token.part
    if token.candidates or not math.isnan(token.probability):  # of a written token
        data |= {"probability": token.probability, "entropy": token.entropy}
    if token.candidates:
        data["candidates"] = [{"text": c.token, "probability": c.probability, "id": c.id} for c in token.candidates]
    return data


def bits(mask: NDArray[np.bool_]) -> str:
    """A byte for each cell, as base64: 1 where the query may attend to the key."""
    return base64.b64encode(mask.astype(np.uint8).tobytes()).decode("ascii")
