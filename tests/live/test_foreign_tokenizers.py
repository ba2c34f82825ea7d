"""The engine reads the tokenizers of other people's folders: the same ids and texts as the library `tokenizers`."""

import copy
import json
import random
import subprocess
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerFast

from model.foreign.tokenizer import ForeignTokenizer
from tests.conftest import PATIENCE
from tests.javascript.check import program
from tests.live.texts import hard_lines
from tests.live.tokenizer_kinds import KINDS, SENTENCE_PIECE_FILES

SCRIPT = Path(__file__).parent / "run_tokenizer.mjs"
SECOND = "A second text: [MASK]<mask> and </s>."
MOST = 12  # tokens of a pair
# Letters, signs, marks and controls of old versions of Unicode. The library's tables differ in what came later.
OLD = [chr(i) for i in range(0x20000) if unicodedata.ucd_3_2_0.category(chr(i)) not in ("Cn", "Cs")]
EMOJI = ["😀", "🐕", "👩\u200d👩\u200d👧", "🇩🇪", "👍🏽", "❤\ufe0f", "1\ufe0f\u20e3"]
MARKS = (
    "[MASK]",
    "<mask>",
    "</s>",
    "<s>",
    "<unk>",
    "<|endoftext|>",
    " <mask> x",
    "<extra_id_1>",
    "constructor",
    "__proto__",
)


def lines(count: int) -> list[str]:
    """Our own lines, and random characters with marks of special tokens."""
    draws = random.Random(11)
    rows = [draws.choices([*OLD, *EMOJI * 400, *MARKS * 200, *" eE\u0301'1\n" * 500], k=12) for _ in range(count)]
    # A half of a pair of UTF-16 is no text for Python.
    return ["".join(row) for row in rows] + [line for line in hard_lines(count) if line.isascii() or line.isprintable()]


def run(jobs: Sequence[Mapping[str, object]]) -> list[Any]:
    command = [program("node"), "--disable-warning=MODULE_TYPELESS_PACKAGE_JSON", str(SCRIPT)]
    found = subprocess.run(
        command, input=json.dumps(jobs), capture_output=True, encoding="utf-8", timeout=PATIENCE, check=False
    )
    assert found.returncode == 0, found.stderr
    return list(json.loads(found.stdout))


def require_same(found: Any, tokenizer: Tokenizer, texts: Sequence[str], name: str) -> None:
    assert "code" not in found, (name, found)
    for text, line in zip(texts, found["lines"], strict=True):
        ids = tokenizer.encode(text, add_special_tokens=False).ids
        assert line["ids"] == ids, (name, ascii(text))
        assert line["text"] == tokenizer.decode(ids), (name, ascii(text))
        for ours, theirs in zip(line["framed"], (tokenizer.encode(text), tokenizer.encode(text, SECOND)), strict=True):
            assert ours["ids"] == theirs.ids, (name, ascii(text))
            segments = set(zip(theirs.sequence_ids, theirs.type_ids, strict=True))  # of the first and the second text
            assert {one for one in segments if one[0] is not None} <= {(0, 0), (1, found["specials"]["segment"])}, name


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Tokenizer]:
    return {name: make() for name, make in KINDS.items()}


def test_every_kind_has_the_same_ids_texts_and_templates(tokenizers: dict[str, Tokenizer]) -> None:
    texts = lines(90)
    jobs = [
        {"files": {"tokenizer.json": one.to_str()}, "lines": texts, "second": SECOND} for one in tokenizers.values()
    ]
    for (name, tokenizer), found in zip(tokenizers.items(), run(jobs), strict=True):
        require_same(found, tokenizer, texts, name)


NAMED = {"bos_token": "<s>", "eos_token": "</s>", "unk_token": "<unk>", "mask_token": "<mask>", "pad_token": "<pad>"}
BERT = {f"{name}_token": f"[{name.upper()}]" for name in ("unk", "pad", "cls", "sep", "mask")}
SHOWN = {"RoBERTa": NAMED, "Llama 2": NAMED, "T5": NAMED, "BERT": BERT, "Qwen": {"eos_token": "<|im_end|>"}, "GPT": {}}


