"""The generation settings in a folder: every search writes what the library's `generate` writes with them."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import pytest
import torch
from transformers import GenerationConfig, GPT2Config, GPT2LMHeadModel, LlamaConfig, LlamaForCausalLM, PreTrainedModel

from model.config.search import EarlyStopping, SearchConfig
from model.config.section import ConfigError
from model.decoding.search import Hypothesis, SearchInput, finish
from model.foreign.generation import rules_of, settings_of
from model.foreign.models import ForeignLanguageModel, ForeignTranslator
from model.inference.translate import start_search
from model.text.vocab import Specials
from tests.foreign_folders import sharpen
from tests.model.foreign.test_translator import BEGIN, END, PAD, WORDS, build

SOURCE = [5, 6, 7, 8, 5, 6, 15, 30]
NEW = 12  # tokens
SEARCHES = (SearchConfig(), SearchConfig(method="beam", beam_size=3), SearchConfig(method="sample", seed=4))
SIZES = {"vocab_size": WORDS, "pad_token_id": PAD, "bos_token_id": BEGIN, "eos_token_id": END}
LANGUAGE_MODELS = {
    "GPT-2": lambda: GPT2LMHeadModel(GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=64, **SIZES)),
    "Llama": lambda: LlamaForCausalLM(
        LlamaConfig(
            hidden_size=32,
            intermediate_size=48,
            num_hidden_layers=2,
            num_attention_heads=4,
            max_position_embeddings=64,
            **SIZES,
        )
    ),
}
MODELS = ("Marian", "BART", "T5", *LANGUAGE_MODELS)
# What a model writes without settings → settings that change it.
SETTINGS: Mapping[str, Callable[[Sequence[int]], Mapping[str, Any]]] = {
    "no repeated phrase": lambda own: {"no_repeat_ngram_size": 2},
    "repetition": lambda own: {"repetition_penalty": 1.7, "encoder_repetition_penalty": 1.3},
    "no phrase of the source": lambda own: {"encoder_no_repeat_ngram_size": 1},
    "lengths": lambda own: {"min_length": 10, "forced_eos_token_id": END},
    "new tokens": lambda own: {"min_new_tokens": 7, "exponential_decay_length_penalty": [3, 1.2]},
    "tokens": lambda own: {"suppress_tokens": [own[-1], 4], "begin_suppress_tokens": [own[0], 21]},
    "phrases": lambda own: {
        "bad_words_ids": [[PAD], list(own[:2]), [own[-1]]],
        "sequence_bias": [[[17], 1.5], [[8, 9], -4.0]],
    },
}


def model_and_ours(
    name: str, settings: Mapping[str, Any], seed: int
) -> tuple[PreTrainedModel, ForeignTranslator | ForeignLanguageModel, Specials, int]:
    """The library's model, the same one wrapped, its special tokens, and the length of the prompt."""
    if name not in LANGUAGE_MODELS:
        reference, wrapped = build(name, seed), build(name, seed)
        for model in (reference, wrapped):
            model.generation_config.update(**{"bad_words_ids": None, **settings})
        ours = ForeignTranslator(wrapped)
        return reference, ours, ours.specials, 0
    torch.manual_seed(seed)
    reference = sharpen(LANGUAGE_MODELS[name]())
    reference.generation_config = GenerationConfig(pad_token_id=PAD, eos_token_id=END, **settings)
    rules = rules_of(reference.generation_config, (END,), 64)
    banned = tuple(ids[0] for ids in settings.get("bad_words_ids", ()) if len(ids) == 1)
    specials = Specials(bos=SOURCE[0], eos=END, rules=rules, banned=banned)
    return reference, ForeignLanguageModel(reference), specials, len(SOURCE) - 1


def written(name: str, settings: Mapping[str, Any], search: SearchConfig, seed: int) -> tuple[list[int], list[int]]:
    """What the library writes, and what we write."""
    reference, ours, specials, prompt = model_and_ours(name, settings, seed)
    torch.manual_seed(search.seed)
    expected = reference.generate(
        torch.tensor([SOURCE]),
        max_new_tokens=NEW,
        num_beams=search.beam_size if search.method == "beam" else 1,
        do_sample=search.method == "sample",
        length_penalty=search.length_penalty if search.method == "beam" else None,
        early_stopping={"always": True, "unlikely": False, "never": "never"}[search.early_stopping],
        **({"top_k": 0, "top_p": 1.0} if search.method == "sample" else {}),
    )[0, 1:].tolist()
    best = run(ours, specials, search, prompt)
    return expected, list(best.ids)


def run(
    model: ForeignTranslator | ForeignLanguageModel, specials: Specials, search: SearchConfig, prompt: int
) -> Hypothesis:
    forced = dict(enumerate(SOURCE[1:])) if prompt else {}
    start = SearchInput(sources=[SOURCE], specials=specials, forced=forced, limit=prompt + NEW, prompt_length=prompt)
    return finish(start_search(model, start, search))[1][0]


@cache
def without_rules(name: str) -> list[list[int]]:
    """What we write in each search."""
    return [written(name, {}, search, 0)[1] for search in SEARCHES]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("rules", SETTINGS)
