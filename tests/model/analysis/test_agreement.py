"""Every analysis agrees with the model, for every kind of checkpoint that can open it.

A check is a function over an opened case. It holds, or the analysis refuses the checkpoint with the sentence that the
case names. So no analysis can be wrong, and none can fall silent, for one kind of checkpoint alone.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor, nn

from model.analysis.alignment import join_words, link_words
from model.analysis.anatomy import anatomy, derive, value_norms
from model.analysis.contributions import contributions
from model.analysis.followed import Followed
from model.analysis.importance import Examples, loss_changes, make_examples, sentence_losses
from model.analysis.influence import influence
from model.analysis.lens import decoder_lens, logit_lens
from model.analysis.mask_bugs import mask_bug
from model.analysis.padded_batch import layer_stages, padded_batch
from model.analysis.patching import patch_every_head, patch_head
from model.analysis.silencing import silence_each_head
from model.analysis.stations import way_of_token
from model.analysis.streams import stacks_of
from model.analysis.zeroing import value_zeroing
from model.checkpoints.checkpoint import Checkpoint, ClassifierCheckpoint
from model.config.search import SearchConfig
from model.config.section import ConfigError
from model.corpora.aligned import AlignedPair
from model.decoding.search import length_limit
from model.foreign.models import ForeignClassifier
from model.inference.classify import classify
from model.inference.passes import padded_for
from model.inference.run import Result
from model.inference.search_tree import search_tree
from model.inference.translate import forced_ids, search_input, translate, translate_lines
from model.interventions import Head, Intervention
from model.network.classifier import Classifier
from model.network.protocols import HeadMixing, Writes
from model.trace import Edit, IfPresent, Trace, hook_name, tracing
from tests.agreement_cases import CASES, Case
from tests.model.analysis.follow import first_difference, follow

# The library gives this warning for every pre-norm model.
pytestmark = pytest.mark.filterwarnings("ignore:enable_nested_tensor")
ROWS = 1e-5  # what is shown as the model's
SUMS = 1e-4  # parts against the whole: hundreds of sums in single precision
BEAM = SearchConfig(method="beam", beam_size=3)
DRAWN = SearchConfig(method="sample", seed=3)


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A case with its checkpoint, and what all checks ask of it."""

    case: Case
    checkpoint: Checkpoint

    @cached_property
    def followed(self) -> Followed:
        return follow(self.checkpoint, self.case.text)

    @cached_property
    def result(self) -> Result:
        """What the model writes or guesses without a change and without a recording for analyses."""
        return translate(self.checkpoint, self.case.text)

    @property
    def texts(self) -> tuple[str, str]:
        return self.case.short, self.case.text

    def forced(self) -> dict[int, int]:
        """The typed text at the positions where the model writes: after the prompt of a language model."""
        given = search_input(self.checkpoint.model, self.checkpoint.tokenizers, self.case.text).prompt_length
        typed = forced_ids(self.checkpoint.tokenizers, self.case.typed)
        return {given + at: token for at, token in typed.items()}


def one_pass(
    checkpoint: Checkpoint, found: Result, *, record: Sequence[str] = (), edits: Mapping[str, Edit] | None = None
) -> tuple[Tensor, Trace]:
    """Logits (T, V) for the tokens of a translation, without a cache, and the recording; (S, V) for an encoder."""
    model = checkpoint.model
    source, read = ([[token.id for token in row]] for row in (found.source or found.read, found.read))
    with torch.inference_mode(), tracing(record=record, edits=edits) as trace:
        if checkpoint.config.task == "reading":
            logits = model.read(padded_for(model, source))  # type: ignore[operator]
            return logits[0] if logits is not None else torch.zeros(0), trace
        return model(padded_for(model, source), torch.tensor(read))[0], trace


def heads_of(checkpoint: Checkpoint) -> list[Head]:
    """The first head of every layer, where there is one kind; else of a layer of every kind, not always the first."""
    sizes = checkpoint.model.config
    if len(sizes.kinds) == 1:
        return [Head(kind, layer, 0) for kind in sizes.kinds for layer in range(sizes.num_layers(kind))]
    return [Head(kind, at % sizes.num_layers(kind), 0) for at, kind in enumerate(sizes.kinds)]


