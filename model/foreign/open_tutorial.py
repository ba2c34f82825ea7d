"""Opens weights that a tutorial's code saved. `model/checkpoints/description.py` explains `headlight.toml`.

Hugging Face's `transformers` is imported only for its tokenizers.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from model.checkpoints.checkpoint import Checkpoint, ready
from model.checkpoints.description import DecoderDescription, Side, TranslatorDescription, described_in
from model.checkpoints.fit import Fit, fit
from model.checkpoints.tutorial_model import make_model, shown_sizes, take
from model.config.foreign import ForeignConfig, ForeignTexts
from model.config.model import DecoderSizes
from model.config.section import ConfigError, require
from model.files import CheckpointError
from model.messages import Message
from model.safety.json_files import MAX_VOCABULARY_BYTES, read_text
from model.safety.sizes import require_memory
from model.safety.torch_files import read_saved_file
from model.text.bounded_tokenizer import require_bounded_tokenizer
from model.text.encoding import Tokenizer
from model.text.tokenizers import TokenizerPair
from model.text.vocab import Specials
from model.text.vocabulary_list import ListedTokenizer, read_file_tokenizer, read_vocabulary

__all__ = ["open_tutorial", "read_description"]

MERGES = "merges.txt"  # beside the vocab.json of GPT-2
Described = TranslatorDescription | DecoderDescription


def read_description(folder: Path) -> ForeignConfig:
    """Read the description of a folder. Of its weights, only the names, the shapes and the positions are used.

    Raises:
        CheckpointError: `headlight.toml` or a vocabulary is missing or wrong, or the weights do not fit it.
    """
    described = described_in(folder)
    return config_of(
        described, fit(described, read_saved_file(described.weights)) if described.weights.exists() else None
    )


def config_of(described: Described, fitted: Fit | None) -> ForeignConfig:
    sizes = described.model if fitted is None else fitted.config
    if isinstance(described, DecoderDescription):
        family = Message("decoder alone, {layout} layout", layout=described.names.layout)
        kind = described.tokens or "subwords"
    else:
        family = Message("state dict, {layout} layout", layout=described.names.layout)
        kind = "subwords" if described.source.tokenizer else described.tokens or "words"
    return ForeignConfig(
        family=family,
        task=described.task,
        model=shown_sizes(sizes) if isinstance(sizes, DecoderSizes) else sizes,
        tokenizer=ForeignTexts(kind=kind),
        values=described.values,
        notes=() if fitted is None else fitted.notes,
    )


def open_tutorial(folder: Path, *, device: str = "cpu", max_bytes: int | None = None) -> Checkpoint:
    """Load a folder with `headlight.toml` for use.

    Args:
        folder: Contains `headlight.toml` and the files that it names.
        device: Where the model runs.
        max_bytes: The largest memory that the model may take; no limit by default.

    Raises:
        CheckpointError: a file is missing, damaged, or does not fit the others. The message names tensors that are
            missing, not used or of another shape.
    """
    described = described_in(folder)
    fitted = fit(described, read_saved_file(described.weights))
    require_memory(fitted.numbers, folder.name, max_bytes)
    try:
        pair = decoder_pair(described) if isinstance(described, DecoderDescription) else translator_pair(described)
    except ConfigError as error:
        raise CheckpointError("{folder} cannot be opened: {problem}", folder=folder.name, problem=error) from error
    model = make_model(described, fitted.config)
    take(model, fitted.weights, fitted.absent, fitted.positions)
    return Checkpoint(path=folder, config=config_of(described, fitted), model=ready(model, device), tokenizers=pair)


def translator_pair(described: TranslatorDescription) -> TokenizerPair:
    """The tokenizers of both sides."""

    def tokenizer_of(side: Side) -> Tokenizer:
        if side.tokenizer is not None:
            return side.tokenizer.with_marks(side.marks.special)
        kind, marks = described.tokens or "words", side.marks
        return ListedTokenizer(side.vocabulary, kind=kind, unknown=marks.unknown, marks=marks.special)

    source, target = tokenizer_of(described.source), tokenizer_of(described.target)
    return TokenizerPair(source=source, target=target, specials=described.specials)


def decoder_pair(described: DecoderDescription) -> TokenizerPair:
    """The tokenizer of both sides, and the special tokens.

    Raises:
        CheckpointError: a part of the tokenizer may need unlimited time or memory.
        ConfigError: a file cannot be used, a special token is missing, or the model has no vectors for some tokens.
    """
    require_bounded_tokenizer(described.folder)
    path, named = described.vocabulary, described.specials
    backend = library_tokenizer(path)
    vocabulary: Mapping[str, int] = read_vocabulary(path) if backend is None else backend.get_vocab()
    size, rows = max(vocabulary.values()) + 1, described.model.vocab_size
    require(
        size <= rows,
        "its tokenizer has {size} tokens, and its model has embeddings for {rows}.",
        size=f"{size:,}",
        rows=f"{rows:,}",
    )
    for token in (named.bos, named.eos, named.unknown):
        require(
            not token or token in vocabulary,
            "the vocabulary does not have the token {token}. Write a token of the vocabulary in [specials].",
            token=repr(token),
        )
    bos, eos, unknown = (vocabulary.get(token) for token in (named.bos, named.eos, named.unknown))
    # Nothing is typed: the model reads a token that stands before a text, or a new line.
    first = next(i for i in (bos, eos, vocabulary.get("\n"), min(vocabulary.values())) if i is not None)
    specials = Specials(
        bos=first,
        eos=-1 if eos is None else eos,  # −1 is never written
        before=() if bos is None else (bos,),
        unknown=unknown,
        marks=frozenset(i for i in (bos, eos) if i is not None),
    )
    tokenizer: Tokenizer
    if backend is None:
        kind = described.tokens or ("characters" if all(len(token) == 1 for token in vocabulary) else "words")
        tokenizer = ListedTokenizer(vocabulary, kind=kind, unknown=unknown, marks=specials.marks)
    else:
        from model.foreign.tokenizer import ForeignTokenizer

        marks = {"bos_token": named.bos, "eos_token": named.eos, "unk_token": named.unknown}
        backend.add_special_tokens({name: token for name, token in marks.items() if token})
        tokenizer = ForeignTokenizer(backend)
    return TokenizerPair(source=tokenizer, target=tokenizer, specials=specials)


def library_tokenizer(path: Path) -> Any:
    """The library's tokenizer, so that a text has the ids that it had in training; None for a list of tokens."""
    merges = path.parent / MERGES
    is_file = read_file_tokenizer(path) is not None
    if path.suffix != ".model" and not is_file and (path.suffix != ".json" or not merges.exists()):
        return None
    from tokenizers import Tokenizer as Backend
    from tokenizers import decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    from model.foreign.tokenizer import Pieces

    if path.suffix == ".model":
        return Pieces(vocab_file=str(path))
    if is_file:
        return PreTrainedTokenizerFast(tokenizer_file=str(path))
    lines = read_text(merges, max_bytes=MAX_VOCABULARY_BYTES).splitlines()
    pairs = (line.partition(" ") for line in lines if not line.startswith("#version"))
    tokenizer = Backend(models.BPE(vocab=read_vocabulary(path), merges=[(a, b) for a, _, b in pairs if b]))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)
