"""Grades of our analyses on models whose truth is known. `docs/truth.md` says what a grade is.

Each analysis is the function that the pages use. It gets the texts of a truth's examples and their donors.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

import numpy as np
import torch

from model.analysis.alignment import WHEN, Pointer, link_words
from model.analysis.anatomy import value_norms
from model.analysis.contributions import contributions
from model.analysis.deletion import delete_each_word
from model.analysis.followed import Followed, follow
from model.analysis.importance import gradient_importance, importance_of_each_head
from model.analysis.influence import influence
from model.analysis.lens import logit_lens
from model.analysis.patching import patch_every_head
from model.analysis.silencing import Measured, decisive_heads, silence_rows
from model.analysis.statistics import mean_over_queries, metrics_of_run, rollout, suggested_role, translation_rollout
from model.analysis.zeroing import value_zeroing
from model.corpora.aligned import AlignedPair, error_rate
from model.inference.passes import batch_logits, pad_ids
from model.inference.run import Outcome, Run
from model.interventions import Head, Intervention
from model.text.vocab import SPECIAL_TOKENS
from model.trace import tracing
from tools.planted.edge_grades import circuit_edges, edge_scores
from tools.planted.parts import Plan
from tools.planted.subject import Array, Subject, auroc, word_places, words_of
from tools.planted.truth import keys_of, name_of

__all__ = ["ANALYSES", "FINDS", "grades_of"]

FINDS = 0.95  # an analysis finds a model if its grade is not below
SEEN = 0.05  # of the largest score: a smaller difference is not seen in a picture
ROLES = {"previous": "previous", "length": "end"}  # declared role → what the page suggests; nothing for the others
Grids = Mapping[str, Array]  # kind → (L, H)
Scores = Callable[["Subject"], Grids]


def grades_of(subject: Subject) -> dict[str, float]:
    """Analysis → its grade, 0 to 1, rounded; without analyses that the model does not have."""
    found = ((name, grade(subject)) for name, grade in ANALYSES.items())
    return {name: round(grade, 2) for name, grade in found if grade is not None}


# Scores of heads.


def of_heads(scores: Scores, whole: Callable[[Subject], float] = lambda subject: 0.0) -> Callable[[Subject], float]:
    """The grade of scores of heads.

    Args:
        scores: Of all heads.
        whole: What a score would be at least if a head did all; by default the largest score.
    """

    def grade(subject: Subject) -> float:
        grids = scores(subject)
        found = np.array([grids[head.kind][head.layer, head.head] for head in subject.heads])
        matter = np.array([head in subject.matter for head in subject.heads])
        return auroc(found, matter, least=SEEN * max(found.max(), whole(subject)))

    return grade


def mean_of(grids: Iterable[Grids]) -> Grids:
    found = list(grids)
    return {kind: np.mean([one[kind] for one in found], axis=0) for kind in found[0]}


def sizes(grids: Grids) -> Grids:
    """The mean over the texts of the size of a change, (N, L, H) → (L, H)."""
    return {kind: np.abs(grid).mean(axis=0) for kind, grid in grids.items()}


def largest(maps: Grids) -> Grids:
    """The mean over the queries of the largest weight. The first query of a decoder has only one key."""
    return {kind: one[:, :, int(kind == "decoder") :].max(axis=-1).mean(axis=-1) for kind, one in maps.items()}


def times_norms(run: Followed) -> Grids:
    norms = value_norms(run)
    return {kind: maps * norms[kind][:, :, None] for kind, maps in run.maps.items()}


def nats_of_cuts(subject: Subject) -> float:
    """How much the outcomes change without a smallest set of heads, in nats per outcome; of the set with most."""

    def change(run: Followed) -> Array:
        measured = Measured(run)
        with tracing(record=(), edits=silence_rows([(), *subject.truth.cuts])):
            before, *after = measured.measure(1 + len(subject.truth.cuts), encode=True)[0].tolist()
        return np.abs(np.array(after) - before) / len(measured.places)

    return float(np.mean([change(run) for run in subject.runs], axis=0).max())


def direct_effects(subject: Subject) -> Grids:
    def effects(run: Followed, outcome: Outcome) -> Grids:
        rivals = [one for one in outcome.candidates if one.id != outcome.id]
        rival = max(rivals, key=lambda one: one.probability)
        found = contributions(run, outcome.position or 0, rival.id).heads
        return {kind: np.abs(found.get(kind, np.zeros(maps.shape[:2]))) for kind, maps in run.maps.items()}

    return mean_of(effects(run, one) for run in subject.runs for one in subject.outcomes(run))


def patched(subject: Subject) -> Grids:
    pairs = ((donor.run.text, run.run.text) for donor, run in subject.both_ways)
    found = (patch_every_head(subject.checkpoint, *pair) for pair in pairs)
    return mean_of({kind: np.abs(grid) for kind, grid in one.heads.items()} for one in found if one)


# Scores of words.


def of_words(rows: Callable[[Followed], Array], *tasks: str) -> Callable[[Subject], float | None]:
    """The grade of scores of words, as a mean over the outcomes.

    Args:
        rows: A run → the scores of its tokens at each position, (T, S), or for the label, (1, S).
        tasks: Of the models that have the analysis; none: all.
    """

    def grade(subject: Subject) -> float | None:
        if tasks and subject.plan.task not in tasks:
            return None
        found = []
        for run in subject.runs:
            scores, places = rows(run), word_places(run)
            for outcome, matter in zip(subject.outcomes(run), words_that_matter(subject, run), strict=True):
                if 0 < matter.sum() < len(matter):
                    row = scores[outcome.position or 0, places]
                    found.append(auroc(row, matter, least=SEEN * row.max()))
        return float(np.mean(found))

    return grade


@torch.inference_mode()
def words_that_matter(subject: Subject, run: Followed) -> Array:
    """Whether most other words in a place change an outcome, (outcomes, words). Each word is tried."""
    model, outcomes, places = subject.checkpoint.model, subject.outcomes(run), word_places(run)
    source, read = (list(run.ids(stack)) for stack in ("encoder", "decoder"))
    read = read[: run.result.prompt_length + 1] if subject.plan.task == "continuation" else read
    own = source or read
    ids = range(len(SPECIAL_TOKENS), len(SPECIAL_TOKENS) + len(subject.plan.words))
    rows = [[*own[:place], other, *own[place + 1 :]] for place in places for other in ids if other != own[place]]
    others = [read if source else []] * len(rows)
    logits = batch_logits(model, pad_ids(model, *((rows, others) if source else (others, rows))))
    assert logits is not None
    chosen = logits[:, [one.position or 0 for one in outcomes]].argmax(dim=-1).numpy()
    changed = chosen != np.array([one.id for one in outcomes])
    return changed.reshape(len(places), -1, len(outcomes)).mean(axis=1).T > 0.5


def rolled_out(run: Followed) -> Array:
    maps = run.maps
    if "cross" in maps:
        return translation_rollout(maps["encoder"], maps["decoder"], maps["cross"])[1][-1]
    return rollout(maps["decoder"])[-1] if "decoder" in maps else rollout(maps["encoder"])[-1].mean(axis=0)[None]


def influences(run: Followed) -> Array:
    found = influence(run)
    if found.pooled is not None:
        return found.pooled[None]
    return found.source if found.source.size else found.target


def zeroed(run: Followed) -> Array:
    found = value_zeroing(run)
    return (found.source if found.source.size else found.target).sum(axis=0)


def deleted(run: Followed) -> Array:
    scores = np.zeros((1, len(run.result.source)))
    found = delete_each_word(run.checkpoint, str(run.run.text))  # type: ignore[arg-type]
    scores[0, word_places(run)] = [-one.change for one in found]
    return scores


# Shares of right answers.


def smallest_sets(subject: Subject) -> float:
    """How often the found heads are one of the smallest sets; or none, where no such set changes the text."""
    cuts = set(map(frozenset, subject.truth.cuts))

    def changes(run: Followed, cut: frozenset[Head]) -> bool:
        changed = Run(text=run.run.text, changes=Intervention(ablated=cut))
        return follow(subject.checkpoint, changed).result.text != run.result.text

    def right(run: Followed) -> bool:
        found = decisive_heads(run)
        return found in cuts or not (found or any(changes(run, cut) for cut in cuts))

    return float(np.mean([right(run) for run in subject.runs]))


def named_roles(subject: Subject) -> float:
    """How often the suggested role of a head made on purpose is its role; no role where the page has no name for it."""
    each = [metrics_of_run(run) for run in subject.runs]
    means = {kind: mean_over_queries([one[kind] for one in each]) for kind in each[0]}

    def right(head: Head, role: str) -> bool:
        found = {name: float(grid[head.layer, head.head]) for name, grid in means[head.kind].items()}
        return suggested_role(found) == ROLES.get(role, "")

    return float(np.mean([right(one.head, one.role) for one in subject.truth.heads]))


def pointing_heads(subject: Subject) -> float | None:
    """The grade of the heads of cross-attention by their alignment; links are those of the head that translates."""
    if subject.plan.task != "translation":
        return None
    place = next(one.head for one in subject.truth.heads if one.head.kind == "cross")
    pairs = [aligned(subject.plan, place, words_of(run)) for run in subject.runs]
    links = [link_words(subject.checkpoint, pair) for pair in pairs]  # type: ignore[arg-type]
    heads = [head for head in subject.heads if head.kind == "cross"]

    def score(head: Head) -> float:
        pointers = [Pointer("head", when, head.layer, head.head) for when in WHEN]
        return 1 - min(error_rate([each[one] for each in links], pairs) for one in pointers)

    return auroc(np.array(list(map(score, heads))), np.array([head in subject.matter for head in heads]), least=SEEN)


def aligned(plan: Plan, place: Head, words: list[str]) -> AlignedPair:
    target = plan.answer(words)
    links = frozenset((key, t) for t, keys in enumerate(keys_of(plan, place, words)[: len(target)]) for key in keys)
    return AlignedPair(source=tuple(words), target=tuple(target), sure=links, possible=links)


def named_layers(subject: Subject) -> float:
    """How often the lens names an outcome from the layer on that writes it. Only outcomes that heads decide count."""
    resting = {name_of(one.head) for one in subject.truth.heads if one.role == "backup"}
    writers = {edge.sender for edge in subject.truth.edges if edge.receiver == "output"} - resting
    layers = (name.split(".")[1] for name in writers)
    writes = 1 + max(int(layer) for layer in layers if layer.isdigit())
    found = []
    for run in subject.runs:
        for outcome in decided(subject, run):
            lens = logit_lens(run, None if outcome.position is None else [outcome.position])
            rows = zip(lens.tokens, lens.probabilities, strict=True)
            named = [
                token[0] == outcome.text and share[0] > 0.5 for token, share in rows
            ]  # not one of two equal labels
            found.append(all(named[writes:]) and not named[writes - 1])
    return float(np.mean(found))


def decided(subject: Subject, run: Followed) -> Iterator[Outcome]:
    """The outcomes that are other ones without the heads made on purpose."""
    silenced = Intervention(ablated=frozenset(one.head for one in subject.truth.heads))
    forced = tuple(run.result.as_forced.items())
    without = follow(subject.checkpoint, Run(text=run.run.text, forced=forced, changes=silenced)).result
    for outcome in subject.outcomes(run):
        changed = without.outcome_at(outcome.position or 0)
        if max(changed.candidates, key=lambda one: one.probability).id != outcome.id:
            yield outcome


def circuit_heads(subject: Subject) -> Grids:
    """The largest score of the edges that a head sends."""
    grids = {kind: np.zeros(maps.shape[:2]) for kind, maps in subject.runs[0].maps.items()}
    names, scores = edge_scores(subject)
    for head in subject.heads:
        own = [score for (sender, *_), score in zip(names, scores, strict=True) if sender == name_of(head)]
        grids[head.kind][head.layer, head.head] = max(own)
    return grids


ANALYSES: Mapping[str, Callable[[Subject], float | None]] = {
    "weights": of_heads(lambda subject: mean_of(largest(run.maps) for run in subject.runs)),
    "value-norms": of_heads(lambda subject: mean_of(largest(times_norms(run)) for run in subject.runs)),
    "gradient": of_heads(lambda subject: sizes(gradient_importance(subject.checkpoint, subject.pairs)), nats_of_cuts),
    "importance": of_heads(
        lambda subject: sizes(importance_of_each_head(subject.checkpoint, subject.pairs)), nats_of_cuts
    ),
    "search": smallest_sets,
    "patching": of_heads(patched, lambda subject: 1.0),
    "contributions": of_heads(direct_effects),
    "circuit-heads": of_heads(circuit_heads),
    "circuit-edges": circuit_edges,
    "rollout": of_words(rolled_out),
    "influence": of_words(influences),
    "value-zeroing": of_words(zeroed, "translation", "continuation"),
    "deletion": of_words(deleted, "classification"),
    "roles": named_roles,
    "alignment": pointing_heads,
    "lens": named_layers,
}
