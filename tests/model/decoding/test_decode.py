from typing import Any

import pytest
import torch
from torch import Tensor

from model.config.search import SearchConfig
from model.decoding.beam import beam
from model.decoding.sampling import filter_log_probs, sample
from model.decoding.search import DecoderState, Hypothesis, SearchInput, finish, greedy, length_limit
from model.inference.translate import start_search
from model.network.cache import DecoderCache
from model.network.transformer import Transformer
from model.text.vocab import Specials
from model.trace import tracing
from tests.conftest import make_model

SPECIALS = Specials(bos=2, eos=3, banned=(0, 1, 2))


def given(source: Tensor, **rest: Any) -> SearchInput:
    return SearchInput(sources=source.tolist(), **({"specials": SPECIALS} | rest))


def beams(size: int, **settings: Any) -> SearchConfig:
    return SearchConfig(method="beam", beam_size=size, **settings)


def drawn(**settings: Any) -> SearchConfig:
    return SearchConfig(method="sample", **settings)


def test_cached_decode_equals_full_recomputation_in_every_logit_and_map(
    model: Transformer, source: Tensor, target: Tensor
) -> None:
    target = target.clamp_min(4)  # decoding never meets padding
    with torch.inference_mode(), tracing() as full:
        expected = model(source, target)
    with torch.inference_mode(), tracing() as stepped:
        memory, mask = model.encode(source)
        cache = DecoderCache(model.config.num_decoder_layers)
        for t in range(target.size(1)):
            model.decode(target[:, t : t + 1], memory, mask, cache=cache)
    for row in range(3):
        torch.testing.assert_close(stepped.joined("logits", [row] * 6), expected[row], atol=1e-5, rtol=0)
        for name in full.names:
            if name.rpartition(".")[2] in ("weights", "masked_scores", "queries", "keys", "values"):
                joined = stepped.joined(name, [row] * 6)
                torch.testing.assert_close(joined, full.passes(name)[0][row], atol=1e-5, rtol=0)


@torch.inference_mode()
def test_a_cache_forgets_tokens_and_reads_several_others_in_one_pass(
    model: Transformer, source: Tensor, target: Tensor
) -> None:
    target = target.clamp_min(4)
    memory, mask = model.encode(source)
    cache = model.start_cache()
    with tracing(record=["*.keys", "*.values"]) as trace:
        model.decode(target.flip(1), memory, mask, cache=cache)
    before = {name: trace.passes(name)[0].clone() for name in trace.names}
    cache.cut(0)
    model.decode(target[:, :4], memory, mask, cache=cache)
    cache.cut(2)
    logits = model.decode(target[:, 2:], memory, mask, cache=cache)
    torch.testing.assert_close(logits, model(source, target)[:, 2:], atol=1e-5, rtol=0)
    for name, tensor in before.items():  # what was recorded stays
        assert torch.equal(trace.passes(name)[0], tensor)


def test_a_prefix_is_copied_only_until_it_is_used(source: Tensor) -> None:
    with torch.inference_mode():
        decoding = DecoderState(make_model(), given(source[:1].expand(2, -1), forced={0: 7, 1: 9}))
        read = decoding.ahead
        decoding.advance([2, 2])
        decoding.select([1, 1])
        assert torch.equal(decoding.ahead, read[[1, 1]])
        decoding.advance([7, 7])
        last = decoding.ahead
        decoding.select([1, 1])
        assert decoding.ahead is last


def test_rows_read_their_own_source_however_many_share_it(source: Tensor) -> None:
    model = make_model()
    passes = [([2, 2, 2], [0, 0, 1, 1, 2, 2]), ([4, 5, 6, 7, 8, 9], [0, 1, 1, 4]), ([5, 6, 7, 8], [1, 0, 3])]
    with torch.inference_mode():
        together = DecoderState(model, given(source))
        texts, sources = [[], [], []], [0, 1, 2]
        for tokens, rows in passes:
            found, _ = together.advance(tokens)
            texts = [[*text, token] for text, token in zip(texts, tokens, strict=True)]
            for scores, text, own in zip(found, texts, sources, strict=True):
                alone = DecoderState(model, given(source[own : own + 1]))
                expected = [alone.advance([token])[0] for token in text][-1][0]
                torch.testing.assert_close(scores, expected, atol=1e-5, rtol=0)
            together.select(rows)
            texts, sources = ([kept[row] for row in rows] for kept in (texts, sources))


