"""Chat templates: the tokens of `apply_chat_template`, and templates that a stranger wrote to do harm."""

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from transformers import AutoTokenizer

from model.checkpoints.checkpoint import Checkpoint
from model.config.foreign import ForeignConfig
from model.config.section import ConfigError
from model.foreign import chat_template
from model.foreign.chat_template import frame_of, rendered_alone
from model.inference.continuation import with_continuation
from model.inference.opening import open_checkpoint, open_translator
from model.inference.translate import translate
from tests.conftest import PATIENCE

TEMPLATE = (
    "{{ bos_token }}[system] {{ 'Be brief. ' * 3 }}{% for message in messages %}[{{ message['role'] }}] "
    "{{ message['content'] | trim }}{{ eos_token }}{% endfor %}{% if add_generation_prompt %}[assistant] {% endif %}"
)


@pytest.fixture(scope="module")
def chat_model(folders: Callable[[str], Path]) -> Checkpoint:
    (folders("llama") / "chat_template.jinja").write_text(TEMPLATE)
    return open_translator(folders("llama"))


def config_of(template: str, checkpoint: Checkpoint) -> ForeignConfig:
    assert isinstance(checkpoint.config, ForeignConfig)
    texts = replace(checkpoint.config.tokenizer, chat_template=template)
    return replace(checkpoint.config, tokenizer=texts)


def test_the_model_reads_the_tokens_of_apply_chat_template(chat_model: Checkpoint) -> None:
    library = AutoTokenizer.from_pretrained(chat_model.path)
    chat = [{"role": "user", "content": "Where is the cat?"}]
    expected = library.apply_chat_template(chat, add_generation_prompt=True, tokenize=True, return_dict=True)
    changed = with_continuation(chat_model, chat=True, new_tokens=7)
    assert isinstance(changed.config, ForeignConfig)
    assert changed.config.tokenizer.chat
    assert changed.config.tokenizer.chat.before == "<s>[system] Be brief. Be brief. Be brief. [user] "
    assert changed.config.tokenizer.chat.after == "</s>[assistant] "
    found = translate(changed, "Where is the cat?")
    read = [found.read[0].id, *(token.id for token in found.written[: found.prompt_length])]
    assert read == list(expected["input_ids"])
    assert len(found.written) - found.prompt_length == 7 or found.finished
    plain = translate(chat_model, "Where is the cat?")  # off by default, and the shared model did not change
    assert plain.prompt_length < found.prompt_length
    assert len(plain.written) - plain.prompt_length == 40 or plain.finished


def test_a_template_that_ends_with_the_end_token_does_not_end_the_text(chat_model: Checkpoint) -> None:
    ending = replace(chat_model, config=config_of("{{ messages[0]['content'] }}</s>", chat_model))
    found = translate(with_continuation(ending, chat=True, new_tokens=3), "Where is the cat?")
    assert found.written[found.prompt_length - 1].id == chat_model.tokenizers.specials.eos
    assert 1 <= len(found.written) - found.prompt_length <= 3


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine starts a process late; what a template computes is limited in processor time."""
    monkeypatch.setattr(chat_template, "SECONDS", PATIENCE)


@pytest.mark.parametrize(
    ("template", "message"),
    [
        (
            "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
            "too much time or memory|did not end",
        ),
        ("{{ 'a' * 9999999999 }}", "too much memory"),
        ("{{ ''.__class__.__mro__ }}", "unsafe"),
        ("{% for", "unexpected|Expected|expected"),
        ("{{ messages[0]['content'] * 2 }}", "writes the text 2 times"),
        ("{{ '\\ud800' }}{{ messages[0]['content'] }}", "writes half a character"),
        (" " * 200_001, "has 200,001 characters"),
    ],
)
def test_a_harmful_template_ends_in_a_sentence(template: str, message: str, chat_model: Checkpoint) -> None:
    with pytest.raises(ConfigError, match=f"chat template of small cannot be used: .*({message})"):
        frame_of(config_of(template, chat_model), "small")


def test_a_long_chat_stays_in_the_process_that_renders_it(monkeypatch: pytest.MonkeyPatch) -> None:
    template = "{{ 'a' * 50000000 }}{{ messages[0]['content'] }}"
    read: list[int] = []
    run = subprocess.run

    def measured(*arguments: Any, **settings: Any) -> Any:
        done = run(*arguments, **settings)
        read.append(len(done.stdout))
        return done

    monkeypatch.setattr(subprocess, "run", measured)
    request = {"template": template, "text": "cat", "tokens": {}, "most_added": 10}
    with pytest.raises(ConfigError, match="adds 50,000,000 characters"):
        rendered_alone(json.dumps(request))
    assert read[0] < 1000


def test_a_model_without_a_template_is_named(folders: Callable[[str], Path]) -> None:
    with pytest.raises(ConfigError, match="gpt2 has no chat template"):
        with_continuation(open_translator(folders("gpt2")), chat=True)
    with pytest.raises(ConfigError, match="t5 does not continue texts"):
        with_continuation(open_translator(folders("t5")), new_tokens=3)
    with pytest.raises(ConfigError, match=r"number of new tokens is 49\. gpt2 may write from 1 to 48"):
        with_continuation(open_translator(folders("gpt2")), new_tokens=49)


def test_a_huge_template_file_is_not_read(folders: Callable[[str], Path]) -> None:
    path = folders("qwen2") / "chat_template.jinja"
    path.write_bytes(b" " * (41 << 20))
    with pytest.raises(Exception, match=r"chat_template\.jinja is too long"):
        open_checkpoint(folders("qwen2"))
