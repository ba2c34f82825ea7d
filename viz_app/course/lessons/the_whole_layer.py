"""Lesson 6: the whole layer. The residual stream, LayerNorm, feed-forward, and what each adds to the next word."""

import numpy as np
from numpy.typing import NDArray

from model.analysis.contributions import contributions
from model.analysis.lens import EarlyReading, logit_lens
from model.analysis.station import Station
from model.analysis.stations import way_of_token
from viz_app.course.lesson import Answer, Verdict, chosen, estimated
from viz_app.course.lesson_file import read_lesson
from viz_app.course.situation import Situation, run_of, whole_number
from viz_app.services.analyses import analysis_of, early_readings_of
from viz_app.services.results import result_of

__all__ = ["LESSON"]

Vector = NDArray[np.float32]
EPSILON = 1e-5  # of LayerNorm


def stations_in(situation: Situation) -> tuple[Station, ...]:
    """The stations of the chosen token in the chosen layer, with the page's own defaults."""
    translation = result_of(situation.key, run_of(situation))
    stack = situation.choices.get("stack", "decoder")
    read = translation.source if stack == "encoder" else translation.read
    place = min(whole_number(situation, "station_place", 2), len(read))
    layer = whole_number(situation, "station_layer", 3)
    return analysis_of(way_of_token, situation.key, run_of(situation), stack, layer - 1, place - 1)[0]


def token_in(situation: Situation) -> str:
    """The token that the stations follow."""
    translation = result_of(situation.key, run_of(situation))
    read = translation.source if situation.choices.get("stack") == "encoder" else translation.read
    return read[min(whole_number(situation, "station_place", 2), len(read)) - 1].text


def step_numbers(stations: tuple[Station, ...], step: str) -> Vector:
    """The result of the first step with this name, (D,)."""
    found = (one.numbers[0] for station in stations for one in station.steps if one.name == step)
    return np.asarray(next(found))


def working_units(situation: Situation) -> tuple[int, int]:
    """How many units of the feed-forward are above zero, and how many it has."""
    units = step_numbers(stations_in(situation), "activation")
    return int((units > 0).sum()), len(units)


def length(vector: Vector) -> float:
    return float(np.linalg.norm(vector))


def old_or_new(situation: Situation, answer: Answer) -> Verdict:
    stations = stations_in(situation)
    attended = next(number for number, station in enumerate(stations) if station.name == "Self-attention")
    old, added = length(stations[attended - 1].vector), length(stations[attended].vector)
    truth = "old" if old > 2 * added else "new" if added > 2 * old else "both"
    forward = length(stations[-2].vector)
    values = {"old": round(old, 1), "added": round(added, 1), "forward": round(forward, 1)}
    return chosen(answer, {truth}, **values, token=token_in(situation))


def normed(vector: Vector) -> NDArray[np.float64]:
    """LayerNorm before its weight and its bias."""
    wide = vector.astype(np.float64)
    return np.asarray((wide - wide.mean()) / np.sqrt(wide.var() + EPSILON))


def twice_as_large(situation: Situation, answer: Answer) -> Verdict:
    total = step_numbers(stations_in(situation), "add")
    once, twice = normed(total), normed(2 * total)
    difference = float(np.abs(once - twice).max())
    truth = "same" if difference < 1e-3 else "double" if np.allclose(2 * once, twice, atol=1e-3) else "other"
    spread, doubled = round(float(total.std()), 2), round(float((2 * total).std()), 2)
    return chosen(answer, {truth}, spread=spread, doubled=doubled, difference=f"{difference:.1g}")


def count_units(situation: Situation, answer: Answer) -> Verdict:
    count, units = working_units(situation)
    share, token = count / units, token_in(situation)
    return estimated(answer, count, within=15, count=count, units=units, share=share, token=token)


