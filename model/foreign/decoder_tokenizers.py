"""The tokenizer of a decoder alone: a list of tokens, or the files of GPT-2, of SentencePiece or of `tokenizers`."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast
from transformers.tokenization_utils_sentencepiece import SentencePieceBackend

from model.checkpoints.decoder_alone import DecoderDescription, DecoderSpecials
from model.config.section import require
from model.foreign.tokenizer import ForeignTokenizer
from model.safety.json_files import MAX_VOCABULARY_BYTES, read_text
from model.text.bounded_tokenizer import require_bounded_tokenizer
from model.text.encoding import Tokenizer
from model.text.tokenizers import TokenizerPair
from model.text.vocab import Specials
from model.text.vocabulary_list import ListedTokenizer, read_file_tokenizer, read_vocabulary

__all__ = ["decoder_tokenizers"]

MERGES = "merges.txt"  # beside the vocab.json of GPT-2


class Pieces(SentencePieceBackend):
    """SentencePiece itself, so that a text has the ids that it had in training."""

    def convert_tokens_to_string(self, tokens: Sequence[str]) -> str:
        """As SentencePiece, which joins bytes to characters."""
        return str(self.sp_model.decode(list(tokens)))


def decoder_tokenizers(described: DecoderDescription) -> TokenizerPair:
    """The tokenizer of both sides, and the special tokens.

    Raises:
        CheckpointError: a part of the tokenizer may need unlimited time or memory.
        ConfigError: a file cannot be used, a special token is missing, or the model has no vectors for some tokens.
    """
    require_bounded_tokenizer(described.folder)
    path, named = described.vocabulary, described.specials
    backend = backend_of(path)
    vocabulary: Mapping[str, int] = read_vocabulary(path) if backend is None else backend.get_vocab()
    size, rows = max(vocabulary.values()) + 1, described.model.vocab_size
    require(
        size <= rows,
        "its tokenizer has {size} tokens, and its model has embeddings for {rows}.",
        size=f"{size:,}",
        rows=f"{rows:,}",
    )
    specials = specials_of(named, vocabulary)
    tokenizer: Tokenizer
    if backend is None:
        kind = described.tokens or ("characters" if all(len(token) == 1 for token in vocabulary) else "words")
        tokenizer = ListedTokenizer(vocabulary, kind=kind, unknown=specials.unknown, marks=specials.marks)
    else:
        marks = {"bos_token": named.bos, "eos_token": named.eos, "unk_token": named.unknown}
        backend.add_special_tokens({name: token for name, token in marks.items() if token})
        tokenizer = ForeignTokenizer(backend)
    return TokenizerPair(source=tokenizer, target=tokenizer, specials=specials)


def backend_of(path: Path) -> PreTrainedTokenizerBase | None:
    """The library's tokenizer; None for a list of tokens."""
    if path.suffix == ".model":
        return Pieces(vocab_file=str(path))
    if read_file_tokenizer(path) is not None:
        return PreTrainedTokenizerFast(tokenizer_file=str(path))
    if path.suffix != ".json" or not (path.parent / MERGES).exists():
        return None
    lines = read_text(path.parent / MERGES, max_bytes=MAX_VOCABULARY_BYTES).splitlines()
    pairs = (line.partition(" ") for line in lines if not line.startswith("#version"))
    merges = [(first, second) for first, _, second in pairs if second]
    tokenizer = Backend(models.BPE(vocab=read_vocabulary(path), merges=merges))
    tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)


def specials_of(named: DecoderSpecials, vocabulary: Mapping[str, int]) -> Specials:
    """Raises ConfigError if the vocabulary does not have one of the tokens."""
    for token in (named.bos, named.eos, named.unknown):
        require(
            not token or token in vocabulary,
            "the vocabulary does not have the token {token}. Write a token of the vocabulary in [specials].",
            token=repr(token),
        )
    bos, eos, unknown = (vocabulary.get(token) for token in (named.bos, named.eos, named.unknown))
    # Nothing is typed: the model reads a token that stands before a text, or a new line.
    first = next(i for i in (bos, eos, vocabulary.get("\n"), min(vocabulary.values())) if i is not None)
    return Specials(
        bos=first,
        eos=-1 if eos is None else eos,  # −1 is never written
        before=() if bos is None else (bos,),
        unknown=unknown,
        marks=frozenset(i for i in (bos, eos) if i is not None),
    )