def test_tokens_and_words_are_shown_as_in_the_app(tokenizers: dict[str, Tokenizer]) -> None:
    texts = [line for line in lines(120) if line.isprintable()]
    settings = {
        name: {k: v for k, v in named.items() if tokenizers[name].token_to_id(v) is not None}
        for name, named in SHOWN.items()
    }
    jobs = [
        {
            "files": {"tokenizer.json": tokenizers[name].to_str(), "special_tokens_map.json": json.dumps(named)},
            "lines": texts,
            "second": SECOND,
            "most": MOST,
        }
        for name, named in settings.items()
    ]
    for (name, named), found in zip(settings.items(), run(jobs), strict=True):
        theirs = PreTrainedTokenizerFast(tokenizer_object=tokenizers[name], **named)
        python = ForeignTokenizer(theirs)
        assert found["size"] == python.size, name
        special = found["specials"]
        named_ids = (theirs.unk_token_id, theirs.mask_token_id, theirs.pad_token_id)
        assert tuple(special[part] for part in ("unknown", "mask", "padding")) == named_ids, name
        for text, line in zip(texts, found["lines"], strict=True):
            assert line["tokens"] == list(python.tokens(line["ids"])), (name, ascii(text))
            assert line["words"] == list(python.words(line["ids"])), (name, ascii(text))
            whole, pair = line["framed"]
            start, end = len(special["before"]), len(whole["ids"]) - len(special["after"])
            assert whole["ids"][:start] + line["ids"] + whole["ids"][end:] == whole["ids"]
            assert pair["ids"] == theirs(text, SECOND, truncation=True, max_length=MOST)["input_ids"]
            assert [part == "" for part in pair["parts"]].count(True) + pair["dropped"] + pair["parts"].count(
                "A"
            ) + pair["parts"].count("B") == len(theirs(text, SECOND)["input_ids"])


def test_older_folders_without_tokenizer_json(tokenizers: dict[str, Tokenizer]) -> None:
    def ordered(tokenizer: Tokenizer) -> list[str]:
        return sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().__getitem__)

    def pairs(tokenizer: Tokenizer) -> dict[str, str]:
        merges = json.loads(tokenizer.to_str())["model"]["merges"]
        written = "\n".join(("#version: 0.2", *map(" ".join, merges), ""))
        return {"vocab.json": json.dumps(tokenizer.get_vocab()), "merges.txt": written}

    names = ("BERT", "BERT, cased", "GPT-2", "RoBERTa", "RoBERTa with a first space")
    folders = [
        {"vocab.txt": "\n".join((*ordered(tokenizers["BERT"]), ""))},
        {
            "vocab.txt": "\n".join(ordered(tokenizers["BERT, cased"])),
            "tokenizer_config.json": json.dumps({"do_lower_case": False, **BERT}),
        },
        pairs(tokenizers["GPT-2"]),
        pairs(tokenizers["RoBERTa"]),
        pairs(tokenizers["RoBERTa with a first space"])
        | {"tokenizer_config.json": json.dumps({"add_prefix_space": True})},
    ]
    texts = [line for line in lines(60) if len(line) < 30]  # words of BERT may have more characters there
    found = run([{"files": files, "lines": texts, "second": SECOND} for files in folders])
    for name, one in zip(names, found, strict=True):
        require_same(one, tokenizers[name], texts, name)