def first_row(situation: Situation, answer: Answer) -> Verdict:
    run = run_of(situation)
    translation, lens = result_of(situation.key, run), analysis_of(logit_lens, situation.key, run)
    read = [translation.read[place].text for place in lens.positions]
    written = [translation.written[place].text for place in lens.positions]
    counts = {
        "read": sum(one == other for one, other in zip(lens.tokens[0], read, strict=True)),
        "written": sum(one == other for one, other in zip(lens.tokens[0], written, strict=True)),
    }
    counts["neither"] = len(read) - sum(counts.values())
    return chosen(answer, {max(counts, key=counts.__getitem__)}, **counts, all=len(read))


def before_the_last_layer(situation: Situation, answer: Answer) -> Verdict:
    lens = analysis_of(logit_lens, situation.key, run_of(situation))
    earlier, last = lens.own[-2], lens.own[-1]
    mean = float(earlier.mean())
    truth = "low" if mean < 0.2 else "half" if mean < 0.7 else "high"
    return chosen(answer, {truth}, mean=mean, largest=float(earlier.max()), final=float(last.mean()))


def layers_needed(readings: tuple[EarlyReading, ...]) -> int:
    """The smallest number of encoder layers with the translation of all layers."""
    return next(one.layers for one in readings if one.text == readings[-1].text)


def count_layers(situation: Situation, answer: Answer) -> Verdict:
    readings = early_readings_of(situation.key, situation.text)
    needed = layers_needed(readings)
    before = readings[max(needed - 1, 0)].text
    return estimated(answer, needed, within=0, needed=needed, before=before, whole=readings[-1].text)


def parts_of(situation: Situation) -> tuple[dict[str, float], dict[str, str | float]]:
    """What each kind of part added to the chosen word over its rival, and the two words with their difference."""
    run = run_of(situation)
    translation = result_of(situation.key, run)
    place = whole_number(situation, "query", 2)
    place = place if place < len(translation.written) else min(2, len(translation.written) - 1)
    word = translation.written[place]
    rivals = {one.id: one.token for one in word.candidates if one.id != word.id}
    rival = whole_number(situation, "rival", -1)
    rival = rival if rival in rivals else next(iter(rivals))
    found = analysis_of(contributions, situation.key, run, place, rival)
    parts = {kind: float(heads.sum()) for kind, heads in found.heads.items()}
    parts["forward"] = float(found.feed_forward.sum())
    rounded = {name: round(part, 2) for name, part in parts.items()}
    return parts, {"word": word.text, "rival": rivals[rival], "total": round(found.difference, 2), **rounded}


def largest_part(situation: Situation, answer: Answer) -> Verdict:
    parts, values = parts_of(situation)
    return chosen(answer, {max(parts, key=parts.__getitem__)}, **values)


def earlier_words_decide(situation: Situation, _: Answer) -> Verdict:
    """Decoder self-attention added more than cross-attention and more than the feed-forwards."""
    parts, values = parts_of(situation)
    largest = max(parts, key=parts.__getitem__)
    return Verdict(right=largest == "decoder", outcome="right" if largest == "decoder" else largest, values=values)


def needs_all_layers(situation: Situation, _: Answer) -> Verdict:
    readings = early_readings_of(situation.key, situation.text)
    needed = layers_needed(readings)
    solved = needed == readings[-1].layers
    values: dict[str, str | int] = {"text": situation.text, "needed": needed, "whole": readings[-1].text}
    values["before"] = readings[-2].text
    return Verdict(right=solved, outcome="right" if solved else "earlier", values=values)


def few_units(situation: Situation, _: Answer, *, most: int) -> Verdict:
    """A token and a layer where only a few units of the feed-forward are above zero."""
    count, units = working_units(situation)
    return Verdict(
        right=count <= most,
        outcome="right" if count <= most else "more",
        values={"count": count, "units": units, "most": most, "token": token_in(situation)},
    )


LESSON = read_lesson(
    "the-whole-layer",
    {
        "old-or-new": old_or_new,
        "twice-as-large": twice_as_large,
        "working-units": count_units,
        "first-row": first_row,
        "last-layer": before_the_last_layer,
        "early-encoder": count_layers,
        "who-says-dog": largest_part,
        "who-ends": largest_part,
        "puzzle-earlier-words": earlier_words_decide,
        "puzzle-all-layers": needs_all_layers,
        "puzzle-few-units": few_units,
    },
)
