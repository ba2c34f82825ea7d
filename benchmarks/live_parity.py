"""Compare the engine in JavaScript with Python on many sentences: ids read, and tokens that greedy search writes.

The tests compare a few hundred. This compares whole class lists and any file with one sentence per line:

    PYTHONPATH=. python benchmarks/live_parity.py everyday-en-de --lines captions.txt
"""

import argparse
from pathlib import Path

from model.checkpoints.checkpoint import load_tokenizers, read_config
from model.config.paths import CHECKPOINTS
from model.corpora.corpora import CorpusError
from tests.live.engine import run_engine
from tests.live.test_engine_texts import ids_in_python
from tests.live.texts import class_sources

AT_ONCE = 100  # sentences in one process of Node.js


def main() -> None:
    """Print how many sentences differ, and the first ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", help="the name of a bundled checkpoint")
    parser.add_argument("--lines", type=Path, help="a text file with one sentence per line")
    parser.add_argument("--most", type=int, default=1000, help="sentences of the file")
    given = parser.parse_args()
    folder, texts = CHECKPOINTS / given.checkpoint, []
    tokenizer = read_config(folder).tokenizer
    try:
        texts += class_sources(tokenizer.source_language, tokenizer.target_language)
    except CorpusError:
        print("There is no class list in these languages.")
    if given.lines:
        texts += given.lines.read_text(encoding="utf-8").splitlines()[: given.most]
    source, different = load_tokenizers(read_config(folder), folder).source, []
    for start in range(0, len(texts), AT_ONCE):
        part = texts[start : start + AT_ONCE]
        jobs = [{"job": "greedy", "texts": part}, {"job": "tokenize", "lines": part}]
        written, read = run_engine(folder, jobs)
        rows = zip(part, written, ids_in_python(given.checkpoint, part), read, strict=True)
        different += [
            text for text, ours, theirs, (ids, *_) in rows if ours != theirs or tuple(ids) != source.encode(text).ids
        ]
        print(f"{start + len(part)} of {len(texts)}: {len(different)} differ", flush=True)
    for text in different[:10]:
        print(ascii(text))


if __name__ == "__main__":
    main()
