"""Headlight Live: checkpoints and the pages that run them in a visitor's browser, as a folder or as one file.

Any web server can send the folder, also below another address. The single file opens from a disk. Neither asks another
host for anything.
"""

import base64
import gzip
import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt

from model.checkpoints.checkpoint import CheckpointConfig, CheckpointError, checkpoint_name, read_config
from model.config.foreign import is_foreign
from model.config.model import ModelConfig, RecurrentConfig
from viz_app.components.bundle import asset
from viz_app.content.cards import read_card
from viz_app.content.catalogues import ENGLISH, LANGUAGES
from viz_app.content.demonstrations import demonstration_for
from viz_app.content.examples import batch_examples, offered_examples
from viz_app.content.limits import LIMITS, MAX_SENTENCES
from viz_app.export.live_lessons import live_lessons, live_texts
from viz_app.export.live_page import POLICY, code_of_page, compact, data_block, lesson_style, one_file, page, style
from viz_app.export.site_scripts import LIVE, minified

__all__ = ["GENERATOR", "MARK", "Published", "published", "site_file", "site_files"]

GENERATOR = '<meta name="generator" content="Headlight Live">'  # by which we know a page that we made
DESCRIPTION = (
    '<meta name="description" content="See what every attention head of a Transformer attends to. The model runs in '
    'your browser.">'
)
MARK = "headlight-live.json"  # the file by which we know a folder that we made
CHECKPOINT_FILES = {"weights": "model.safetensors", "config": "config.json", "tokenizer": "tokenizer.json"}
CARD = "README.md"
# What a card must not do in the page: ask another host, or lead away from the choices in the address.
CARD_READER = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["image", "link", "autolink"])
HEAD = (
    '<link rel="icon" href="icon.svg">\n<link rel="manifest" href="manifest.webmanifest">\n'
    '<meta name="worker" content="app.js">\n<meta name="offline" content="offline-worker.js">\n'
    '<link rel="stylesheet" href="style.css">\n<script type="module" src="app.js"></script>'
)
LESSON_FILES = {"lessons": "course/lessons.json", "style": "course/style.css"}
POSITIONS = ("sinusoidal", "learned", "rotary")  # that the engine computes


@dataclass(frozen=True, kw_only=True)
class Published:
    """A checkpoint that can be a part of a site."""

    name: str
    folder: Path
    config: CheckpointConfig

    def listed(self, *, source: str, card: object) -> dict[str, object]:
        """What the pages know before the checkpoint is open.

        Args:
            source: Its folder, or "" where the page holds it.
            card: Its cards, or the address of a file with them.
        """
        prepared, examples = demonstration_for(self.config), list(offered_examples(self.config))
        return {
            "name": self.name,
            "source": source,
            "card": card,
            "languages": [self.config.tokenizer.source_language, self.config.tokenizer.target_language],
            "examples": examples,
            "heads": prepared.heads,
            "order": prepared.order,
            "reordered": prepared.reordered,
            "batch": list(batch_examples(self.config)[1][:MAX_SENTENCES]),
        }

    def cards(self) -> dict[str, str]:
        """Language → the model card as HTML, which has no markup of its author."""
        texts = {language: read_card(self.folder, language).text for language in LANGUAGES}
        html = {language: CARD_READER.render(text) for language, text in texts.items()}
        scrolling = '<table tabindex="0">'  # on a phone
        return {language: text.replace("<table>", scrolling) for language, text in html.items()}

    def file(self, part: str) -> bytes:
        return (self.folder / CHECKPOINT_FILES[part]).read_bytes()


def published(folder: Path) -> Published:
    """The checkpoint in a folder, if the pages can show it.

    Raises:
        CheckpointError: they cannot, or the folder has no checkpoint. The message says why.
    """
    name = checkpoint_name(folder)
    if is_foreign(folder):
        raise CheckpointError(
            "{name} is a folder of Hugging Face's transformers. The page runs only checkpoints that were trained with "
            "Headlight. Choose one of them.",
            name=name,
        )
    config = read_config(folder)
    require_shown(name, config)
    for file in CHECKPOINT_FILES.values():
        if not (folder / file).is_file():
            raise CheckpointError("{name} has no file {file}. Copy the checkpoint again.", name=name, file=file)
    return Published(name=name, folder=folder, config=config)


def require_shown(name: str, config: CheckpointConfig) -> None:
    """Raise a CheckpointError if the pages cannot show a checkpoint."""
    model = config.model
    if config.task != "translation":
        raise CheckpointError(
            "{name} classifies texts, and the pages show translators. Choose a translator.", name=name
        )
    if config.tokenizer.kind != "bpe":
        raise CheckpointError(
            "{name} reads whole words by the rules of spaCy, which do not run in a browser. Choose a checkpoint with "
            "subwords.",
            name=name,
        )
    if not model.kinds:
        raise CheckpointError("{name} has no attention. Choose a model with attention.", name=name)
    if isinstance(model, ModelConfig) and (
        model.positional not in POSITIONS
        or model.num_kv_heads not in (0, model.num_heads)
        or model.score_cap
        or model.attention_sinks
    ):
        raise CheckpointError(
            "{name} has a kind of attention that the page does not compute: ALiBi, a relative bias, shared keys, a "
            "limit of the scores, or sinks. Choose another checkpoint.",
            name=name,
        )