@pytest.mark.parametrize("search", [SearchConfig(), beams(3), drawn(seed=5)])
@pytest.mark.parametrize("forced", [{0: 7, 1: 9, 2: 3, 3: 11}, {0: 7, 1: 9, 4: 12}])
def test_a_forced_prefix_is_read_in_one_pass_with_the_same_result(
    search: SearchConfig, forced: dict[int, int], source: Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = make_model()
    with tracing(record=["logits"]) as at_once:
        steps, ahead = finish(start_search(model, given(source, forced=forced), search))
    monkeypatch.setattr(Transformer, "reads_ahead", False)
    with tracing(record=["logits"]) as one_by_one:
        expected_steps, expected = finish(start_search(model, given(source, forced=forced), search))
    saved = len(one_by_one.passes("logits")) - len(at_once.passes("logits"))
    assert saved == (3 if 3 in forced else 1)  # the first pass has one query for each token of the beginning
    assert [h.ids for h in ahead] == [h.ids for h in expected]
    for step, wanted in zip(steps, expected_steps, strict=True):
        torch.testing.assert_close(step.distribution, wanted.distribution, atol=1e-5, rtol=0)


def test_scores_of_later_keys_are_nan(model: Transformer, source: Tensor) -> None:
    with tracing(record=["*.scores"]) as trace:
        finish(greedy(model, given(source[:1])))
    name = "decoder.layers.0.self_attention.scores"
    scores = trace.joined(name, [0] * len(trace.passes(name)))  # (H, T, T)
    length = scores.size(-1)
    assert torch.equal(scores[0].isnan(), torch.ones(length, length, dtype=torch.bool).triu(1))


def test_beam_of_one_equals_greedy(model: Transformer, source: Tensor) -> None:
    _, greedy_found = finish(greedy(model, given(source)))
    _, beam_found = finish(beam(model, given(source), beams(1)))
    assert [h.ids for h in beam_found] == [h.ids for h in greedy_found]
    for a, b in zip(beam_found, greedy_found, strict=True):
        assert a.log_probs == pytest.approx(b.log_probs, abs=1e-5)


def test_a_batch_is_decoded_like_its_sentences_alone(model: Transformer, source: Tensor) -> None:
    for size in (1, 4):
        _, together = finish(beam(model, given(source), beams(size)))
        for row, length in enumerate((7, 4, 5)):
            _, alone = finish(beam(model, given(source[row : row + 1, :length]), beams(size)))
            assert alone[0].ids == together[row].ids


def test_beam_log_probabilities_are_those_of_a_teacher_forced_pass(model: Transformer, source: Tensor) -> None:
    _, found = finish(beam(model, given(source[:1]), beams(4)))
    ids = torch.tensor([[2, *found[0].ids]])
    log_probs = model(source[:1], ids[:, :-1]).log_softmax(-1)[0]
    expected = log_probs.gather(-1, ids[0, 1:, None])[:, 0]
    assert found[0].log_probs == pytest.approx(expected.tolist(), abs=1e-4)


def test_the_rows_of_a_hypothesis_lead_to_its_maps(model: Transformer, source: Tensor) -> None:
    """A hypothesis moves from row to row of the batch; following it must give the maps of its own tokens."""
    with torch.inference_mode(), tracing(record=["decoder.*.weights"]) as trace:
        _, found = finish(beam(model, given(source[:1]), beams(4)))
    with torch.inference_mode(), tracing(record=["decoder.*.weights"]) as forced:
        model(source[:1], torch.tensor([[2, *found[0].ids[:-1]]]))
    for name in forced.names:
        torch.testing.assert_close(trace.joined(name, found[0].rows), forced.passes(name)[0][0], atol=1e-5, rtol=0)


def test_a_wide_beam_finds_the_most_probable_short_translation() -> None:
    """With a beam as wide as the search space, beam search is exhaustive; compare with brute force."""
    model = make_model(target_vocab_size=6, tie_embeddings="none", max_length=3)
    source = torch.tensor([[5, 7, 3]])
    _, found = finish(beam(model, given(source), beams(40, length_penalty=0.0)))
    best, best_log_prob = (), -1e9
    open_prefixes: list[tuple[tuple[int, ...], float]] = [((), 0.0)]
    for length in (1, 2, 3):
        grown = []
        for prefix, total in open_prefixes:
            log_probs = model(source, torch.tensor([[2, *prefix]]))[0, -1].log_softmax(-1).tolist()
            for token in (3, 4, 5):
                candidate = ((*prefix, token), total + log_probs[token])
                if (token == 3 or length == 3) and candidate[1] > best_log_prob:  # it ends, or the limit cuts it
                    best, best_log_prob = candidate
                if token != 3:
                    grown.append(candidate)
        open_prefixes = grown
    assert found[0].ids == best
    assert found[0].log_prob == pytest.approx(best_log_prob, abs=1e-4)


def test_banned_tokens_are_never_written(model: Transformer, source: Tensor) -> None:
    banned = tuple(range(3)) + tuple(range(10, 50))
    _, found = finish(greedy(model, given(source, specials=Specials(bos=2, eos=3, banned=banned))))
    assert all(i not in banned for h in found for i in h.ids)


def test_candidates_are_sorted_and_have_the_models_own_probability(model: Transformer, source: Tensor) -> None:
    steps, found = finish(greedy(model, given(source[:1])))
    logits = model(source[:1], torch.tensor([[2]]))[0, 0]
    assert steps[0].ids[0].tolist() == logits.topk(10).indices.tolist()
    torch.testing.assert_close(steps[0].log_probs[0], logits.log_softmax(-1).topk(10).values, atol=1e-5, rtol=0)
    assert len(steps) == len(found[0].ids)


def test_an_endless_translation_is_cut_and_not_finished(model: Transformer) -> None:
    never_ending = Specials(bos=2, eos=3, banned=(0, 1, 2, 3))
    start = SearchInput(sources=[[5, 3]], specials=never_ending)
    for search in (greedy(model, start), beam(model, start, beams(3))):
        _, found = finish(search)
        assert len(found[0].ids) == length_limit(2, 40)
        assert not found[0].finished


def test_the_length_limit_grows_with_the_source() -> None:
    assert [length_limit(source, 200) for source in (1, 10, 40)] == [9, 23, 68]  # half as long again, and eight
    assert length_limit(40, 50) == 50  # never beyond the positions


def test_length_penalty_ranks_by_total_or_by_mean() -> None:
    short = Hypothesis(ids=(5, 3), log_probs=(-1.0, -1.0), total=-2.0, finished=True)
    long = Hypothesis(ids=(5, 6, 7, 3), log_probs=(-0.6, -0.6, -0.6, -0.6), total=-2.4, finished=True)
    assert short.score(0.0) > long.score(0.0)
    assert long.score(1.0) > short.score(1.0)


def test_filters_keep_the_most_probable_tokens() -> None:
    log_probs = torch.tensor([[0.5, 0.3, 0.15, 0.05]]).log()

    def kept(**settings: float) -> list[float]:
        defaults = {"temperature": 1.0, "top_k": 0, "top_p": 1.0}
        return filter_log_probs(log_probs, **(defaults | settings)).exp()[0].tolist()

    assert kept() == pytest.approx([0.5, 0.3, 0.15, 0.05])
    assert kept(top_k=2) == pytest.approx([0.625, 0.375, 0, 0])
    assert kept(top_p=0.8) == pytest.approx([0.625, 0.375, 0, 0])  # 0.5 + 0.3 is enough
    assert kept(top_p=0.81) == pytest.approx([0.5 / 0.95, 0.3 / 0.95, 0.15 / 0.95, 0])
    assert kept(top_p=1e-6) == pytest.approx([1, 0, 0, 0])
    assert kept(temperature=0.5) == pytest.approx([p * p / 0.365 for p in (0.5, 0.3, 0.15, 0.05)])
    assert kept(top_k=3, top_p=0.5) == pytest.approx([1, 0, 0, 0])


def test_a_top_p_of_one_keeps_all_tokens() -> None:
    torch.manual_seed(0)
    # Sharp as those of a trained model: the sum of the first few thousand rounds to 1.
    log_probs = (4 * torch.randn(3, 8000)).log_softmax(dim=-1)
    kept = filter_log_probs(log_probs, temperature=1.0, top_k=0, top_p=1.0)
    assert kept.isfinite().all()
    torch.testing.assert_close(kept, log_probs)


def test_sampling_follows_the_models_distribution() -> None:
    model = make_model(max_length=3)  # only the first token counts
    source = torch.tensor([[5, 7, 3]])
    counts = torch.zeros(50)
    for seed in range(400):
        _, found = finish(sample(model, given(source), drawn(seed=seed, top_k=3)))
        counts[found[0].ids[0]] += 1
    log_probs = model(source, torch.tensor([[2]]))[0].log_softmax(-1)
    log_probs[:, :3] = float("-inf")
    expected = filter_log_probs(log_probs, temperature=1.0, top_k=3, top_p=1.0).exp()[0].detach()
    assert (counts / 400 - expected).abs().max() < 0.1


def test_a_seed_draws_the_same_translation_alone_and_in_a_batch(model: Transformer, source: Tensor) -> None:
    _, together = finish(sample(model, given(source), drawn(seed=3, temperature=1.3)))
    _, again = finish(sample(model, given(source), drawn(seed=3, temperature=1.3)))
    _, alone = finish(sample(model, given(source[1:2, :4]), drawn(seed=3, temperature=1.3)))
    _, other = finish(sample(model, given(source), drawn(seed=4, temperature=1.3)))
    assert [h.ids for h in again] == [h.ids for h in together]
    assert alone[0].ids == together[1].ids
    assert [h.ids for h in other] != [h.ids for h in together]


def test_top_k_of_one_is_greedy_search(model: Transformer, source: Tensor) -> None:
    _, sampled = finish(sample(model, given(source), drawn(seed=1, top_k=1)))
    _, greedy_found = finish(greedy(model, given(source)))
    assert [h.ids for h in sampled] == [h.ids for h in greedy_found]


@pytest.mark.parametrize("search", [SearchConfig(), beams(3), drawn(seed=0)])
def test_forced_tokens_are_written_and_the_rest_follows_from_them(
    model: Transformer, source: Tensor, search: SearchConfig
) -> None:
    forced = {0: 9, 2: 11}
    _, found = finish(start_search(model, given(source[:1], forced=forced), search))
    hypothesis = found[0]
    assert hypothesis.ids[0] == 9
    assert len(hypothesis.ids) < 3 or hypothesis.ids[2] == 11
    log_probs = model(source[:1], torch.tensor([[2, *hypothesis.ids[:-1]]])).log_softmax(-1)[0]
    expected = log_probs.gather(-1, torch.tensor(hypothesis.ids)[:, None])[:, 0]
    assert hypothesis.log_probs == pytest.approx(expected.tolist(), abs=1e-4)
    if search.method == "greedy":
        unforced = [t for t in range(len(hypothesis.ids)) if t not in forced]
        allowed = log_probs.clone()
        allowed[:, :3] = float("-inf")
        assert [hypothesis.ids[t] for t in unforced] == [int(allowed[t].argmax()) for t in unforced]


def test_entropy_is_that_of_the_whole_distribution(model: Transformer, source: Tensor) -> None:
    steps, _ = finish(greedy(model, given(source[:1])))
    distribution = torch.distributions.Categorical(logits=model(source[:1], torch.tensor([[2]]))[0, 0])
    assert steps[0].entropy[0].item() == pytest.approx(distribution.entropy().item(), abs=1e-4)


def test_the_branches_hold_every_hypothesis_and_its_scores(model: Transformer, source: Tensor) -> None:
    steps, found = finish(beam(model, given(source[:2]), beams(3)))
    prefixes: list[tuple[int, ...]] = [(), ()]  # by row; the first pass has one row a sentence
    sentences = [0, 1]
    ended: list[list[tuple[tuple[int, ...], float]]] = [[], []]
    for step in steps:
        kept = []
        for sentence, branch, fate in step.compared:
            assert sentence == sentences[branch.row]
            ids = (*prefixes[branch.row], branch.token)
            if fate in ("ended", "cut"):
                ended[sentence].append((ids, branch.extended().log_prob))
            elif fate == "kept":
                kept.append((ids, sentence))
        prefixes, sentences = [ids for ids, _ in kept], [sentence for _, sentence in kept]
    for sentence, hypothesis in enumerate(found):
        assert hypothesis.ids in [ids for ids, _ in ended[sentence]]
        log_prob = dict(ended[sentence])[hypothesis.ids]
        assert log_prob == pytest.approx(hypothesis.log_prob, abs=1e-5)
        best = max(log_prob / len(ids) for ids, log_prob in ended[sentence])
        assert hypothesis.score(1.0) == pytest.approx(best, abs=1e-5)