def test_each_search_writes_what_generate_writes(name: str, rules: str) -> None:
    own, found = without_rules(name), []
    settings = SETTINGS[rules](own[0][-NEW:])
    for search in SEARCHES:
        expected, ours = written(name, settings, search, 0)
        assert ours == expected, search.method
        found.append(ours)
    if rules != "no phrase of the source" or name in LANGUAGE_MODELS:  # these translators write other tokens anyway
        assert found != own


@pytest.mark.parametrize("early_stopping", ["always", "unlikely", "never"])
@pytest.mark.parametrize("name", ["BART", "GPT-2"])
def test_a_beam_search_stops_where_generate_stops(name: str, early_stopping: EarlyStopping) -> None:
    # The last case has three different results for BART.
    for seed, length_penalty, size in ((0, -1.0, 3), (1, 0.0, 3), (2, 2.0, 3), (3, 1.0, 2)):
        search = SearchConfig(
            method="beam", beam_size=size, length_penalty=length_penalty, early_stopping=early_stopping
        )
        expected, found = written(name, {}, search, seed)
        assert found == expected


def test_the_probabilities_are_the_models_own() -> None:
    search = SearchConfig(method="beam", beam_size=3)
    _, ours, specials, _ = model_and_ours("BART", {"repetition_penalty": 2.0, "no_repeat_ngram_size": 2}, 0)
    best = run(ours, specials, search, 0)
    memory = ours.encode(torch.tensor([SOURCE]))
    with torch.inference_mode():
        logits = ours.decode(torch.tensor([[specials.bos, *best.ids[:-1]]]), *memory)[0]
    own = logits.log_softmax(dim=-1)[torch.arange(len(best.ids)), list(best.ids)]
    torch.testing.assert_close(torch.tensor(best.log_probs), own, atol=1e-5, rtol=1e-5)
    assert best.total < best.log_prob  # the rules made repeated tokens less likely


def test_sentences_of_a_batch_obey_the_rules_for_their_own_source() -> None:
    _, ours, specials, _ = model_and_ours("BART", {"encoder_no_repeat_ngram_size": 1, "min_length": 6}, 0)
    texts = [[10, 11, 12], list(range(4, 40))]  # the rules for the first one would allow nearly all of the second one
    for search in (SearchConfig(), SearchConfig(method="beam", beam_size=3)):
        _, together = finish(start_search(ours, SearchInput(sources=texts, specials=specials, limit=8), search))
        for text, found in zip(texts, together, strict=True):
            start = SearchInput(sources=[text], specials=specials, limit=8)
            _, (alone,) = finish(start_search(ours, start, search))
            assert found.ids == alone.ids
            assert not set(text) & set(found.ids)


def test_settings_that_leave_no_token_are_named() -> None:
    _, ours, specials, _ = model_and_ours("BART", {"suppress_tokens": list(range(WORDS))}, 0)
    for search in (SearchConfig(), SearchConfig(method="beam"), SearchConfig(method="sample")):
        with pytest.raises(ConfigError, match="allow no token after 1 tokens"):
            run(ours, specials, search, 0)


def test_settings_are_listed_by_what_happens_to_them() -> None:
    settings = settings_of(
        GenerationConfig(
            no_repeat_ngram_size=3,
            repetition_penalty=1.0,
            num_beams=4,
            length_penalty=2.0,
            early_stopping=True,
            max_length=142,
            guidance_scale=1.5,
            forced_bos_token_id=0,
            temperature=1.0,
        )
    )
    assert settings.followed == {"no_repeat_ngram_size": 3, "forced_bos_token_id": 0}
    assert settings.suggested == {"num_beams": 4, "length_penalty": 2.0, "early_stopping": True}
    assert settings.ignored == {"max_length": 142, "guidance_scale": 1.5}
    assert (settings.num_beams, settings.length_penalty, settings.early_stopping) == (4, 2.0, "always")


def test_a_list_that_would_slow_each_step_is_refused() -> None:
    endless = GenerationConfig(bad_words_ids=[[5, i] for i in range(1_001)])
    with pytest.raises(ConfigError, match=r"bad_words_ids .* has 1,001 phrases .* Shorten"):
        rules_of(endless, (END,), 64)


def test_a_forced_end_token_with_the_id_0_is_followed() -> None:
    settings = GenerationConfig(forced_eos_token_id=0)  # as in the Marian models of OPUS-MT
    rules = rules_of(settings, (0,), 64)
    assert rules is not None
    assert settings_of(settings).followed == {"forced_eos_token_id": 0}
    apply = rules.for_text([5], given=1, limit=3, device=torch.device("cpu"))
    scores = apply(torch.tensor([[1, 7, 8]]), torch.zeros(1, 9))
    assert scores.isneginf().tolist() == [[False] + [True] * 8]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("no_repeat_ngram_size", "many"),
        ("repetition_penalty", -1.0),
        ("begin_suppress_tokens", 7),
        ("bad_words_ids", [5]),
        ("sequence_bias", [[3, 1.0]]),
        ("exponential_decay_length_penalty", [1]),
        ("min_length", "long"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named_with_its_value(name: str, value: object) -> None:
    generation = GenerationConfig()
    setattr(generation, name, value)
    with pytest.raises(ConfigError) as caught:
        rules_of(generation, (END,), 64)
    assert f"{name} in its generation settings is {value!r}, which cannot be used" in str(caught.value)
    assert "Correct it in generation_config.json." in str(caught.value)