def hold_sums(sums: NDArray[np.float32], *, sinks: bool) -> None:
    """The weights of a row sum to 1, or to less where a sink has a share."""
    if sinks:
        assert sums.max() < 1 + ROWS
        assert sums.min() < 1 - ROWS
    else:
        np.testing.assert_allclose(sums, 1, atol=ROWS)


def written_maps(opened: Opened) -> None:
    """Maps and probabilities, which a search collects token by token, are those of one pass over the whole text."""
    checkpoint = opened.checkpoint
    for search in (SearchConfig(), BEAM, DRAWN):
        found = translate(checkpoint, opened.case.text, search=search)
        logits, trace = one_pass(checkpoint, found, record=(IfPresent("*.weights"),))
        assert set(found.maps) == set(checkpoint.model.config.kinds)
        for kind, maps in found.maps.items():
            for layer, weights in enumerate(maps):
                name = hook_name(kind, layer, "weights")
                # A recurrent network passes once for each token.
                own = trace.joined(name, [0] * len(trace.passes(name))).numpy()
                np.testing.assert_allclose(weights, own, atol=ROWS)
                hold_sums(weights.sum(axis=-1), sinks=checkpoint.model.scoring(kind, layer).sinks is not None)
        masks = (place for place, token in enumerate(found.source) if token.candidates)
        for place in masks:  # of a reader, which guesses the token there
            own = logits[place].float().softmax(dim=-1)
            for one in found.source[place].candidates:
                assert one.probability == pytest.approx(float(own[one.id]), abs=ROWS)
        if found.written:
            own = logits.float().softmax(dim=-1)[range(len(found.written)), [token.id for token in found.written]]
            chosen = slice(int(found.first_token_fixed), None)  # a language that is asked for costs nothing
            probabilities = [token.probability for token in found.written]
            np.testing.assert_allclose(probabilities[chosen], own.numpy()[chosen], atol=ROWS)


def typed_text(opened: Opened) -> None:
    """A typed translation is written to its end with every search, although the search would stop earlier."""
    checkpoint, case = opened.checkpoint, opened.case
    if not isinstance(checkpoint.model, Writes):  # what is typed changes nothing
        found = translate(checkpoint, case.text, forced=forced_ids(checkpoint.tokenizers, case.typed))
        assert found.written == ()
        assert found.text == opened.result.text != ""
        return
    start, forced = search_input(checkpoint.model, checkpoint.tokenizers, case.text), opened.forced()
    usual = start.limit or length_limit(len(start.sources[0]), checkpoint.model.config.max_length)
    assert max(forced) >= usual, "the case proves something"
    for search in (SearchConfig(), BEAM, DRAWN):
        found = translate(checkpoint, case.text, forced=forced, search=search)
        assert [token.id for token in found.written[found.prompt_length :]] == list(forced.values())
        assert found.finished
        length = found.prompt_length + len(forced)
        assert all(len(maps[0, 0]) == length for kind, maps in found.maps.items() if kind != "encoder")


def typed_alignment(opened: Opened) -> None:
    """Each typed word points at one word of the source, for every head."""
    case = opened.case
    words, target = tuple(case.text.split()), tuple(case.typed.split())
    assert join_words(target) == case.typed
    pair = AlignedPair(source=words, target=target, sure=frozenset(), possible=frozenset())
    for links in link_words(opened.checkpoint, pair).values():
        assert sorted(at for _, at in links) == list(range(len(target)))
        assert all(0 <= of < len(words) for of, _ in links)


def no_future(opened: Opened) -> None:
    """In the bug lab a correct model sees no future, no padding, and writes what it writes elsewhere."""
    report = mask_bug(opened.checkpoint, opened.texts)
    assert (report.effect_of_future is None) == (opened.checkpoint.config.task == "reading")
    assert report.effect_of_future is None or report.effect_of_future.max() < SUMS
    assert report.effect_of_batch.max() < SUMS
    for kind in opened.checkpoint.model.config.kinds:
        assert report.leaked[kind].max() == 0
        hold_sums(report.row_sums[kind], sinks=opened.checkpoint.model.scoring(kind, 0).sinks is not None)
    if opened.checkpoint.config.task == "translation":
        assert report.texts == tuple(translate(opened.checkpoint, text).text for text in opened.texts)