@pytest.mark.filterwarnings("ignore:Recommended. pip install sacremoses")
@pytest.mark.parametrize("model_type", SENTENCE_PIECE_FILES)
def test_folders_with_files_of_sentencepiece_alone(model_type: str, tmp_path: Path) -> None:
    SENTENCE_PIECE_FILES[model_type](tmp_path)
    (tmp_path / "config.json").write_text(json.dumps({"model_type": model_type}), encoding="utf-8")
    theirs = AutoTokenizer.from_pretrained(tmp_path)
    texts = [*lines(100), " >>deu<< a", ">>deu<< a dog", ">>xyz<<a", "a </s>b<unk>  c "]
    (found,) = run([{"files": files_of(tmp_path), "lines": texts, "second": SECOND}])
    assert "code" not in found, found
    assert found["size"] == len(theirs)
    for text, line in zip(texts, found["lines"], strict=True):
        ids = theirs(text, add_special_tokens=False)["input_ids"]
        assert line["ids"] == ids, ascii(text)
        assert line["text"].strip() == theirs.decode(ids, skip_special_tokens=True).strip(), ascii(text)
        assert line["framed"][0]["ids"] == theirs(text)["input_ids"], ascii(text)


def files_of(folder: Path) -> dict[str, str]:
    """As the page reads them: a file of SentencePiece has one character for each byte."""
    return {
        path.name: path.read_bytes().decode("latin-1" if path.suffix in (".spm", ".model") else "utf-8")
        for path in folder.iterdir()
    }


def test_damaged_files_of_sentencepiece_end_in_a_sentence_in_time(tmp_path: Path) -> None:
    SENTENCE_PIECE_FILES["llama"](tmp_path)
    whole = files_of(tmp_path)["tokenizer.model"]
    piece, normal, last = "\x0a\x03\x0a\x01a", "\x12\x02\x18\x02", "\x1a\x00"  # byte pairs
    hostile = {
        "cut": whole[:-7],
        "nothing": "",
        "a text": "a text",
        "a length beyond the end": "\x0a\xff\xff\xff\xff\x7f",
        "an endless number": "\x08" + "\xff" * 10**6,
        "no message in a piece": "\x0a\x01\xff" + normal + last,
        "no settings": piece,
        "a long piece": "\x0a\xc8\x01\x0a\xc5\x01" + "a" * 197 + normal + last,
        "many pieces": piece * 300_001 + normal + last,
        "many settings": piece + normal * 300_001 + last,
        "many places to merge": ("\x0a\x82\x01\x0a\x80\x01" + "a" * 128) * 33_000 + normal + last,
    }
    found = run([{"files": {"tokenizer.model": content}, "lines": ["a"]} for content in hostile.values()])
    for name, one in zip(hostile, found, strict=True):
        assert one["code"] == "tokenizer-damaged", (name, one)
        assert one["time"] < 5000, name
    (good,) = run([{"files": {"tokenizer.model": piece + normal + last}, "lines": ["a"]}])
    assert good["size"] == 1


def test_special_tokens_that_no_setting_names_have_their_usual_names(
    tokenizers: dict[str, Tokenizer], tmp_path: Path
) -> None:
    """As in the folder of bert-base-uncased."""
    kinds = {"bert": "BERT", "roberta": "RoBERTa", "gpt2": "GPT-2", "t5": "T5"}
    for model_type, name in kinds.items():
        files = {
            "config.json": json.dumps({"model_type": model_type}),
            "tokenizer.json": tokenizers[name].to_str(),
            "tokenizer_config.json": json.dumps({"do_lower_case": True, "model_max_length": 512}),
        }
        folder = tmp_path / model_type
        folder.mkdir()
        for file, content in files.items():
            (folder / file).write_text(content, encoding="utf-8")
        theirs = AutoTokenizer.from_pretrained(folder)
        (found,) = run([{"files": files, "lines": []}])
        assert found["specials"]["mask"] == theirs.mask_token_id, name
        assert found["specials"]["end"] == theirs.eos_token_id or found["specials"]["end"] == theirs.sep_token_id, name


Change = Callable[[dict[str, Any]], object]
REGEX = {"type": "Split", "behavior": "Isolated", "invert": False}
LONG = "a" * 15_000


def part(stage: str, **values: Any) -> Change:
    return lambda file: file.update({stage: values})


def pattern(regex: str) -> Change:
    return part("pre_tokenizer", **REGEX, pattern={"Regex": regex})


def repeated(stage: str, name: str, count: int, **values: Any) -> Change:
    return part(stage, type="Sequence", **{name: [values] * count})


