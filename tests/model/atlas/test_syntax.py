"""Numbers of syntax: a small pipeline of spaCy reads the words, and plain loops give the same numbers."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import spacy
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example

from model.atlas.atlas import open_atlas
from model.atlas.corpus import Line, open_corpus
from model.atlas.syntax import PARTS, Pipeline, Syntax, open_syntax, parsed
from model.atlas.texts import read_texts
from model.atlas.work import make_atlas, merge
from model.config.section import ConfigError
from model.inference.opening import open_checkpoint
from model.inference.run import Run
from model.inference.translate import compute
from tests.conftest import BUNDLED

TAUGHT = (  # words, parts of speech, and the word that governs each
    ("the old dog sees a cat .", "DET ADJ NOUN VERB DET NOUN PUNCT", (2, 2, 3, 3, 5, 3, 3)),
    ("where is the station ?", "SCONJ AUX DET NOUN PUNCT", (1, 1, 3, 1, 1)),
    ("two dogs often run .", "NUM NOUN ADV VERB PUNCT", (1, 3, 3, 3, 3)),
)


@pytest.fixture(scope="module")
def pipeline() -> Language:
    """A pipeline that knows the sentences of `TAUGHT`."""
    spacy.util.fix_random_seed(0)
    nlp = spacy.blank("en")
    nlp.add_pipe("morphologizer")
    nlp.add_pipe("parser", config={"min_action_freq": 1})
    examples = []
    for text, parts, governors in TAUGHT:
        words, pos = text.split(), parts.split()
        labels = ["ROOT" if i == at else "arc" for at, i in enumerate(governors)]
        known = Doc(nlp.vocab, words=words, pos=pos, heads=list(governors), deps=labels)
        examples.append(Example(Doc(nlp.vocab, words=words), known))
    nlp.initialize(lambda: examples)
    for _ in range(25):
        nlp.update(examples)
    return nlp


@pytest.fixture(scope="module")
def syntax(pipeline: Language) -> Syntax:
    return Syntax(reads=Pipeline(name="toy 1", nlp=pipeline))


def test_each_token_has_the_part_of_speech_and_the_governor_of_its_word(syntax: Syntax) -> None:
    checkpoint = open_checkpoint(BUNDLED / "everyday-en-de")
    lines = [Line(number=i, text=text) for i, (text, _, _) in enumerate(TAUGHT, start=1)]
    for text, (_, parts, governors) in zip(parsed(read_texts(checkpoint, lines), syntax), TAUGHT, strict=True):
        assert not text.read.parts, "no pipeline reads the translations"
        numbers = list(dict.fromkeys(word for word in text.source.words if word >= 0))
        groups = {"NOUN": "nouns", "VERB": "verbs", "ADJ": "modifiers", "ADV": "modifiers"}
        groups |= dict.fromkeys(("DET", "AUX", "SCONJ"), "function_words")
        for word, part, governor in zip(text.source.words, text.source.parts, text.source.governors, strict=True):
            if word < 0:
                assert (part, governor) == (-1, -1)
                continue
            place = numbers.index(word)
            assert part == (PARTS.index(groups[name]) if (name := parts.split()[place]) in groups else -1)
            assert governor == (-1 if governors[place] == place else numbers[governors[place]])


def test_the_numbers_of_syntax_are_those_of_plain_loops(tmp_path: Path, pipeline: Language) -> None:
    """From the maps of one run and the syntax that the atlas keeps; the decoder sees no governor that comes later."""
    checkpoint = open_checkpoint(BUNDLED / "everyday-en-de")
    one = Pipeline(name="toy 1", nlp=pipeline)
    (tmp_path / "texts.txt").write_text("".join(f"{text}\n" for text, _, _ in TAUGHT), encoding="utf-8")
    make_atlas(
        checkpoint, open_corpus(tmp_path / "texts.txt"), tmp_path / "atlas", syntax=Syntax(reads=one, writes=one)
    )
    atlas = open_atlas(tmp_path / "atlas")
    assert atlas.settings.syntax == ("toy 1", "toy 1")
    found = atlas.numbers(*(names := ("governor", "dependents", *PARTS)))
    texts = atlas.texts([1, 2, 3])
    for kind in ("encoder", "decoder", "cross"):
        expected: dict[str, list[np.ndarray]] = {name: [] for name in names}
        for line, (text, _, _) in enumerate(TAUGHT, start=1):
            maps = compute(checkpoint, Run(text=text)).maps[kind]  # (L, H, T, S)
            side = texts[line].source if kind != "decoder" else texts[line].read
            size = len(side)
            for t in range(maps.shape[2]):
                for i, part in enumerate(PARTS):
                    if any(one >= 0 for one in side.parts):
                        keys = [s for s in range(size) if side.parts[s] == i]
                        expected[part].append(maps[:, :, t, keys].sum(axis=-1))
                if kind == "cross":
                    continue
                seen = range(t + 1) if kind == "decoder" else range(size)
                above = [s for s in seen if side.governors[t] >= 0 and side.words[s] == side.governors[t]]
                below = [s for s in seen if side.words[t] >= 0 and side.governors[s] == side.words[t]]
                for name, keys in (("governor", above), ("dependents", below)):
                    if keys:
                        expected[name].append(maps[:, :, t, keys].sum(axis=-1))
        rows = [i for i, head in enumerate(atlas.heads) if head.kind == kind]
        for name in names:
            if kind == "cross" and name in ("governor", "dependents"):
                assert np.isnan(found[name][rows]).all()
            else:
                assert np.allclose(found[name][rows], np.mean(expected[name], axis=0).ravel(), atol=1e-5), (kind, name)


def test_without_a_pipeline_for_the_translations_the_decoder_has_no_syntax(tmp_path: Path, syntax: Syntax) -> None:
    (tmp_path / "texts.txt").write_text(f"{TAUGHT[0][0]}\n", encoding="utf-8")
    make_atlas(
        open_checkpoint(BUNDLED / "multi30k-en-de"),
        open_corpus(tmp_path / "texts.txt"),
        tmp_path / "atlas",
        syntax=syntax,
    )
    atlas = open_atlas(tmp_path / "atlas")
    for name, kinds in (("governor", {"encoder"}), ("nouns", {"encoder", "cross"})):
        found = atlas.numbers(name)[name]
        known = {head.kind for head, value in zip(atlas.heads, found, strict=True) if not np.isnan(value)}
        assert known == kinds


def test_the_command_takes_an_installed_pipeline_and_shares_give_the_same_bytes(
    tmp_path: Path, pipeline: Language
) -> None:
    package, info = tmp_path / "site" / "toy_en", tmp_path / "site" / "toy_en-1.dist-info"
    package.mkdir(parents=True)
    info.mkdir()
    pipeline.to_disk(package / "data")
    (package / "__init__.py").write_text(
        "from pathlib import Path\nfrom spacy.util import load_model_from_path\n\n"
        "def load(**settings):\n    return load_model_from_path(Path(__file__).parent / 'data', **settings)\n"
    )
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: toy_en\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[spacy_models]\ntoy_en = toy_en\n")
    corpus = tmp_path / "texts.txt"
    corpus.write_text("".join(f"{text}\n" for text, _, _ in TAUGHT * 30), encoding="utf-8")
    command = ["atlas", "tiny-bert-en", "--corpus", str(corpus), "--syntax", "toy_en", "--device", "cpu"]
    code = "import sys; sys.path.insert(0, sys.argv[1]); from model.cli.main import main; main(sys.argv[2:])"
    subprocess.run(
        [sys.executable, "-c", code, str(package.parent), *command, "--out", str(tmp_path / "whole")], check=True
    )
    reader = Pipeline(name=f"toy_en {pipeline.meta['version']}", nlp=pipeline)
    shares = [tmp_path / "1", tmp_path / "2"]
    for k, share in enumerate(shares, start=1):
        checkpoint = open_checkpoint(BUNDLED / "tiny-bert-en")
        make_atlas(checkpoint, open_corpus(corpus), share, share=(k, 2), syntax=Syntax(reads=reader))
    merge(shares, tmp_path / "merged")
    for file in (tmp_path / "whole").iterdir():
        assert file.read_bytes() == (tmp_path / "merged" / file.name).read_bytes(), file.name
    assert not np.isnan(open_atlas(tmp_path / "whole").numbers("governor")["governor"]).any()


def test_a_pipeline_that_is_not_installed_gets_a_sentence() -> None:
    with pytest.raises(ConfigError, match=r"There is no pipeline xx_none of spaCy. Install it"):
        open_syntax("xx_none")
