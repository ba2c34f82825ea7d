"""The steps of a decode."""

from collections.abc import Callable, Sequence

from model.config.kinds import KINDS
from model.inference.run import Result, Token
from model.interventions import Head
from viz_app.components.mounting import Data, component, masked_out, packed
from viz_app.content.translation import N_, t

__all__ = ["stepper"]

START_TOKEN = N_("“{token}” is given, not chosen. It tells the model what to write, such as the language.")
PROMPT_TOKEN = N_("This token belongs to the text that you typed. The model chooses nothing here.")


def stepper(
    translation: Result,
    *,
    kind: str,
    key: str,
    on_force: Callable[[int, int], None],
    on_step: Callable[[int], None],
    on_cell: Callable[[Head, int, int], None] | None,
    step: int | None = None,
    guess: bool = False,
) -> None:
    """Walk through a decode: a slider and a play button, the prefix, ten candidates, and one row of every head's map.

    Args:
        translation: With its maps.
        kind: "cross" or "decoder", whose rows are shown.
        key: Of the component.
        on_force: Called with a position and a target id when the visitor clicks another candidate.
        on_step: Called with the step at which the visitor stays.
        on_cell: Called with a head, the step and the key of a cell that the visitor chose; None if cells lead nowhere.
        step: The step that is shown at first, counted from 0; else the first step that the model chose.
        guess: Words and candidates are hidden until the visitor asks for them.
    """
    heads = translation.maps[kind].shape[1]

    def choose(cell: Sequence[int]) -> None:  # the session keeps it, so it must not close over the translation
        head, at, chosen_key = map(int, cell)
        if on_cell:
            on_cell(Head(kind, *divmod(head, heads)), at, chosen_key)

    component(
        "stepper",
        "ui/stepper",
        key=key,
        force=lambda chosen: on_force(int(chosen["position"]), int(chosen["id"])),
        step=lambda position: on_step(int(position)),
        cell=choose,
        data={
            **stepper_data(translation, kind=kind, step=step, guess=guess),
            "choosable": on_cell is not None,
        },
    )


def stepper_data(translation: Result, *, kind: str, step: int | None, guess: bool) -> Data:
    """The data of `live/ui/stepper.js`; for the arguments see `stepper`."""
    maps = translation.maps[kind]
    source = translation.source or translation.read[: translation.prompt_length + 1]
    note = t(PROMPT_TOKEN) if translation.prompt_length else t(START_TOKEN, token=translation.written[0].text)
    return {
        "text": "|".join(token.text for token in source),
        "given": translation.prompt_length or int(translation.first_token_fixed),
        "given_note": note,
        "kind": kind,
        "keys": [token.text for token in translation.tokens_of(kind)[1]],
        "languages": {"key": translation.language_of(KINDS[kind].keys), "word": translation.languages[1]},
        "shape": list(maps.shape[:2]),
        "maps": packed(masked_out(maps, translation.mask_of(kind)[:, None])),
        "fixed": False,
        "guess": guess,
        "step": None if step is None else min(step, len(translation.written) - 1),
        "steps": [
            {"read": read.text, "entropy": written.entropy, "candidates": candidates(written)}
            for read, written in zip(translation.read, translation.written, strict=True)
        ],
    }


def candidates(written: Token) -> list[list[object]]:
    """The candidates of a step: text, probability, id, and whether it was written."""
    best: list[list[object]] = [[c.token, c.probability, c.id, c.id == written.id] for c in written.candidates]
    if not any(candidate.id == written.id for candidate in written.candidates):  # a forced token may be unlikely
        best.append([written.text, written.probability, written.id, True])
    return best
