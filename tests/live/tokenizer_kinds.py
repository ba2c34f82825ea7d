"""Small tokenizers with the parts of well-known families, learned from sentences of our own."""

import io
import json
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from sentencepiece import SentencePieceTrainer
from sentencepiece.sentencepiece_model_pb2 import ModelProto  # type: ignore[attr-defined]
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors, trainers

from tests.live.texts import BOOKS, phrases
from tools.small_models import SENTENCES

__all__ = ["KINDS", "SENTENCE_PIECE_FILES", "write_marian"]

# Patterns that folders of these families contain.
LLAMA_3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+"
    r"|\s+(?!\S)|\s+"
)
QWEN = LLAMA_3.replace(r"\p{N}{1,3}", r"\p{N}")
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"
)
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
SIZE = 700


@cache
def texts() -> tuple[str, ...]:
    return (*SENTENCES, *(line for language in BOOKS for line in phrases(language, 150)))


@cache
def trained(**options: Any) -> bytes:
    """The file of SentencePiece after training, with its usual normalization."""
    written = io.BytesIO()
    SentencePieceTrainer.train(
        sentence_iterator=iter(texts()), model_writer=written, **{"vocab_size": SIZE, "minloglevel": 2, **options}
    )
    return written.getvalue()


@cache
def sentence_pieces() -> ModelProto:
    model = ModelProto()
    model.ParseFromString(trained())
    return model


def write_marian(folder: Path) -> None:
    """Files as in the folders of Helsinki-NLP: the two languages share their numbers."""
    source, target = trained(), trained(vocab_size=500)
    pieces = [piece for content in (source, target) for piece in pieces_of(content)[3:]]
    tokens = dict.fromkeys(("</s>", "<unk>", *pieces[20:], ">>deu<<", "<pad>"))  # some pieces have no number
    (folder / "source.spm").write_bytes(source)
    (folder / "target.spm").write_bytes(target)
    (folder / "vocab.json").write_text(json.dumps({token: i for i, token in enumerate(tokens)}), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text('{"source_lang": "en", "target_lang": "de"}', encoding="utf-8")


def pieces_of(content: bytes) -> list[str]:
    model = ModelProto()
    model.ParseFromString(content)
    return [piece.piece for piece in model.pieces]


def write_t5(folder: Path) -> None:
    (folder / "spiece.model").write_bytes(trained(pad_id=0, eos_id=1, unk_id=2, bos_id=-1))
    (folder / "tokenizer_config.json").write_text('{"extra_ids": 7}', encoding="utf-8")


def write_llama(folder: Path) -> None:
    settings = {"normalization_rule_name": "identity", "remove_extra_whitespaces": False, "split_digits": True}
    (folder / "tokenizer.model").write_bytes(trained(model_type="bpe", byte_fallback=True, **settings))
    settings = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": True}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings), encoding="utf-8")


SENTENCE_PIECE_FILES: Mapping[str, Callable[[Path], None]] = {  # model_type → writes the files of its tokenizer
    "marian": write_marian,
    "t5": write_t5,
    "llama": write_llama,
}


def charsmap() -> normalizers.Precompiled:
    return normalizers.Precompiled(sentence_pieces().normalizer_spec.precompiled_charsmap)


def framed(single: str, pair: str, **ids: int) -> processors.TemplateProcessing:
    return processors.TemplateProcessing(single=single, pair=pair, special_tokens=list(ids.items()))


def special(tokenizer: Tokenizer, *names: str | AddedToken) -> Tokenizer:
    tokenizer.add_special_tokens(list(names))
    return tokenizer


def learned(tokenizer: Tokenizer, **options: Any) -> Tokenizer:
    kind = {"WordPiece": trainers.WordPieceTrainer, "WordLevel": trainers.WordLevelTrainer}
    trainer = kind.get(type(tokenizer.model).__name__, trainers.BpeTrainer)
    tokenizer.train_from_iterator(texts(), trainer(vocab_size=SIZE, show_progress=False, **options))
    return tokenizer


def byte_level(special_tokens: list[str], *steps: Any, normalizer: Any = None, **options: Any) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE(**options))
    if normalizer:
        tokenizer.normalizer = normalizer
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(list(steps)) if len(steps) > 1 else steps[0]
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    return learned(tokenizer, special_tokens=special_tokens, initial_alphabet=alphabet)


