"""The tokenizers of a folder of `transformers`, with the methods of our own."""

from dataclasses import replace
from pathlib import Path

from transformers import AutoTokenizer, PreTrainedTokenizerBase

from model.checkpoints.languages import code_of
from model.config.section import ConfigError
from model.files import CheckpointError
from model.foreign.base import ForeignModel
from model.foreign.generation import rules_of
from model.foreign.language_model import ForeignLanguageModel
from model.foreign.segments import separator_of
from model.foreign.tokenizer import ForeignTokenizer, frame
from model.foreign.translator import ForeignTranslator, continuing
from model.network.protocols import Padding
from model.safety.errors import first_line
from model.text.encoding import TokenizerPanicError, panics_as_errors
from model.text.tokenizers import TokenizerPair
from model.text.vocab import Specials

__all__ = ["languages_of", "padding_of", "pair_of", "read_tokenizer"]

VOCABULARIES = ("tokenizer.json", "vocab.json", "vocab.txt", "spiece.model", "tokenizer.model", "source.spm")
FEWEST = 10  # tokens of a usable vocabulary, without special ones


def read_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    """Raises CheckpointError if the library cannot read the tokenizer."""
    try:
        with panics_as_errors():
            return AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except Exception as error:  # the library raises many kinds
        raise why_no_tokenizer(folder, error) from error


def why_no_tokenizer(folder: Path, error: Exception) -> CheckpointError:
    """The error for a tokenizer that the library cannot read."""
    if isinstance(error, TokenizerPanicError) or any((folder / name).is_file() for name in VOCABULARIES):
        return CheckpointError(
            "The tokenizer of {folder} cannot be read: {problem}", folder=folder.name, problem=first_line(error)
        )
    return CheckpointError(
        "{folder} has no tokenizer. Add the file of its vocabulary: tokenizer.json, or a file of its family ({files}).",
        folder=folder.name,
        files=", ".join(VOCABULARIES[1:]),
    )


def languages_of(tokenizer: PreTrainedTokenizerBase) -> dict[str, int]:
    """Language code → its token. Empty for a model with fewer than two languages."""
    named = {code_of(str(tokenizer.convert_ids_to_tokens(i))): int(i) for i in tokenizer.all_special_ids}
    found = {code: i for code, i in sorted(named.items()) if code}
    return found if len(found) > 1 else {}


def padding_of(tokenizer: PreTrainedTokenizerBase) -> Padding:
    """How the tokenizer of a language model pads. Without a padding token it is the end token, as in `generate`."""
    marks = (tokenizer.pad_token_id, tokenizer.eos_token_id, 0)
    return Padding(
        id=int(next(mark for mark in marks if mark is not None)),
        side="left" if tokenizer.padding_side == "left" else "right",
    )


def pair_of(folder: Path, tokenizer: PreTrainedTokenizerBase, model: ForeignModel) -> TokenizerPair:
    """The tokenizers of both sides, with the methods of our own.

    Raises:
        ConfigError: a tokenizer has more ids than the model has embeddings.
    """
    source = ForeignTokenizer(tokenizer)
    target = source
    if hasattr(tokenizer, "_switch_to_target_mode"):
        other = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
        target = ForeignTokenizer(other, target=True)
    for side, rows in ((source, model.config.source_vocab_size), (target, model.config.target_vocab_size)):
        if side.size > rows:
            raise ConfigError(
                "its tokenizer has {size} tokens, and its model has embeddings for {rows}.",
                size=f"{side.size:,}",
                rows=f"{rows:,}",
            )
    if source.size < len(tokenizer.all_special_ids) + FEWEST:
        raise ConfigError("its tokenizer has nearly no tokens. Is the file of its vocabulary missing?")
    return TokenizerPair(source=source, target=target, specials=specials_of(tokenizer, model))


def specials_of(tokenizer: PreTrainedTokenizerBase, model: ForeignModel) -> Specials:
    """Raises ConfigError if a special token has no embedding in the model."""
    before, after = frame(tokenizer)
    own = {i for i in tokenizer.all_special_ids if i not in (tokenizer.unk_token_id, tokenizer.mask_token_id)}
    begins = tokenizer.eos_token_id if tokenizer.bos_token_id is None else tokenizer.bos_token_id
    if isinstance(model, ForeignTranslator):
        found = replace(model.specials, before=before, after=after)
    elif isinstance(model, ForeignLanguageModel):
        # The tokens after a prompt are left out, because they would end it.
        generation = model.model.generation_config
        found = replace(continuing(generation), bos=begins or 0, before=before)
        ends = tuple(end for end in (found.eos, *found.more_ends) if end >= 0)
        found = replace(found, rules=rules_of(generation, ends, model.config.max_length))
    else:
        found = Specials(bos=begins or 0, eos=-1, before=before, separator=separator_of(tokenizer), after=after)
    rows = model.config.target_vocab_size
    written = (found.bos, *found.banned, found.first or 0)
    for i in (*written, found.eos, *found.more_ends):
        if i >= rows or (i < 0 and i in written):  # a negative end is never written
            raise ConfigError(
                "its generation settings name the token {token}, and its model has {rows} tokens.",
                token=f"{i:,}",
                rows=f"{rows:,}",
            )
    # Other models may have no first token. Their `bos` is then 0, which is an ordinary token.
    starts = (found.bos,) if isinstance(model, ForeignTranslator) else ()
    marks = frozenset({*own, *starts, found.eos, *found.more_ends})
    return replace(found, unknown=tokenizer.unk_token_id, mask=tokenizer.mask_token_id, marks=marks)
