"""Headlight Live: checkpoints and the pages that run them in a visitor's browser, as a folder or as one file.

Any web server can send the folder, also below another address. The single file opens from a disk. Neither asks another
host for anything.
"""

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

from model.checkpoints.checkpoint import CheckpointConfig, CheckpointError, checkpoint_name, read_config
from model.config.foreign import is_foreign
from model.config.model import ModelConfig
from viz_app.components.bundle import COMPONENT_STYLES, asset
from viz_app.content.catalogues import ENGLISH, LANGUAGES, catalogue
from viz_app.content.demonstrations import demonstration_for
from viz_app.content.examples import batch_examples, offered_examples
from viz_app.export.site_scripts import LIVE, bundled, modules, squeezed, texts_of

__all__ = ["GENERATOR", "MARK", "Published", "published", "site_file", "site_files"]

GENERATOR = '<meta name="generator" content="Headlight Live">'  # by which we know a page that we made
MARK = "headlight-live.json"  # the file by which we know a folder that we made
CHECKPOINT_FILES = {"weights": "model.safetensors", "config": "config.json", "tokenizer": "tokenizer.json"}
CARD = "README.md"
STYLES = (*COMPONENT_STYLES, "chips.css")
POSITIONS = ("sinusoidal", "learned", "rotary")  # that the engine computes
COMMON = (
    "default-src 'none'; style-src {style}; img-src 'self' data: blob:; connect-src 'self'; worker-src 'self'; "
    "manifest-src 'self'; base-uri 'none'; form-action 'none'; script-src {script}"
)


@dataclass(frozen=True, kw_only=True)
class Published:
    """A checkpoint that can be a part of a site."""

    name: str
    folder: Path
    config: CheckpointConfig

    def listed(self, *, source: str) -> dict[str, object]:
        """What the pages know before the checkpoint is open; `source` is its folder, or "" where the page holds it."""
        prepared, examples = demonstration_for(self.config), list(offered_examples(self.config))
        first, _, second, *_ = batch_examples(self.config)[1]
        return {
            "name": self.name,
            "source": source,
            "languages": [self.config.tokenizer.source_language, self.config.tokenizer.target_language],
            "examples": examples,
            "heads": prepared.heads,
            "order": prepared.order,
            "reordered": prepared.reordered,
            "batch": [first, second, examples[1]],
        }

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
    scripts = dict(modules("app.js", "engine/worker.js"))
    files = {name: text.encode() for name, text in scripts.items()}
    files["style.css"] = style().encode()
    files["icon.svg"] = asset("icon.svg").encode()
    for one in checkpoints:
        for file in (*CHECKPOINT_FILES.values(), CARD):
            if (one.folder / file).is_file():
                files[f"checkpoints/{one.name}/{file}"] = (one.folder / file).read_bytes()
    words = {code: words_of(code, scripts) for code in translated(scripts)}
    files |= {f"words/{code}.json": compact(texts).encode() for code, texts in words.items()}
    listed = [one.listed(source=f"checkpoints/{one.name}") for one in checkpoints]
    site = {"checkpoints": listed, "words": {code: f"words/{code}.json" for code in words}}
    head = (
        '<link rel="icon" href="icon.svg">\n<link rel="manifest" href="manifest.webmanifest">\n'
        '<meta name="worker" content="engine/worker.js">\n<meta name="offline" content="offline-worker.js">\n'
        '<link rel="stylesheet" href="style.css">\n<script type="module" src="app.js"></script>'
    )
    policy = COMMON.format(style="'self' 'unsafe-inline'", script="'self'")
    files["index.html"] = page(policy, head=head, body=data_block("site", compact(site)), icon="icon.svg").encode()
    files["manifest.webmanifest"] = compact(manifest()).encode()
    version = hashlib.sha256(b"".join(name.encode() + files[name] for name in sorted(files))).hexdigest()[:16]
    kept = ["./", *(name for name in files if not name.startswith("checkpoints/"))]
    worker = squeezed((LIVE / "offline-worker.js").read_text(encoding="utf-8"))
    files["offline-worker.js"] = (
        worker.replace('"{version}"', json.dumps(version)).replace('["{files}"]', compact(kept)).encode()
    )
    files[MARK] = compact({"made_by": "headlight publish", "version": version, "files": sorted(files)}).encode()
    return files


def site_file(checkpoints: Sequence[Published]) -> bytes:
    """The whole site as one HTML file, which opens from a disk. It contains the weights, compressed."""
    script = f"{bundled('app.js')}\n".replace("</", "<\\/")
    words = {code: words_of(code, modules("app.js")) for code in translated(modules("app.js"))}
    site = {"checkpoints": [one.listed(source="") for one in checkpoints], "words": words}
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        COMMON.replace("'self' ", "")
        .replace("'self'", "'none'")
        .format(style="'unsafe-inline'", script=f"'sha256-{digest}'")
    )
    icon = "data:image/svg+xml;base64," + base64.b64encode(asset("icon.svg").encode()).decode()
    head = f'<link rel="icon" href="{icon}">\n<style>\n{style()}</style>'
    blocks = [data_block("site", compact(site))]
    for one in checkpoints:
        blocks += [data_block(f"{part}-{one.name}", zipped(one.file(part))) for part in CHECKPOINT_FILES]
    body = "\n".join((*blocks, f'<script type="module">{script}</script>'))
    return page(policy, head=head, body=body, icon=icon).encode()


def page(policy: str, **parts: str) -> str:
    """The HTML of the page, from the template `live/index.html`."""
    text = (LIVE / "index.html").read_text(encoding="utf-8")
    for name, part in {"policy": policy, "generator": GENERATOR, **parts}.items():
        text = text.replace(f"{{{name}}}", part)
    return text


def data_block(name: str, text: str) -> str:
    """Data in the page, which no text in them can end."""
    return f'<script type="application/json" id="{escape(name)}">{text.replace("<", chr(92) + "u003c")}</script>'


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def zipped(content: bytes) -> str:
    return base64.b64encode(gzip.compress(content, mtime=0)).decode()


def style() -> str:
    """The style sheets of the components and of the page, without comments."""
    sheets = asset(*STYLES) + (LIVE / "live.css").read_text(encoding="utf-8")
    return "\n".join(line.strip() for line in sheets.splitlines() if not line.startswith("/*")) + "\n"


def translated(scripts: Mapping[str, str]) -> list[str]:
    """The languages besides English in which most of the page is translated."""
    texts = texts_of(scripts)
    return [code for code in LANGUAGES if code != ENGLISH and len(words_of(code, scripts)) > 0.9 * len(texts)]


def words_of(code: str, scripts: Mapping[str, str]) -> dict[str, str]:
    """English text → its translation, for the texts that have one."""
    known = catalogue(code)
    return {text: word for text in texts_of(scripts) if (word := known.text(text)) != text}


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