def gpt2() -> Tokenizer:
    tokenizer = byte_level(["<|endoftext|>"], pre_tokenizers.ByteLevel(add_prefix_space=False))
    tokenizer.post_processor = processors.ByteLevel(trim_offsets=False)
    return tokenizer


def roberta(*, add_prefix_space: bool = False) -> Tokenizer:
    """BART is the same."""
    level = pre_tokenizers.ByteLevel(add_prefix_space=add_prefix_space)
    tokenizer = byte_level(["<s>", "<pad>", "</s>", "<unk>"], level)
    tokenizer.post_processor = processors.RobertaProcessing(sep=("</s>", 2), cls_token=("<s>", 0))
    return special(tokenizer, AddedToken("<mask>", lstrip=True))


def neox() -> Tokenizer:
    tokenizer = byte_level(
        ["<|endoftext|>"], pre_tokenizers.ByteLevel(add_prefix_space=False), normalizer=normalizers.NFC()
    )
    tokenizer.add_tokens([AddedToken(" " * n, normalized=True) for n in (2, 3, 8)])
    return tokenizer


def split(pattern: str, *, behavior: str = "isolated", invert: bool = False) -> Any:
    return pre_tokenizers.Split(Regex(pattern), behavior=behavior, invert=invert)


def llama_3(pattern: str = LLAMA_3) -> Tokenizer:
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    tokenizer = byte_level([], split(pattern), level, ignore_merges=True)
    special(tokenizer, "<|begin_of_text|>", "<|eot_id|>")
    begin = tokenizer.token_to_id("<|begin_of_text|>")
    template = processors.TemplateProcessing(
        single="<|begin_of_text|> $A",
        pair="<|begin_of_text|> $A <|begin_of_text|>:1 $B:1",
        special_tokens=[("<|begin_of_text|>", begin)],
    )
    tokenizer.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    return tokenizer


def qwen() -> Tokenizer:
    level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    return special(
        byte_level([], split(QWEN), level, normalizer=normalizers.NFC()), "<|endoftext|>", "<|im_start|>", "<|im_end|>"
    )


