"""Checks the files of a tokenizer from outside before the library reads them.

The library cannot be interrupted while it splits a text. So every part of a tokenizer must have a known limit on its
time, and on how much longer it makes a text.
"""

import base64
import re
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from model.config.section import require
from model.files import CheckpointError
from model.safety.errors import first_line
from model.safety.json_files import MAX_CONFIG_BYTES, MAX_VOCABULARY_BYTES, read_json
from model.safety.sizes import numbers_in
from model.text.linear import is_linear

__all__ = ["require_bounded_tokenizer"]

MAX_PARTS, MAX_PATTERNS = 24, 6  # of a tokenizer; its regular expressions
MAX_NAME, MAX_PIECE, MAX_CHARACTER = 64, 256, 64  # characters; characters; bytes that replace one character
MAX_NUMBER, MAX_WORD = 10_000, 256  # in the settings; characters of a word, because WordPiece tries all parts
# These parts may make a text several times as long, so each may occur once.
EXPANDING = {"NFKC", "NFKD", "Precompiled", "ByteLevel"}
PARTS = EXPANDING | {
    *("Sequence", "Replace", "BertNormalizer", "Strip", "StripAccents", "NFC", "NFD", "Lowercase", "Nmt", "Prepend"),
    *("Metaspace", "Split", "Punctuation", "Digits", "Whitespace", "WhitespaceSplit", "BertPreTokenizer"),
    *("CharDelimiterSplit", "UnicodeScripts", "FixedLength"),
    *("BertProcessing", "RobertaProcessing", "TemplateProcessing"),
    *("WordPiece", "BPEDecoder", "CTC", "Fuse", "ByteFallback"),
}
MODELS = ("BPE", "WordPiece", "WordLevel", "Unigram")
STAGES = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
COUNTED = re.compile("extra_ids|offset|num_madeup_words")  # the library counts up to these settings
SETTINGS = ("tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "generation_config.json")


def require_bounded_tokenizer(folder: Path) -> None:
    """Check the files of a tokenizer without running it.

    Raises:
        CheckpointError: a file is too long or damaged, or a part of the tokenizer may need unlimited time or memory.
    """
    try:
        for file in (*sorted(folder.iterdir()), *sorted(folder.glob("additional_chat_templates/*.jinja"))):
            if file.name in SETTINGS:
                require_modest_settings(file)
            elif file.name == "tokenizer.json":
                require_bounded(read_json(file, max_bytes=MAX_VOCABULARY_BYTES))
            elif file.suffix in (".model", ".spm"):
                require_bounded_pieces(file)
            elif file.suffix in (".txt", ".json", ".jinja"):
                require(file.stat().st_size <= MAX_VOCABULARY_BYTES, "{file} is too long", file=file.name)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
        raise CheckpointError(
            "The tokenizer of {folder} cannot be used: {problem}", folder=folder.name, problem=first_line(error)
        ) from error


def require_modest_settings(file: Path) -> None:
    """Raises ValueError if the settings are too long, contain too large numbers, or name another file."""
    settings = read_json(file, max_bytes=4 * MAX_CONFIG_BYTES)
    # The library would read one of these files instead of tokenizer.json, from any folder.
    require(
        "fast_tokenizer_files" not in settings,
        "{file} names fast_tokenizer_files, which is not allowed",
        file=file.name,
    )
    for key, value in numbers_in(settings):
        counts = COUNTED.search(key) and file.name == "tokenizer_config.json"
        require(
            not counts or abs(value) <= MAX_NUMBER,
            "{key} is {value} in {file}",
            key=key,
            value=f"{value:,}",
            file=file.name,
        )


def require_bounded(values: Mapping[str, Any]) -> None:
    """Raises ValueError if a part of `tokenizer.json` has no known limit, and other errors if it is damaged."""
    parts = {stage: list(parts_of(values.get(stage))) for stage in STAGES}
    for stage, found in parts.items():
        kinds = [str(part["type"]) for part in found]
        require(len(kinds) <= MAX_PARTS, "its {stage} has {kinds} parts", stage=stage, kinds=len(kinds))
        require(
            set(kinds) <= PARTS,
            "its {stage} has a part {part}",
            stage=stage,
            part=", ".join(sorted(set(kinds) - PARTS))[:100],
        )
        if stage != "post_processor":
            twice = [kind for kind in EXPANDING if kinds.count(kind) > 1]
            require(
                not twice,
                "its {stage} has {twice} twice, which may make a text longer without end",
                stage=stage,
                twice=", ".join(twice),
            )
    every = [part for found in parts.values() for part in found]
    patterns = [part["pattern"]["Regex"] for part in every if "Regex" in (part.get("pattern") or {})]
    require(len(patterns) <= MAX_PATTERNS, "it has {patterns} regular expressions", patterns=len(patterns))
    for pattern in patterns:
        require(
            is_linear(pattern), "the time of its regular expression {pattern} may have no bound", pattern=pattern[:80]
        )
    for part in every:
        require_bounded_part(part)
    require_bounded_model(values["model"])
    padding = values.get("padding") or {}
    strategy = padding.get("strategy")
    fixed = strategy.get("Fixed", 0) if isinstance(strategy, dict) else 0
    require(
        max(fixed, padding.get("pad_to_multiple_of") or 0) <= MAX_NUMBER,
        "it pads texts to {fixed} tokens",
        fixed=f"{fixed:,}",
    )


def parts_of(stage: Any) -> Iterator[Mapping[str, Any]]:
    """The parts of a stage in order, including those inside sequences."""
    if stage is None:
        return
    yield stage
    if stage["type"] == "Sequence":
        for name in ("normalizers", "pretokenizers", "processors", "decoders"):
            for part in stage.get(name, ()):
                yield from parts_of(part)


def require_bounded_part(part: Mapping[str, Any]) -> None:
    for name, value in part.items():
        if isinstance(value, str) and name != "precompiled_charsmap":
            require(
                len(value) <= MAX_NAME,
                "{name} of its part {part} has {size} characters",
                name=name,
                part=part["type"],
                size=f"{len(value):,}",
            )
        elif isinstance(value, int):
            require(
                abs(value) <= MAX_NUMBER,
                "{name} of its part {part} is {value}",
                name=name,
                part=part["type"],
                value=f"{value:,}",
            )
    if part["type"] == "Replace":
        content, text = part["content"], part["pattern"].get("String")
        spread = max(len(content), len(unicodedata.normalize("NFKD", content)))
        require(
            spread <= (1 if text is None else len(text)),
            "it replaces {text} by the longer {content}",
            text=repr(text),
            content=repr(content[:20]),
        )
    elif part["type"] == "Precompiled" and part["precompiled_charsmap"]:
        require_short_characters(base64.b64decode(part["precompiled_charsmap"]))
    elif part["type"] == "TemplateProcessing":
        texts = [piece for piece in part["single"] if "Sequence" in piece]
        require(len(texts) <= 1 and len(part["single"]) <= MAX_NAME, "it writes a text more than once")


def require_short_characters(rules: bytes) -> None:
    """Check SentencePiece's rules for characters: the length of a search tree, the tree, and the replacements."""
    texts = rules[4 + int.from_bytes(rules[:4], "little") :].split(b"\0")
    require(max(map(len, texts)) <= MAX_CHARACTER, "it replaces one character by a long text")


def require_bounded_model(model: Mapping[str, Any]) -> None:
    kind = model.get("type") or "BPE"
    require(kind in MODELS, "its model is {kind}", kind=kind)
    for name in ("unk_token", "continuing_subword_prefix", "end_of_word_suffix"):
        require(
            len(model.get(name) or "") <= MAX_NAME,
            "{name} has more than {max_name} characters",
            name=name,
            max_name=MAX_NAME,
        )
    longest = model.get("max_input_chars_per_word", 100)
    require(
        longest <= MAX_WORD,
        "max_input_chars_per_word is {longest}; up to {max_word} can be cut in time",
        longest=f"{longest:,}",
        max_word=MAX_WORD,
    )
    if kind == "Unigram":
        longest = max((len(piece[0]) for piece in model["vocab"]), default=0)
        require(longest <= MAX_PIECE, "it has a piece of {longest} characters", longest=f"{longest:,}")


def require_bounded_pieces(file: Path) -> None:
    """Check a SentencePiece model. It is a protocol buffer message with pieces (1) and a normalizer (3)."""
    require(file.stat().st_size <= MAX_VOCABULARY_BYTES, "{file} is too long", file=file.name)
    for number, message in messages(file.read_bytes()):
        if number == 1:
            require(
                len(message) <= MAX_PIECE,
                "{file} has a piece of {size} bytes",
                file=file.name,
                size=f"{len(message):,}",
            )
        elif number == 3:
            for rules in (inner for name, inner in messages(message) if name == 2 and inner):
                require_short_characters(rules)


def messages(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The fields of a message that contain bytes, each with its number."""
    at = 0
    while at < len(data):
        tag, at = number_at(data, at)
        if tag & 7 == 2:
            length, at = number_at(data, at)
            require(at + length <= len(data), "its model is damaged")
            yield tag >> 3, data[at : at + length]
            at += length
        elif tag & 7 == 0:
            _, at = number_at(data, at)
        else:
            width = {1: 8, 5: 4}.get(tag & 7)
            require(width is not None, "its model is damaged")
            at += width or 0


def number_at(data: bytes, at: int) -> tuple[int, int]:
    """A number with seven bits in each byte, and the position after it."""
    value = 0
    for shift in range(0, 70, 7):
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            return value, at
    raise ValueError("its model is damaged")