def padding(opened: Opened) -> None:
    """A padded sentence in a batch has the same weights as alone."""
    checkpoint = opened.checkpoint
    batch = padded_batch(checkpoint, opened.texts)
    for row, text in enumerate(opened.texts):
        found = opened.result if text == opened.case.text else translate(checkpoint, text)
        for head in heads_of(checkpoint):
            stages = layer_stages(checkpoint, batch, head.kind, head.layer)
            own = found.maps[head.kind][head.layer]  # (H, T, S)
            whole = stages["weights"][row]
            if checkpoint.config.task == "continuation":  # of the text, without its continuation
                length = found.prompt_length + 1
                own = own[:, :length, :length]
            np.testing.assert_allclose(whole[:, : own.shape[1], : own.shape[2]], own, atol=ROWS)
            np.testing.assert_allclose(whole[:, : own.shape[1], own.shape[2] :], 0, atol=ROWS)


def one_head(opened: Opened) -> None:
    """The steps of a head end with the weights, the head's output and the layer's output that the model had."""
    text = opened.followed
    for head in heads_of(opened.checkpoint):
        parts = anatomy(text, head.kind, head.layer)
        for which in range(len(parts.weights)):
            for query in {0, parts.weights.shape[1] - 1}:
                assert max(derive(parts, which, query).differences.values()) < SUMS


def lengths_of_values(opened: Opened) -> None:
    """A weight times the norm of its value is the norm of the layer's output when all else is silenced."""
    checkpoint = opened.checkpoint
    text = opened.followed
    found, norms = text.result, value_norms(text)
    for head in heads_of(checkpoint):
        weights = found.maps[head.kind][head.layer]
        query = weights.shape[1] - 1
        key = int(weights[0, query].argmax())

        def alone(passing: Tensor, key: int = key) -> Tensor:
            kept = torch.zeros_like(passing)
            kept[:, 0, :, key] = passing[:, 0, :, key]
            return kept

        name = hook_name(head.kind, head.layer, "weights")
        output = hook_name(head.kind, head.layer, "output")
        # What is edited moves every later layer; this layer's own input stays what it was.
        _, trace = one_pass(checkpoint, found, record=(output,), edits={name: alone})
        wrote = trace.passes(output)[0][0, query] - checkpoint.model.mixing(head.kind, head.layer).bias
        expected = weights[0, query, key] * norms[head.kind][head.layer, 0, key]
        assert float(wrote.norm()) == pytest.approx(float(expected), abs=SUMS)


def layers(opened: Opened) -> None:
    """The last row of the logit lens contains the predicted tokens."""
    found, lens = opened.followed.result, logit_lens(opened.followed)
    predicted = [token for token in found.written or found.source if token.candidates]
    chosen = slice(int(found.first_token_fixed), None)
    assert lens.difference < ROWS
    np.testing.assert_allclose(lens.own[-1][chosen], [token.probability for token in predicted][chosen], atol=ROWS)
    best = [token.candidates[0] for token in predicted]
    np.testing.assert_allclose(lens.probabilities[-1], [one.probability for one in best], atol=ROWS)


def encoder_layers(opened: Opened) -> None:
    """After all layers of the encoder, the early translation is the translation itself."""
    readings = decoder_lens(opened.checkpoint, opened.case.text)
    assert len(readings) == opened.checkpoint.model.config.num_encoder_layers + 1
    assert readings[-1].text == opened.result.text