def with_byte_tokens(special_tokens: list[str], *, drop: int = 0) -> Tokenizer:
    """Byte pairs of whole characters, with tokens for bytes, as SentencePiece makes them for Llama 2 and Gemma."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    learned(tokenizer, special_tokens=[*special_tokens, *BYTES], limit_alphabet=60)
    model = tokenizers_json(tokenizer)["model"]
    vocabulary = {token: i for token, i in model["vocab"].items() if token not in BYTES[256 - drop :]}
    pairs = [tuple(pair) for pair in model["merges"]]
    return Tokenizer(models.BPE(vocab=vocabulary, merges=pairs, unk_token="<unk>", fuse_unk=True, byte_fallback=True))


def tokenizers_json(tokenizer: Tokenizer) -> dict[str, Any]:
    return dict(json.loads(tokenizer.to_str()))


STRIPPED = decoders.Sequence(
    [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(content=" ", left=1)]
)


def llama_2(*, drop: int = 0) -> Tokenizer:
    tokenizer = with_byte_tokens(["<unk>", "<s>", "</s>"], drop=drop)
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = STRIPPED
    tokenizer.post_processor = framed("<s> $A", "<s> $A <s>:1 $B:1", **{"<s>": 1})
    return special(tokenizer, *(AddedToken(token, normalized=False) for token in ("<unk>", "<s>", "</s>")))


def llama_2_first() -> Tokenizer:
    """As newer folders of Llama 2: only the start of a text is marked, not what follows a special token."""
    tokenizer = with_byte_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    tokenizer.decoder = STRIPPED
    return special(tokenizer, *(AddedToken(token, normalized=False) for token in ("<unk>", "<s>", "</s>")))


def gemma() -> Tokenizer:
    tokenizer = with_byte_tokens(["<pad>", "<eos>", "<bos>", "<unk>"])
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.pre_tokenizer = pre_tokenizers.Split(" ", behavior="merged_with_previous")
    tokenizer.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    tokenizer.post_processor = framed("<bos> $A", "<bos> $A <bos>:1 $B:1", **{"<bos>": 2})
    tokenizer.add_tokens([AddedToken("\n" * n, normalized=False) for n in (1, 2, 3)])
    return special(tokenizer, "<pad>", "<eos>", "<bos>", "<unk>")


def bert(*, lowercase: bool = True, **options: Any) -> Tokenizer:
    """ELECTRA, DistilBERT and MiniLM are the same."""
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=30))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=lowercase, **options)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return learned(tokenizer, special_tokens=marks)


def unigram(*, unknown: int | None = 2, byte_fallback: bool = False) -> Tokenizer:
    pieces = [(piece.piece, piece.score) for piece in sentence_pieces().pieces]
    extra = [(token, -20.0) for token in BYTES] if byte_fallback else []
    start = [("<pad>", 0.0), ("</s>", 0.0), ("<unk>", 0.0), *extra]
    known = {token for token, _ in start} | {"<s>"}
    found = [*start, *((token, score) for token, score in pieces if token not in known)]
    return Tokenizer(models.Unigram(found, unknown, byte_fallback=byte_fallback))


def t5(**options: Any) -> Tokenizer:
    tokenizer = unigram(**options)
    tokenizer.normalizer = normalizers.Sequence(
        [charsmap(), normalizers.Strip(left=False, right=True), normalizers.Replace(Regex(" {2,}"), "▁")]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    tokenizer.decoder = decoders.Metaspace()
    tokenizer.post_processor = framed("$A </s>", "$A </s> $B </s>", **{"</s>": 1})
    return special(tokenizer, "<pad>", "</s>", "<unk>", *(f"<extra_id_{n}>" for n in range(12)))


def marian() -> Tokenizer:
    """XLM-R and ALBERT have these parts too."""
    tokenizer = unigram()
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " "), charsmap()]
    )
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    tokenizer.decoder = decoders.Metaspace()
    return special(tokenizer, AddedToken("<unk>", normalized=False), AddedToken("</s>", rstrip=True))


def clip() -> Tokenizer:
    """Byte pairs with a mark at the end of a word, and lower case."""
    tokenizer = Tokenizer(models.BPE(unk_token="<|endoftext|>", end_of_word_suffix="</w>", fuse_unk=False))
    tokenizer.normalizer = normalizers.Sequence(
        [normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()]
    )
    pattern = r"'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+"
    level = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([split(pattern, behavior="removed", invert=True), level])
    tokenizer.decoder = decoders.ByteLevel()
    return learned(tokenizer, special_tokens=["<|startoftext|>", "<|endoftext|>"], end_of_word_suffix="</w>")


def suffixes() -> Tokenizer:
    """The first byte pairs (GPT, XLM): whole characters, and a mark at the end of a word."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>", continuing_subword_prefix="@@"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKD(), normalizers.StripAccents(), normalizers.Strip()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Whitespace(),
            pre_tokenizers.Digits(individual_digits=False),
            pre_tokenizers.Punctuation("contiguous"),
        ]
    )
    tokenizer.decoder = decoders.BPEDecoder()
    return learned(
        tokenizer,
        special_tokens=["<unk>"],
        end_of_word_suffix="</w>",
        continuing_subword_prefix="@@",
        limit_alphabet=50,
    )


def words() -> Tokenizer:
    tokenizer = Tokenizer(models.WordLevel(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFD(), normalizers.Lowercase()])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Digits(individual_digits=True),
            split(r"[.!?]", behavior="merged_with_next"),
            pre_tokenizers.Whitespace(),
        ]
    )
    learned(tokenizer, special_tokens=["<unk>"])
    tokenizer.add_tokens(
        [AddedToken("Mat", single_word=True), AddedToken("__proto__", lstrip=True, rstrip=True), "constructor"]
    )
    return tokenizer


KINDS: Mapping[str, Callable[[], Tokenizer]] = {
    "GPT-2": gpt2,
    "RoBERTa": roberta,
    "RoBERTa with a first space": lambda: roberta(add_prefix_space=True),
    "GPT-NeoX": neox,
    "Llama 3": llama_3,
    "GPT-4": lambda: llama_3(CL100K),
    "Qwen": qwen,
    "Llama 2": llama_2,
    "Llama 2 without some bytes": lambda: llama_2(drop=20),
    "Llama 2, first word": llama_2_first,
    "Gemma": gemma,
    "BERT": bert,
    "BERT, cased": lambda: bert(lowercase=False),
    "BERT, plain": lambda: bert(lowercase=True, strip_accents=False, clean_text=False, handle_chinese_chars=False),
    "T5": t5,
    "T5 with bytes": lambda: t5(byte_fallback=True),
    "Marian": marian,
    "CLIP": clip,
    "GPT": suffixes,
    "words": words,
}