HOSTILE: Mapping[str, tuple[str, Change, str]] = {
    "no model": ("GPT-2", lambda file: file.pop("model"), "damaged"),
    "another model": ("GPT-2", lambda file: file["model"].update(type="constructor"), "damaged"),
    "a merge without a token": ("GPT-2", lambda file: file["model"]["merges"].append(["a", "€€"]), "damaged"),
    "a huge id": ("GPT-2", lambda file: file["model"]["vocab"].update(x=2**40), "damaged"),
    "a negative id": ("GPT-2", lambda file: file["model"]["vocab"].update(x=-1), "damaged"),
    "merges at random": ("GPT-2", lambda file: file["model"].update(dropout=0.5), "unsupported"),
    "long words": ("BERT", lambda file: file["model"].update(max_input_chars_per_word=10**9), "unsupported"),
    "a long piece": ("T5", lambda file: file["model"]["vocab"].append(["a" * 5000, -1.0]), "unsupported"),
    "an unknown part": ("GPT-2", part("normalizer", type="toString"), "unsupported"),
    "an inherited part": ("GPT-2", part("decoder", type="__proto__"), "unsupported"),
    "nested without end": (
        "GPT-2",
        lambda file: file.update(normalizer=nested(400)),
        "damaged",
    ),
    "many parts": ("GPT-2", repeated("normalizer", "normalizers", 30, type="NFC"), "unsupported"),
    "growth": (
        "GPT-2",
        repeated("normalizer", "normalizers", 20, type="Replace", pattern={"String": "a"}, content="a" * 60),
        "unsupported",
    ),
    "growing bytes": (
        "GPT-2",
        repeated("pre_tokenizer", "pretokenizers", 20, type="ByteLevel", add_prefix_space=True, use_regex=False),
        "unsupported",
    ),
    "a long text for a letter": (
        "GPT-2",
        part("normalizer", type="Replace", pattern={"String": "a"}, content="a" * 10**6),
        "unsupported",
    ),
    "two texts": (
        "Llama 2",
        lambda file: file["post_processor"]["single"].append({"Sequence": {"id": "A", "type_id": 0}}),
        "unsupported",
    ),
    "a template without ids": ("Llama 2", lambda file: file["post_processor"].update(special_tokens={}), "damaged"),
    "a template beside the vocabulary": (
        "Llama 2",
        lambda file: file["post_processor"]["special_tokens"]["<s>"].update(ids=[9 * 10**9]),
        "damaged",
    ),
    "a template with a name in the place of an id": (
        "Llama 2",
        lambda file: file["post_processor"]["special_tokens"]["<s>"].update(ids=["__proto__"]),
        "damaged",
    ),
    "a part without a name": ("GPT-2", lambda file: file.update(normalizer={}), "damaged"),
    "a number as a token": ("T5", lambda file: file["model"]["vocab"].append([5, -1.0]), "damaged"),
    "an unknown token of another vocabulary": ("T5", lambda file: file["model"].update(unk_id=-1), "damaged"),
    "a long mark in a word": ("Llama 2", lambda file: file["model"].update(end_of_word_suffix="#" * 10**6), "damaged"),
    "a long mark before a word": ("BERT", lambda file: file["model"].update(continuing_subword_prefix=LONG), "unsup"),
    "many added tokens to change": (
        "GPT-2",
        lambda file: file.update(
            normalizer={"type": "Sequence", "normalizers": [{"type": "NFKD"}] * 24},
            added_tokens=[{"id": 999 + n, "content": f"{n:050}", "normalized": True} for n in range(20_000)],
        ),
        "damaged",
    ),
    "many added": (
        "GPT-2",
        lambda file: file.update(added_tokens=[{"id": n, "content": f"t{n}"} for n in range(10**5 + 1)]),
        "damaged",
    ),
    "many merges": ("GPT-2", lambda file: file["model"].update(merges=["a a"] * (2**20 + 1)), "damaged"),
    "many names": ("GPT-2", lambda file: file.update(more=dict.fromkeys(map(str, range(3 << 18)), 0)), "damaged"),
    "many values": ("GPT-2", lambda file: file.update(more=[0] * (2**22 + 1)), "damaged"),
    "slow patterns together": (
        "GPT-2",
        repeated("pre_tokenizer", "pretokenizers", 24, **REGEX, pattern={"Regex": "(?:a?|b?|c?)[ab]+c"}),
        "pattern",
    ),
    "a large table": (
        "T5",
        part("normalizer", type="Precompiled", precompiled_charsmap="A" * (8 << 20) + "A"),
        "unsupported",
    ),
    "doubling time": ("GPT-2", pattern("(a+)+$"), "pattern"),
    "two endless parts": ("GPT-2", pattern(r"\s*a*a*b"), "pattern"),
    "a choice in a repetition": ("GPT-2", pattern("(?:a|a)*b"), "pattern"),
    "a back-reference": ("GPT-2", pattern(r"(a)\1"), "pattern"),
    "an open bracket": ("GPT-2", pattern("(((("), "pattern"),
    "an unknown property": ("GPT-2", pattern(r"\p{Nothing}"), "pattern"),
    "a long pattern": ("GPT-2", pattern("a" * 10_000), "pattern"),
    "no pattern": ("GPT-2", part("pre_tokenizer", **REGEX, pattern={"Regex": 5}), "pattern"),
    "a damaged table": ("T5", part("normalizer", type="Precompiled", precompiled_charsmap="!!"), "damaged"),
    "a slow piece": ("Llama 2", lambda file: file["model"].update(max=1), ""),
    "slow pieces": ("T5", lambda file: file["model"]["vocab"].append(["a" * 128, -1.0]), ""),
    "a slow pattern": ("GPT-2", pattern("[ab]+c"), ""),
    "many added tokens": ("GPT-2", lambda file: file["added_tokens"].extend(many_added()), ""),
}


