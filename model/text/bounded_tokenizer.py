"""Checks the files of a tokenizer from outside before the library reads them.

The library cannot be interrupted while it splits a text. So every part of a tokenizer must have a known limit on its
time, and on how much longer it makes a text.
"""

import base64
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from pathlib import Path
from typing import Any

from model.config.section import ConfigError, require
from model.files import CheckpointError
from model.messages import first_line
from model.safety.json_files import MAX_CONFIG_BYTES, MAX_VOCABULARY_BYTES, read_json
from model.safety.sizes import numbers_in

__all__ = ["is_linear", "require_bounded", "require_bounded_tokenizer"]

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
    """Check the lengths of the pieces of a SentencePiece model, and its rules for characters."""
    from google.protobuf.message import DecodeError
    from sentencepiece.sentencepiece_model_pb2 import ModelProto  # type: ignore[attr-defined]

    require(file.stat().st_size <= MAX_VOCABULARY_BYTES, "{file} is too long", file=file.name)
    model = ModelProto()
    try:
        model.ParseFromString(file.read_bytes())
    except DecodeError as error:
        raise ConfigError("its model is damaged") from error
    longest = max((piece.ByteSize() for piece in model.pieces), default=0)
    require(longest <= MAX_PIECE, "{file} has a piece of {size} bytes", file=file.name, size=f"{longest:,}")
    if rules := model.normalizer_spec.precompiled_charsmap:
        require_short_characters(rules)


# The library searches with backtracking, so the time of `(a+)+$` doubles with every letter. A pattern passes if one
# attempt to match needs a number of steps proportional to the text. In each alternative, at most one repetition without
# a limit may come before the last part that can fail, and no group with a choice may be repeated. The patterns of
# GPT-2, Llama 3, Qwen, DeepSeek and o200k pass.

# Characters of a pattern; brackets in brackets; ways to match one text; repetitions that count as limited.
MAX_PATTERN, MAX_DEPTH, MAX_CHOICES, MAX_TIMES = 2_000, 50, 64, 100
CLASS = r"\[(?:\\.|\[:\^?\w+:\]|[^\]\\\[])+\]"
ATOM = re.compile(
    rf"\\[pP]\{{\^?\w+\}}|\\x\{{\w+\}}|\\[^\W\dgGkKXRpPxOyYzZ]|\\\W|{CLASS}|[^\\()|*+?{{}}\[\]]", re.DOTALL
)
FLAGS = re.compile(r"\(\?[imsx]+\)")
GROUP = re.compile(r"\((\?(?::|i:|=|!|<=|<!))?(?!\?)")
QUANTIFIER = re.compile(r"([*+?]|\{(\d*),?(\d*)\})([?+]?)")


@dataclass(frozen=True, kw_only=True)
class Part:
    """A character, a group or a lookaround, with its quantifier."""

    body: "tuple[tuple[Part, ...], ...]"  # the alternatives of a group
    least: int
    most: float

    @property
    def endless(self) -> bool:
        return self.most > MAX_TIMES

    @property
    def choices(self) -> int:
        """The number of ways to match one text, if the part is not endless."""
        inside = sum(prod(part.choices for part in alternative) for alternative in self.body) if self.body else 1
        times = 1 if self.endless else int(self.most) - self.least
        return inside + times if self.most == 1 else inside * (times + 1)


def is_linear(pattern: str) -> bool:
    """Whether an attempt to match needs a number of steps proportional to the text; False if that is not known."""
    depths = accumulate({"(": 1, ")": -1}.get(sign, 0) for sign in pattern)
    if len(pattern) > MAX_PATTERN or max(depths, default=0) > MAX_DEPTH:
        return False
    try:
        alternatives, end = read(pattern, 0)
        return end == len(pattern) and all(map(quick, alternatives))
    except ValueError:
        return False


def quick(parts: tuple[Part, ...]) -> bool:
    if len(parts) == 1 and parts[0].body and parts[0].most == 1:  # brackets around the whole pattern
        return all(map(quick, parts[0].body))
    if any(not simple(part) for part in parts):
        return False
    needed = [at for at, part in enumerate(parts) if part.least]
    before = parts[: needed[-1]] if needed else ()  # after the last needed part, nothing can fail
    endless = sum(part.endless for part in before)
    return endless <= 1 and prod(part.choices for part in parts) <= MAX_CHOICES


def simple(part: Part) -> bool:
    """Whether it is a character, or a group that occurs at most once and contains no repetition without a limit."""
    if not part.body:
        return True
    inner = [one for alternative in part.body for one in alternative]
    return part.most == 1 and all(simple(one) and not one.endless for one in inner)


def read(pattern: str, at: int) -> tuple[tuple[tuple[Part, ...], ...], int]:
    """Read the alternatives from a position up to the closing bracket.

    Raises:
        ValueError: the pattern contains something unknown, such as a back-reference.
    """
    alternatives: list[list[Part]] = [[]]
    while at < len(pattern) and pattern[at] != ")":
        if pattern[at] == "|":
            alternatives.append([])
            at += 1
        elif flags := FLAGS.match(pattern, at):
            at = flags.end()
        else:
            body: tuple[tuple[Part, ...], ...] = ()
            if group := GROUP.match(pattern, at):
                body, at = read(pattern, group.end())
                if pattern[at : at + 1] != ")":
                    raise ValueError("a bracket is open")
                at += 1
            elif atom := ATOM.match(pattern, at):
                at = atom.end()
            else:
                raise ValueError(f"{pattern[at:]} is not known")
            least, most, at = quantity(pattern, at)
            alternatives[-1].append(Part(body=body, least=least, most=most))
    return tuple(map(tuple, alternatives)), at


def quantity(pattern: str, at: int) -> tuple[int, float, int]:
    """The fewest and the most repetitions of the part before a position, and where the next part begins."""
    found = QUANTIFIER.match(pattern, at)
    if found is None:
        return 1, 1, at
    if QUANTIFIER.match(pattern, found.end()) or (found[4] == "+" and found[1][0] == "{"):
        raise ValueError("a repetition is repeated")
    if found[1] in ("*", "+", "?"):
        return int(found[1] == "+"), 1 if found[1] == "?" else float("inf"), found.end()
    least = int(found[2] or 0)
    if "," not in found[1]:
        return least, least, found.end()
    return least, int(found[3]) if found[3] else float("inf"), found.end()