def site_files(checkpoints: Sequence[Published]) -> dict[str, bytes]:
    """All files of a site: path → contents. The page works below any address of a web server."""
    names = [one.name for one in checkpoints]
    lessons = live_lessons(names)
    code = code_of_page("site", recurrent=has_recurrent(checkpoints), lessons=bool(lessons))
    files = {
        "app.js": code.script.encode(),
        "style.css": style(code.script).encode(),
        "icon.svg": asset("icon.svg").encode(),
    }
    for one in checkpoints:
        for file in (*CHECKPOINT_FILES.values(), CARD):
            if (one.folder / file).is_file():
                files[f"checkpoints/{one.name}/{file}"] = (one.folder / file).read_bytes()
    named = {language: f"words/{language}.json" for language in code.words if language != ENGLISH}
    files |= {name: compact(code.words[language]).encode() for language, name in named.items()}
    cards = {one.name: f"cards/{one.name}.json" for one in checkpoints}
    files |= {cards[one.name]: compact(one.cards()).encode() for one in checkpoints}
    site: dict[str, object] = {
        "checkpoints": [one.listed(source=f"checkpoints/{one.name}", card=cards[one.name]) for one in checkpoints],
        "words": {ENGLISH: code.words[ENGLISH], **named},
        "limits": dict(LIMITS),
    }
    if lessons:
        texts = {language: f"course/texts-{language}.json" for language in code.words}
        site["course"] = {**LESSON_FILES, "texts": texts}
        files["course/course.js"] = code.lessons.encode()
        files[LESSON_FILES["style"]] = lesson_style().encode()
        files[LESSON_FILES["lessons"]] = compact(lessons).encode()
        files |= {name: compact(live_texts(names, language)).encode() for language, name in texts.items()}
    policy = POLICY.format(style="'self' 'unsafe-inline'", script="'self'")
    body = data_block("site", compact(site))
    html = page(policy, about=f"{DESCRIPTION}\n{GENERATOR}", head=HEAD, body=body, icon="icon.svg")
    files["index.html"] = html.encode()
    files["manifest.webmanifest"] = compact(manifest()).encode()
    version = hashlib.sha256(b"".join(name.encode() + files[name] for name in sorted(files))).hexdigest()[:16]
    kept = ["./", *(name for name in files if not name.startswith("checkpoints/"))]
    worker = (LIVE / "offline-worker.js").read_text(encoding="utf-8")
    worker = worker.replace('"{version}"', json.dumps(version)).replace('["{files}"]', compact(kept))
    files["offline-worker.js"] = minified(worker).encode()
    files[MARK] = compact({"made_by": "headlight publish", "version": version, "files": sorted(files)}).encode()
    return files


def site_file(checkpoints: Sequence[Published]) -> bytes:
    """The whole site as one HTML file, which opens from a disk. It contains the weights, compressed."""
    names, recurrent = [one.name for one in checkpoints], has_recurrent(checkpoints)
    lessons = live_lessons(names)
    code = code_of_page("file", recurrent=recurrent, lessons=bool(lessons))
    site: dict[str, object] = {
        "checkpoints": [one.listed(source="", card=one.cards()) for one in checkpoints],
        "words": code.words,
        "limits": dict(LIMITS),
    }
    if lessons:
        texts = {language: live_texts(names, language) for language in code.words}
        site["course"] = {"lessons": lessons, "style": "", "texts": texts}
    blocks = {"site": compact(site)}
    for one in checkpoints:
        blocks |= {f"{part}-{one.name}": zipped(one.file(part)) for part in CHECKPOINT_FILES}
    about = f"{DESCRIPTION}\n{GENERATOR}"
    return one_file(blocks, about=about, form="file", recurrent=recurrent, lessons=bool(lessons)).encode()


def has_recurrent(checkpoints: Sequence[Published]) -> bool:
    return any(isinstance(one.config.model, RecurrentConfig) for one in checkpoints)


def zipped(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, mtime=0)).decode()


def manifest() -> dict[str, object]:
    """The description by which a browser can install the page as an app."""
    icons = [{"src": "icon.svg", "sizes": "any", "type": "image/svg+xml", "purpose": "any"}]
    return {
        "name": "Headlight",
        "short_name": "Headlight",
        "start_url": "./",
        "scope": "./",
        "display": "standalone",
        "background_color": "#ffffff",
        "theme_color": "#2f6fb0",
        "icons": icons,
    }