def nested(depth: int) -> dict[str, Any]:
    inner: dict[str, Any] = {"type": "NFC"}
    for _ in range(depth):
        inner = {"type": "Sequence", "normalizers": [inner, inner if depth < 3 else {"type": "NFC"}]}
    return inner


def many_added() -> list[dict[str, Any]]:
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), True)
    return [{"id": 700 + n, "content": "a" * n + "b", **flags} for n in range(1, 99)]


def test_hostile_tokenizers_end_in_a_sentence_in_time(tokenizers: dict[str, Tokenizer]) -> None:
    whole = {name: json.loads(tokenizers[name].to_str()) for name in {kind for kind, _, _ in HOSTILE.values()}}
    jobs = []
    for kind, change, _ in HOSTILE.values():
        file = copy.deepcopy(whole[kind])
        change(file)
        jobs.append({"files": {"tokenizer.json": json.dumps(file)}, "lines": ["a short text", LONG]})
    others = [{}, {"tokenizer.json": "null"}, {"tokenizer.json": "["}, {"tokenizer.json": "{}"}, {"vocab.json": "{}"}]
    many = "\n".join(map(str, range(2**19 + 1)))
    others += [{"vocab.txt": many}, {"vocab.json": "{}", "merges.txt": many}, {"vocab.txt": "[PAD]\n[UNK]\na"}]
    found = run([*jobs, *({"files": files, "lines": ["a"]} for files in others)])
    for (name, (_, _, code)), one in zip(HOSTILE.items(), found, strict=False):
        assert (code in one["code"]) if code else "code" not in one, (name, one)
        assert "sentence" not in one or one["sentence"].endswith("."), name
        assert one.get("time", one.get("took", 0)) < 4000, name  # without a limit, 145 s
    assert [one["code"] for one in found[len(HOSTILE) :]] == [
        "tokenizer-missing",
        *["tokenizer-missing", "tokenizer-damaged", "tokenizer-damaged", "tokenizer-missing"],
        *["tokenizer-damaged"] * 3,  # too many lines, twice; no [CLS] and [SEP]
    ]
