"""What only the app can show of a run, by the names that the checks of lessons use."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.analysis.anatomy import value_norms
from model.analysis.contributions import contributions
from model.analysis.influence import influence
from model.analysis.learning import SnapshotResult
from model.analysis.lens import logit_lens
from model.analysis.positions import encoding_properties, rotation, rotation_error, scores_by_distance
from model.analysis.stations import way_of_token
from model.checkpoints.checkpoint import CheckpointConfig
from model.config.paths import CHECKPOINTS
from model.config.search import SearchConfig
from model.inference.run import Candidate, Result, Run
from model.inference.translate import record_translation, require_writing
from viz_app.content.examples import WITH_ATTENTION
from viz_app.content.grades import GRADES
from viz_app.course.expressions import words
from viz_app.course.quantities import BASE, QUANTITIES, batch_texts, quantities, quantity, sentence, word_at
from viz_app.course.situation import Situation, run_of, search_of, whole_number
from viz_app.services.analyses import analysis_of, bug_report_of, early_readings_of, position_table
from viz_app.services.listing import CheckpointKey, list_one
from viz_app.services.models import config_of, parameter_table, result_of, snapshot_result_of, translator

__all__ = ["QUANTITIES"]

Array = NDArray[Any]
SHIFT, REACH = 3, 12  # positions
TRANSFORMER = "everyday-de-en"
BERT, GPT, MASK = "tiny-bert-en", "tiny-gpt-en", "[MASK]"
SNAPSHOTS = (0, 250, 500, 1000, 2000, 5000, 10000)  # of multi30k-en-de
SEEDS = range(10)
EPSILON = 1e-5  # of LayerNorm


def key_of(name: str) -> CheckpointKey:
    """The key of a bundled checkpoint."""
    return list_one(CHECKPOINTS / name).key


# What attention explains: what an analysis finds where the answer is known.
@quantity
def grade(situation: Situation, analysis: str, model: str) -> float:
    """How well an analysis finds the heads that matter in a planted model, 0 to 1. It does not depend on the run."""
    return GRADES[analysis].models[model]


# Why attention: the translation by another checkpoint, and what one vector loses.
@quantity
def translated_by(situation: Situation, name: str) -> str:
    """The translation of the text by a bundled checkpoint."""
    return result_of(key_of(name), Run(text=situation.text)).text


@quantity
def vector_size(situation: Situation, text: str) -> int:
    """How many numbers the last states of both directions have together, when a recurrent encoder reads the text."""
    _, recording = record_translation(translator(situation.key), text, record=("encoder.states",))
    return int(recording.array("encoder.states").shape[-1])  # (S, 2C)


@quantity
def source_word(situation: Situation, place: int) -> str:
    """The word to which a token of the source belongs."""
    return word_at(situation.translation.source, place)


@quantity
def words_for(situation: Situation, place: int) -> list[str]:
    """The words that a network with attention writes while it looks most at a word of the source."""
    tokens = situation.translation.source
    word = word_at(tokens, place)
    if tokens[place].special or not words(word):
        return []
    for name in (WITH_ATTENTION, TRANSFORMER):
        run = result_of(key_of(name), Run(text=situation.text))
        best = run.maps["cross"][-1].mean(axis=0).argmax(axis=-1)  # (T,)
        rows = [row for row, index in enumerate(best) if word_at(run.source, int(index)) == word]
        written = dict.fromkeys(word_at(run.written, row).lower() for row in rows)
        if found := [one for one in written if words(one)]:
            return found
    return []


@quantity
def bleu(_: Situation, name: str) -> list[float]:
    """The BLEU of short to long sentences that was measured on the weights of a bundled checkpoint."""
    config = config_of(key_of(name))
    assert isinstance(config, CheckpointConfig)
    return list(config.bleu_by_length.values())


# Masks: what a mistake in them does to a batch.
@quantity
def text_with_bug(situation: Situation, bug: str) -> str:
    """The translation of the sentence that the page shows, in its batch."""
    return bug_report_of(situation.key, batch_texts(situation), bug).texts[sentence(situation)]


@quantity
def effect_of_future(situation: Situation, bug: str) -> float:
    """By how much an earlier log-probability changes if the last token that the decoder reads is replaced."""
    found = bug_report_of(situation.key, batch_texts(situation), bug).effect_of_future
    return 0.0 if found is None else float(found[sentence(situation)])


@quantity
def leaked_in_batch(situation: Situation, bug: str) -> float:
    """The largest share of the weight on padding, of all sentences."""
    leaked = bug_report_of(situation.key, batch_texts(situation), bug).leaked
    return max(float(leaked[kind].max()) for kind in ("encoder", "cross"))


# Positions: the properties of an encoding.
@quantity
def moves_by_matrix(situation: Situation) -> dict[str, Any]:
    """How far the rotation of the sinusoids by some positions misses the encodings there."""
    table = position_table(situation.key)
    error = rotation_error(table, rotation(table.shape[1], BASE, SHIFT), SHIFT)
    return {"error": error, "positions": len(table) - SHIFT}


@quantity
def broken_properties(situation: Situation) -> list[str]:
    """The properties of a good encoding that this one lacks."""
    return [one.name for one in encoding_properties(position_table(situation.key), has_formula=False) if not one.holds]


@quantity
def property_figures(situation: Situation) -> dict[str, float]:
    """Property of an encoding → the number that decides it."""
    found = encoding_properties(position_table(situation.key), has_formula=False)
    return {one.name: one.figure for one in found}


quantities(
    batch_size=lambda situation: len({*batch_texts(situation)}),
    shown_sentence=lambda situation: batch_texts(situation)[sentence(situation)],
    scores_by_distance=lambda situation: analysis_of(scores_by_distance, situation.key, 0, REACH)[
        0
    ],  # (2 · reach + 1,)
)


# The whole layer: stations of a token, and what each part adds.
@quantity
def followed(situation: Situation) -> dict[str, Any]:
    """The numbers of a token on its way through a layer, with the page's own defaults.

    Returns:
        The `token`. The lengths of its vector before self-attention (`old`), of what attention added (`added`) and of
        what the feed-forward added (`forward`). `total`: the vector before LayerNorm. `units`: of the feed-forward.
    """
    run, stack = run_of(situation), situation.choices.get("stack", "decoder")
    translation = result_of(situation.key, run)
    read = translation.source if stack == "encoder" else translation.read
    place = min(whole_number(situation, "station_place", 2), len(read)) - 1
    stations = analysis_of(
        way_of_token, situation.key, run, stack, whole_number(situation, "station_layer", 3) - 1, place
    )[0]
    attended = next(number for number, station in enumerate(stations) if station.name == "Self-attention")
    steps = {step.name: step.numbers[0] for station in reversed(stations) for step in reversed(station.steps)}
    vectors = {"old": stations[attended - 1], "added": stations[attended], "forward": stations[-2]}
    return {
        "token": read[place].text,
        **{name: float(np.linalg.norm(station.vector)) for name, station in vectors.items()},
        "total": np.asarray(steps["add"]),
        "units": np.asarray(steps["activation"]),
    }


@quantity
def normed(_: Situation, vector: Array) -> Array:
    """LayerNorm before its weight and its bias."""
    wide = vector.astype(np.float64)
    return np.asarray((wide - wide.mean()) / np.sqrt(wide.var() + EPSILON))


@quantity
def first_readings(situation: Situation) -> dict[str, int]:
    """How often the lens reads, before the first layer, the token that was read, the written one, and neither."""
    run = run_of(situation)
    translation, lens = result_of(situation.key, run), analysis_of(logit_lens, situation.key, run)
    sides = {"read": translation.read, "written": translation.written}
    counts = {
        name: sum(token == tokens[place].text for token, place in zip(lens.tokens[0], lens.positions, strict=True))
        for name, tokens in sides.items()
    }
    return {**counts, "neither": len(lens.positions) - sum(counts.values())}


@quantity
def own_probabilities(situation: Situation) -> list[Array]:
    """After each layer, the probabilities that the lens gives to the tokens that were written."""
    return list(analysis_of(logit_lens, situation.key, run_of(situation)).own)


@quantity
def early_texts(situation: Situation) -> list[str]:
    """The translations from no, one, two … layers of the encoder."""
    return [one.text for one in early_readings_of(situation.key, situation.text)]


def parts_of(situation: Situation) -> tuple[dict[str, float], dict[str, Any]]:
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
    return parts, {"word": word.text, "rival": rivals[rival], "total": found.difference}


@quantity
def added_parts(situation: Situation) -> dict[str, Any]:
    """The word, its rival, by how much it leads, and what each kind of part added to that."""
    parts, words = parts_of(situation)
    return words | {name: round(part, 2) for name, part in (*parts.items(), ("total", words["total"]))}


@quantity
def largest_part(situation: Situation) -> str:
    """The kind of part that added most."""
    parts, _ = parts_of(situation)
    return max(parts, key=parts.__getitem__)


# What attention explains: the share of the source in each written token, and the norms of the values.
@quantity
def from_source(situation: Situation, text: str) -> dict[str, list[Any]]:
    """The written tokens, and the share of the source in each."""
    run = replace(run_of(situation), text=text)
    written = result_of(situation.key, run).written
    return {
        "tokens": [token.text for token in written],
        "shares": analysis_of(influence, situation.key, run).given().tolist(),
    }


@quantity
def end_shares(situation: Situation) -> dict[str, float]:
    """The share of `</s>` in cross-attention: in the weights, and in the weights times the norms of the values."""
    weights = result_of(situation.key, Run(text=situation.text)).maps["cross"]  # (L, H, T, S)
    scaled = weights * analysis_of(value_norms, situation.key, Run(text=situation.text))["cross"][:, :, None]
    return {
        "by_weight": float(weights[..., -1].mean()),
        "by_norm": float((scaled[..., -1] / scaled.sum(axis=-1)).mean()),
    }


# How a model learns and writes.
def result_after(situation: Situation, step: int) -> SnapshotResult:
    """What the snapshot after a step of the training run does with the text."""
    found = snapshot_result_of(situation.key, situation.text, step)
    assert isinstance(found, SnapshotResult), found.message
    return found


quantities(
    first_text=lambda situation: result_after(situation, 0).text,
    first_loss=lambda situation: result_after(situation, 0).loss,
    usual_loss=lambda situation: nats_per_token(situation.usual),
    vocabulary=lambda situation: require_writing(translator(situation.key)).config.target_vocab_size,
    usual_log_prob=lambda situation: situation.usual.log_prob,
    encoder_layers=lambda situation: config_of(situation.key).model.num_encoder_layers,
)


def nats_per_token(translation: Result) -> float:
    return -translation.log_prob / len(translation.written)


@quantity
def learned_after(situation: Situation) -> dict[str, int]:
    """After how many steps a head of the encoder looks at the token before, and one of cross-attention aligns words."""
    results = {step: result_after(situation, step) for step in SNAPSHOTS}
    goal = situation.usual.maps["cross"].mean(axis=(0, 1)).argmax(axis=-1)  # (T,)

    def first(size: Any) -> int:
        """The first snapshot where a size is above the middle between its smallest and its largest value."""
        sizes = {step: float(size(result.maps)) for step, result in results.items()}
        middle = (min(sizes.values()) + max(sizes.values())) / 2
        return next(step for step, one in sizes.items() if one > middle)

    return {
        "align": first(lambda maps: (maps["cross"].argmax(axis=-1) == goal).mean(axis=-1).max()),
        "previous": first(lambda maps: weights_of_previous(maps["encoder"]).max()),
    }


def weights_of_previous(maps: Array) -> Array:
    """The mean weight of each head on the token before, (L, H, T, T) → (L, H)."""
    return np.asarray(np.diagonal(maps, offset=-1, axis1=2, axis2=3).mean(axis=-1))


@quantity
def searched(situation: Situation) -> dict[str, Any]:
    """The translation with the chosen search, its log-probability, and the search."""
    found, search = result_of(situation.key, run_of(situation)), search_of(situation)
    return {
        "text": found.text,
        "log_prob": found.log_prob,
        "method": search.method,
        "temperature": search.temperature,
    }


@quantity
def beam_search(situation: Situation) -> dict[str, Any]:
    """The translation with the chosen beam search, or with the usual one, and its loss for each token."""
    search = search_of(situation) if search_of(situation).method == "beam" else SearchConfig(method="beam")
    found = result_of(situation.key, Run(text=situation.text, search=search))
    return {"text": found.text, "loss": nats_per_token(found)}


@quantity
def sampled(situation: Situation, temperature: float) -> list[str]:
    """The texts of ten seeds at a temperature."""
    searches = (SearchConfig(method="sample", temperature=temperature, seed=seed) for seed in SEEDS)
    return [result_of(situation.key, Run(text=situation.text, search=search)).text for search in searches]


@quantity
def parameters_in(situation: Situation, module: str) -> int:
    """How many parameters the modules have whose name begins so."""
    table = parameter_table(situation.key)
    return int(table.loc[table["module"].str.startswith(module), "parameters"].sum())


@quantity
def seen_by_both(situation: Situation) -> dict[str, Any] | None:
    """What BERT looks at to fill the first gap, and GPT to continue the text before it; None where one of them cannot.

    Returns:
        For `bert_` and `gpt_`: the most probable word, how sure, how many keys have a weight above 0 in some head,
        whether a `later` token is among them, and the head that looks most at the token before, with its mean weight.
    """
    before = situation.text.partition(MASK)[0].strip()
    read = result_of(key_of(BERT), Run(text=situation.text))
    gap = next((place for place, token in enumerate(read.source) if token.candidates), None)
    if gap is None or not before:
        return None
    run = result_of(key_of(GPT), Run(text=before))
    first = run.prompt_length
    return {
        **seen("bert", read.maps["encoder"], gap, read.source[gap].candidates[0]),
        **seen("gpt", run.maps["decoder"], first, run.written[first].candidates[0]),
    }


def seen(name: str, maps: Array, query: int, guess: Candidate) -> Mapping[str, Any]:
    looked_at = np.any(maps[:, :, query] > 0, axis=(0, 1))  # (S,)
    back = weights_of_previous(maps)
    layer, head = np.unravel_index(int(back.argmax()), back.shape)
    found = {"word": guess.token, "sure": guess.probability, "keys": int(looked_at.sum())}
    found |= {"later": bool(looked_at[query + 1 :].any())}
    found |= {"layer": int(layer) + 1, "head": int(head) + 1, "back": float(back.max())}
    return {f"{name}_{part}": value for part, value in found.items()}
