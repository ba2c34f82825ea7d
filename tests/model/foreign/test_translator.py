"""Models of `transformers`, small and random, against the library's own `eager` attention and `generate`."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor
from transformers import (
    BartConfig,
    BartForConditionalGeneration,
    BertConfig,
    BertForMaskedLM,
    GenerationConfig,
    M2M100Config,
    M2M100ForConditionalGeneration,
    MarianConfig,
    MarianMTModel,
    MBartConfig,
    MBartForConditionalGeneration,
    PreTrainedModel,
    T5Config,
    T5ForConditionalGeneration,
)

from model.config.search import SearchConfig
from model.config.section import ConfigError
from model.decoding.search import SearchInput, finish, length_limit
from model.foreign.models import ForeignTranslator
from model.inference.translate import start_search
from model.trace import ablate_heads, hook_name, tracing
from tests.foreign_folders import sharpen

PAD, BEGIN, END, LANGUAGE, WORDS = 0, 2, 3, 7, 50
CLOSE = {"atol": 1e-5, "rtol": 1e-5}  # the same sums in another order, in single precision
SIZES = {
    "vocab_size": WORDS,
    "d_model": 32,
    "encoder_layers": 2,
    "decoder_layers": 3,
    "encoder_attention_heads": 4,
    "decoder_attention_heads": 4,
    "encoder_ffn_dim": 48,
    "decoder_ffn_dim": 48,
    "max_position_embeddings": 64,
    "pad_token_id": PAD,
    "bos_token_id": BEGIN,
    "eos_token_id": END,
    "decoder_start_token_id": BEGIN,
}
MAKERS: dict[str, Callable[[], PreTrainedModel]] = {
    "Marian": lambda: MarianMTModel(MarianConfig(**SIZES)),
    "BART": lambda: BartForConditionalGeneration(BartConfig(**SIZES)),
    "mBART": lambda: MBartForConditionalGeneration(MBartConfig(**SIZES)),
    "M2M100": lambda: M2M100ForConditionalGeneration(M2M100Config(**SIZES)),
    "T5": lambda: T5ForConditionalGeneration(
        T5Config(
            vocab_size=WORDS,
            d_model=32,
            d_kv=8,
            d_ff=48,
            num_layers=3,
            num_heads=4,
            pad_token_id=PAD,
            eos_token_id=END,
            decoder_start_token_id=BEGIN,
        )
    ),
}
FORCES_A_LANGUAGE = ("mBART", "M2M100")
SOURCE = torch.tensor([[5, 6, 7, 8, 9, 15, 30, END], [10, 11, 12, END, PAD, PAD, PAD, PAD]])
TARGET = torch.tensor([[BEGIN, 4, 9, 20], [BEGIN, 17, 5, 21]])


def given(model: ForeignTranslator, source: torch.Tensor, *, limit: int | None = None) -> SearchInput:
    return SearchInput(sources=source.tolist(), specials=model.specials, limit=limit)


def build(name: str, seed: int = 0) -> PreTrainedModel:
    """A model whose attention is sharp and whose sentences end: a fresh one looks everywhere alike and never stops."""
    torch.manual_seed(seed)
    model = sharpen(MAKERS[name]())
    first = LANGUAGE if name in FORCES_A_LANGUAGE else None
    model.generation_config = GenerationConfig(
        pad_token_id=PAD,
        bos_token_id=BEGIN,
        eos_token_id=END,
        decoder_start_token_id=BEGIN,
        forced_bos_token_id=first,
        bad_words_ids=[[PAD]],
    )
    # What it would write sixth is the end.
    endless = model.generate(SOURCE[:1, :-1], max_new_tokens=6, eos_token_id=WORDS + 1, do_sample=False)
    model.generation_config.eos_token_id = int(endless[0, -1])
    return model


@pytest.fixture(params=MAKERS)
def pair(request: pytest.FixtureRequest) -> tuple[PreTrainedModel, ForeignTranslator]:
    """The library's own, and ours with the same weights."""
    reference = build(request.param)
    reference.set_attn_implementation("eager")
    return reference, ForeignTranslator(build(request.param))


def logits_of(model: ForeignTranslator) -> Tensor:
    return model.decode(TARGET, *model.encode(SOURCE))


@torch.inference_mode()
def test_logits_and_maps_equal_those_of_the_library(pair: tuple[PreTrainedModel, ForeignTranslator]) -> None:
    reference, model = pair
    expected = reference(
        input_ids=SOURCE,
        attention_mask=(SOURCE != PAD).long(),
        decoder_input_ids=TARGET,
        output_attentions=True,
        use_cache=False,
    )
    torch.testing.assert_close(logits_of(model), expected.logits, **CLOSE)
    with tracing() as trace:
        traced = logits_of(model)
    torch.testing.assert_close(traced, expected.logits, **CLOSE)
    maps = {
        "encoder": expected.encoder_attentions,
        "decoder": expected.decoder_attentions,
        "cross": expected.cross_attentions,
    }
    assert {kind: len(layers) for kind, layers in maps.items()} == model.config.layers
    for kind, layers in maps.items():
        for layer, weights in enumerate(layers):
            found = trace.passes(hook_name(kind, layer, "weights"))[0]
            torch.testing.assert_close(found, weights, **CLOSE)
            # Random, but not flat: a map of equal weights would prove little.
            assert weights[0].max() > 1.5 / weights.size(-1)


