"""The two sides of a comparison, and how to make both write the same words."""

from dataclasses import dataclass, replace

from model.checkpoints.languages import short_code, usual_languages
from model.config.foreign import ForeignConfig
from model.inference.continuation import most_new_tokens
from model.inference.run import Forced, Result, Run
from viz_app.services.listing import CheckpointKey
from viz_app.services.models import config_of, result_of, translator

__all__ = ["Side", "as_beside", "tokens_of_left_side"]


@dataclass(frozen=True, kw_only=True)
class Side:
    """One side: a model, and what it computes."""

    name: str
    key: CheckpointKey
    run: Run

    def translation(self, forced: Forced = ()) -> Result:
        return result_of(self.key, replace(self.run, forced=forced))


def as_beside(key: CheckpointKey, other: CheckpointKey) -> CheckpointKey:
    """The key of another checkpoint, with what the visitor chose for this one: languages, or how it continues a text.

    Args:
        key: The key of the checkpoint with the needed choices.
        other: The key of the other checkpoint.

    Raises:
        CheckpointError, ConfigError: the other checkpoint cannot be opened.
    """
    config, other_config = config_of(key), config_of(other)
    if isinstance(other_config, ForeignConfig) and config.task == "continuation":
        number = min(key.new_tokens, most_new_tokens(other_config.model.max_length))
        return replace(other, new_tokens=number, chat=key.chat and bool(other_config.tokenizer.chat_template))
    if not isinstance(other_config, ForeignConfig) or not other_config.tokenizer.languages:
        return other
    needed = (config.tokenizer.source_language, config.tokenizer.target_language)
    source, target = (
        next((code for code in other_config.tokenizer.languages if language and short_code(code) == language), usual)
        for language, usual in zip(needed, usual_languages(other_config), strict=True)
    )
    return replace(other, source=source, target=target)


def tokens_of_left_side(left: Side, right: Side) -> Forced:
    """The tokens that the right side must write to write the words of the left side; empty where it cannot.

    Both vocabularies may differ. Then the left text is tokenized again, if the two models write the same language.
    """
    ours, theirs = translator(left.key), translator(right.key)
    translation = left.translation()
    ids = [token.id for token in translation.written]
    known = max(ids, default=0) < theirs.tokenizers.target.size
    if known and ours.tokenizers.target.tokens(ids) == theirs.tokenizers.target.tokens(ids):
        return tuple(enumerate(ids))
    languages = {checkpoint.config.tokenizer.target_language for checkpoint in (ours, theirs)}
    if len(languages) > 1 or "" in languages or theirs.tokenizers.specials.first is not None:
        return ()
    return tuple(enumerate((*theirs.tokenizers.target.encode(translation.text).ids, theirs.tokenizers.specials.eos)))