def contributed(opened: Opened) -> None:
    """The parts add up to the difference of two logits, which is that of the probabilities shown."""
    text = opened.followed
    translation = text.result
    tokens = translation.written or translation.source
    places = [place for place, token in enumerate(tokens) if token.candidates]
    for place in {places[0], places[len(places) // 2], places[-1]}:
        candidates = tokens[place].candidates
        for rival in candidates[1:4]:
            parts = contributions(text, place, rival.id)
            assert parts.total == pytest.approx(parts.difference, abs=SUMS * max(1, parts.size))
            assert parts.difference == pytest.approx(np.log(tokens[place].probability / rival.probability), abs=SUMS)


def influenced(opened: Opened) -> None:
    """The vectors of every layer add up to what it wrote; the shares of a word add up to 1; none is of the future."""
    found = influence(opened.followed)
    assert found.residual < SUMS
    np.testing.assert_allclose(found.source.sum(axis=1) + found.target.sum(axis=1), 1, atol=ROWS)
    np.testing.assert_array_equal(np.triu(found.target, 1), 0)
    assert min(found.source.min(initial=0), found.target.min(initial=0)) >= 0


def zeroed(opened: Opened) -> None:
    """With nothing zeroed a layer writes what it wrote; what comes later moves nothing."""
    found = value_zeroing(opened.followed)
    assert found.residual < SUMS
    np.testing.assert_allclose(np.triu(found.target, 1), 0, atol=ROWS)
    assert max(found.source.max(initial=0), found.target.max(initial=0)) > SUMS


def station_by_station(opened: Opened) -> None:
    """Every station is the model's, and the way ends with the model's probabilities."""
    found = opened.result
    for stack in stacks_of(opened.checkpoint.model):
        tokens = found.source if stack.name == "encoder" else found.read
        for layer in range(len(stack.streams) - 1):
            for place in {0, len(tokens) - 1}:
                passed, end = way_of_token(opened.followed, stack.name, layer, place)
                for station in passed:
                    assert station.difference < SUMS * max(1, np.abs(station.vector).max()), station.name
                if end is None:
                    continue
                shown = {name: chance for name, _, chance in end.words}
                for one in (found.written or found.source)[place].candidates:
                    assert shown[one.token] == pytest.approx(one.probability, abs=ROWS)
                assert end.difference < ROWS


def pasted(opened: Opened) -> None:
    """A head patched with its own output changes nothing; a donor sentence is measured for every layer."""
    checkpoint, text, own = opened.checkpoint, opened.case.text, opened.result
    for head in heads_of(checkpoint):
        found = patch_head(checkpoint, text, text, head)
        assert found.text == own.text
        np.testing.assert_allclose(found.maps[head.kind], own.maps[head.kind], atol=ROWS)
    assert patch_every_head(checkpoint, text, text) is None


def silenced(opened: Opened) -> None:
    """A head that is silenced has no weight left, and what is written is less or more likely without it."""
    checkpoint, text, own = opened.checkpoint, opened.case.text, opened.result
    for head in heads_of(checkpoint):
        found = translate(checkpoint, text, edits=Intervention(ablated=frozenset({head})).edits())
        assert found.maps[head.kind][head.layer, head.head].max() == 0
        if own.written:
            assert found.written[-1].probability != own.written[-1].probability
        else:
            guesses = [[one.probability for token in read.source for one in token.candidates] for read in (found, own)]
            assert guesses[0] != guesses[1]


def losses(opened: Opened) -> None:
    """The loss of a translation follows from the probabilities of its words, with and without a head."""
    checkpoint, text, own = opened.checkpoint, opened.case.text, opened.result
    examples = make_examples(checkpoint, [(text, "")])
    if checkpoint.config.task == "continuation":
        losses_of_prompt(checkpoint, own, examples)
        return
    chosen = own.written[own.first_token_fixed :]
    with torch.inference_mode():
        before = float(sentence_losses(checkpoint.model, examples)[0])
    if not own.first_token_fixed:
        assert before == pytest.approx(-own.log_prob / len(chosen), abs=SUMS)
    read = tuple(token.id for token in own.written)
    for head, change in loss_changes(checkpoint.model, [examples]):
        edits = Intervention(ablated=frozenset({head})).edits()
        logits, _ = one_pass(checkpoint, own, edits=edits)
        expected = float(F.cross_entropy(logits, torch.tensor(read))) - before
        assert float(change[0]) == pytest.approx(expected, abs=SUMS)


def losses_of_prompt(checkpoint: Checkpoint, own: Result, examples: Examples) -> None:
    """The loss of a text follows from one pass over it, with and without a head."""
    length = own.prompt_length
    read = torch.tensor([token.id for token in own.written[:length]])
    for head, change in loss_changes(checkpoint.model, [examples]):
        runs = [
            one_pass(checkpoint, own, edits=edits.edits())[0][:length]
            for edits in (Intervention(), Intervention(ablated=frozenset({head})))
        ]
        before, after = (float(F.cross_entropy(logits, read)) for logits in runs)
        assert float(change[0]) == pytest.approx(after - before, abs=SUMS)


def searched(opened: Opened) -> None:
    """The tree of a beam search ends with the translation of the search."""
    checkpoint, text = opened.checkpoint, opened.case.text
    found, tree = translate(checkpoint, text, search=BEAM), search_tree(checkpoint, text, search=BEAM)
    assert tree.text == found.text
    last = max(i for i, node in enumerate(tree.nodes) if node.best)
    assert list(tree.path(last)) == [token.id for token in found.written[found.prompt_length :]]


def together(opened: Opened) -> None:
    """A line has the same translation in a batch and alone."""
    lines = [*opened.texts, ""]
    alone = [translate(opened.checkpoint, line).text for line in opened.texts]
    assert translate_lines(opened.checkpoint.model, opened.checkpoint.tokenizers, lines) == [*alone, ""]


def effects(opened: Opened) -> None:
    """The result for each head agrees with a run that silences only this head."""
    checkpoint, text = opened.checkpoint, opened.case.text
    before, found = opened.followed.result, silence_each_head(opened.followed)
    forced = {at: token.id for at, token in enumerate(before.written)}
    for head in heads_of(checkpoint):
        edits = Intervention(ablated=frozenset({head}))
        after = translate(checkpoint, text, forced=forced, edits=edits.edits())
        change = found.changes[head.kind][head.layer, head.head]
        if not before.written:  # of a reader: its guesses
            places = [at for at, token in enumerate(before.source) if token.candidates]
            guesses = [before.source[at].candidates[0].id for at in places]
            runs = [one_pass(checkpoint, before, edits=one.edits())[0] for one in (Intervention(), edits)]
            old, new = (logits.float().log_softmax(dim=-1)[places, guesses].sum() for logits in runs)
            assert float(change) == pytest.approx(float(new - old), abs=SUMS)
            continue
        np.testing.assert_allclose(change, after.log_prob - before.log_prob, atol=SUMS)
        place = first_difference(before, translate(checkpoint, text, edits=edits.edits()))
        assert found.positions[head.kind][head.layer, head.head] == (-1 if place is None else place)


CHECKS: Mapping[str, Callable[[Opened], None]] = {
    "written_maps": written_maps,
    "typed_text": typed_text,
    "typed_alignment": typed_alignment,
    "no_future": no_future,
    "padding": padding,
    "one_head": one_head,
    "lengths_of_values": lengths_of_values,
    "layers": layers,
    "encoder_layers": encoder_layers,
    "contributions": contributed,
    "influence": influenced,
    "value_zeroing": zeroed,
    "stations": station_by_station,
    "pasting": pasted,
    "silencing": silenced,
    "effects": effects,
    "importance": losses,
    "search_tree": searched,
    "lines": together,
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Opened]:
    """Opens a case at its first use."""

    @cache
    def once(name: str) -> Opened:
        folder = tmp_path_factory.mktemp("agreement") / "case"
        return Opened(case=CASES[name], checkpoint=CASES[name].open(folder))

    return once


NOT_CLASSIFIERS = [name for name, case in CASES.items() if case.task != "classification"]
CLASSIFIERS = [name for name, case in CASES.items() if case.task == "classification"]
Open = Callable[[str], Opened]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("name", NOT_CLASSIFIERS)
def test_an_analysis_agrees_with_the_model_or_is_refused_with_a_reason(opened: Open, name: str, check: str) -> None:
    refuses = CASES[name].refuses
    if check not in refuses:
        CHECKS[check](opened(name))
        return
    with pytest.raises(ConfigError, match=re.escape(refuses[check])) as refusal:
        CHECKS[check](opened(name))
    assert str(refusal.value).endswith(".")


@pytest.mark.parametrize("name", CLASSIFIERS)
@torch.inference_mode()
def test_what_a_classifier_shows_is_what_it_computes(opened: Open, name: str) -> None:
    case, checkpoint = CASES[name], opened(name).checkpoint
    model = checkpoint.model
    assert isinstance(checkpoint, ClassifierCheckpoint)
    texts, room = (case.short, case.text), model.config.max_length
    ids = [checkpoint.tokenizers.source_ids(text, room)[0] for text in texts]
    in_batch = model(padded_for(model, ids)).softmax(dim=-1)
    for row, text in enumerate(texts):
        found = classify(checkpoint, text)
        with tracing() as trace:
            logits = model(padded_for(model, [ids[row]]))[0]
        # Alone and in a batch, where the short text has padding, a text gets the same classes.
        np.testing.assert_allclose(list(found.probabilities.values()), logits.softmax(dim=-1), atol=ROWS)
        np.testing.assert_allclose(list(found.probabilities.values()), in_batch[row], atol=ROWS)
        for layer, maps in enumerate(found.encoder):
            own = written_by_hand(mixing_of(model, layer), trace, f"encoder.layers.{layer}.self_attention", maps)
            hold_sums(maps.sum(axis=-1), sinks=model.scoring("encoder", layer).sinks is not None)
            np.testing.assert_allclose(own, trace.passes(hook_name("encoder", layer, "output"))[0][0], atol=SUMS)
        if not isinstance(model, Classifier):  # of the library, which has its own code for pooling
            first = np.eye(1, len(ids[row]))
            assert (found.pooling is None) if model.config.pooling == "mean" else (found.pooling == first).all()
        elif found.pooling is None:
            mean = model.encoder(padded_for(model, [ids[row]]), mask=torch.ones(1, 1, 1, len(ids[row])).bool()).mean(1)
            np.testing.assert_allclose(trace.passes("pooled")[0], mean, atol=SUMS)
        else:
            pooled = projected(model.pooling.attention.output_projection)
            own = written_by_hand(pooled, trace, "pooling.attention", found.pooling[:, None])
            np.testing.assert_allclose(own, trace.passes("pooled")[0], atol=SUMS)


def projected(projection: nn.Linear) -> HeadMixing:
    return HeadMixing(matrix=projection.weight.detach().T, bias=projection.bias.detach())


def mixing_of(model: nn.Module, layer: int) -> HeadMixing:
    """How a layer of a classifier mixes its heads."""
    if isinstance(model, Classifier):
        return projected(model.encoder.layers[layer].self_attention.output_projection)
    assert isinstance(model, ForeignClassifier)
    return model.mixing("encoder", layer)


def written_by_hand(mixing: HeadMixing, trace: Trace, name: str, maps: NDArray[np.float32]) -> NDArray[np.float64]:
    """What an attention writes (T, D): weights (H, T, S) times values, mixed by the output projection."""
    values = trace.passes(f"{name}.values")[0][0].double().numpy()  # (H, S, K)
    heads = np.concatenate(list(maps @ values), axis=-1)  # (T, H·K)
    return np.asarray(heads @ mixing.matrix.double().numpy() + mixing.bias.double().numpy())


@pytest.mark.parametrize("name", [name for name in NOT_CLASSIFIERS if CASES[name].task != "reading"])
def test_a_text_longer_than_the_positions_is_cut_there(opened: Open, name: str) -> None:
    checkpoint = opened(name).checkpoint
    room = checkpoint.model.config.max_length
    typed = f"{CASES[name].typed} " * (room // len(CASES[name].typed.split()) + 1)
    given = search_input(checkpoint.model, checkpoint.tokenizers, CASES[name].text).prompt_length
    forced = {given + at: token for at, token in forced_ids(checkpoint.tokenizers, typed).items()}
    found = translate(checkpoint, CASES[name].text, forced=forced)
    assert [token.id for token in found.written[given:]] == list(forced.values())[: room - given]
    assert not found.finished


@pytest.mark.parametrize("name", NOT_CLASSIFIERS)
def test_a_case_refuses_only_checks_that_exist(name: str) -> None:
    assert set(CASES[name].refuses) <= set(CHECKS)