@torch.inference_mode()
@pytest.mark.parametrize("beams", [1, 4])
@pytest.mark.parametrize("name", MAKERS)
def test_searches_write_the_same_text_as_generate(name: str, beams: int) -> None:
    for seed in range(4):
        reference, model = build(name, seed), ForeignTranslator(build(name, seed))
        for row in SOURCE:
            source = row[None, : int((row != PAD).sum())]
            limit = length_limit(source.size(1), model.config.max_length)
            settings = {"max_new_tokens": limit, "num_beams": beams, "early_stopping": beams > 1}
            expected = reference.generate(source, do_sample=False, **settings)[0, 1:].tolist()
            search = SearchConfig(method="greedy" if beams == 1 else "beam", beam_size=beams)
            _, hypotheses = finish(start_search(model, given(model, source), search))
            assert (expected[0] == LANGUAGE) == (name in FORCES_A_LANGUAGE)
            assert list(hypotheses[0].ids) == expected


@torch.inference_mode()
def test_batches_and_caches_give_the_results_of_single_full_passes(
    pair: tuple[PreTrainedModel, ForeignTranslator],
) -> None:
    model = pair[1]
    whole = logits_of(model)
    memory, mask = model.encode(SOURCE)
    cache = model.start_cache()
    stepwise = [model.decode(TARGET[:, t : t + 1], memory, mask, cache=cache) for t in range(TARGET.size(1))]
    assert cache.steps.get_seq_length() == TARGET.size(1)
    torch.testing.assert_close(torch.cat(stepwise, dim=1), whole, **CLOSE)
    alone = model.decode(TARGET[1:], *model.encode(SOURCE[1:, :4]))
    torch.testing.assert_close(alone, whole[1:], **CLOSE)


@torch.inference_mode()
@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_silencing_a_head_equals_zero_columns_in_the_output_projection(
    pair: tuple[PreTrainedModel, ForeignTranslator], kind: str
) -> None:
    reference, model = pair
    with tracing(record=(), edits={hook_name(kind, 1, "weights"): ablate_heads([2])}):
        silenced = logits_of(model)
    assert (silenced - logits_of(model)).abs().max() > 1e-3
    place = {"encoder": ("encoder.", 0), "decoder": ("decoder.", 0), "cross": ("decoder.", 1)}[kind]
    outputs = [
        module
        for name, module in reference.named_modules()
        if name.endswith((".out_proj", ".o")) and place[0] in name and (layer_of(name) == 1)
    ]
    with torch.no_grad():
        outputs[place[1]].weight[:, 16:24] = 0  # the third of four heads of 8
    expected = reference(
        input_ids=SOURCE, attention_mask=(SOURCE != PAD).long(), decoder_input_ids=TARGET, use_cache=False
    ).logits
    torch.testing.assert_close(silenced, expected, **CLOSE)


@torch.inference_mode()
def test_beam_search_over_two_sentences_writes_the_text_of_each_sentence(
    pair: tuple[PreTrainedModel, ForeignTranslator],
) -> None:
    model = pair[1]
    search = SearchConfig(method="beam", beam_size=3)
    _, together = finish(start_search(model, given(model, SOURCE), search))
    for row, found in zip(SOURCE, together, strict=True):
        _, alone = finish(start_search(model, given(model, row[None, : int((row != PAD).sum())]), search))
        assert found.ids == alone[0].ids


@torch.inference_mode()
@pytest.mark.parametrize("name", MAKERS)
def test_bad_words_are_never_written(name: str) -> None:
    for seed in range(3):
        reference, model = build(name, seed), ForeignTranslator(build(name, seed))
        _, written = finish(start_search(model, given(model, SOURCE[:1], limit=6), SearchConfig()))
        bad, end = written[0].ids[-1], model.specials.eos
        bad_words = [[bad], [end], [4, 5]]
        reference.generation_config.bad_words_ids = bad_words
        expected = reference.generate(SOURCE[:1], max_new_tokens=6, do_sample=False, bad_words_ids=bad_words[:2])
        banning = ForeignTranslator(reference)
        _, found = finish(start_search(banning, given(banning, SOURCE[:1], limit=6), SearchConfig()))
        assert found[0].ids == tuple(expected[0, 1:].tolist())
        # The end may always be written, and what comes first is given.
        assert bad == end or bad not in found[0].ids[1:]


def layer_of(name: str) -> int:
    return next(int(part) for part in name.split(".") if part.isdigit())


@pytest.mark.parametrize("ends", [[END, 9], [], None])
def test_wrong_end_tokens_are_refused(ends: list[int] | None) -> None:
    model = build("Marian")
    model.generation_config.eos_token_id = ends
    with pytest.raises(ConfigError, match="needs one of each"):
        ForeignTranslator(model)


def test_a_model_that_cannot_be_shown_completely_is_refused() -> None:
    uneven = MarianMTModel(MarianConfig(**{**SIZES, "decoder_attention_heads": 8}))
    with pytest.raises(ConfigError, match=r"numbers of heads \(4 and 8\)"):
        ForeignTranslator(uneven)


def test_sizes_are_those_of_the_matrices() -> None:
    sizes = {**SIZES, "decoder_vocab_size": 70, "share_encoder_decoder_embeddings": False}
    found = ForeignTranslator(MarianMTModel(MarianConfig(**sizes))).config
    assert (found.source_vocab_size, found.target_vocab_size) == (WORDS, 70)
    assert (found.num_heads, found.kinds) == (4, ("cross", "encoder", "decoder"))


def test_a_source_longer_than_the_positions_is_refused() -> None:
    with pytest.raises(ValueError, match=r"65 tokens\. This model can read 64"):
        ForeignTranslator(build("M2M100")).encode(torch.full((1, 65), 5))


def test_a_model_without_a_decoder_is_refused_with_a_sentence() -> None:
    sizes = {"vocab_size": WORDS, "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 4}
    with pytest.raises(ConfigError, match="bert has no encoder and decoder"):
        ForeignTranslator(BertForMaskedLM(BertConfig(**sizes, intermediate_size=32)))
