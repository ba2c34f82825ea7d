"""Headlight Live: checkpoints and the pages that run them in a visitor's browser, as a folder or as one file.

Any web server can send the folder, also below another address. The single file opens from a disk. Neither asks another
host for anything, except where it was published with a hub: then a visitor can open a model of that host by its name.
"""

import base64
import gzip
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from markdown_it import MarkdownIt

from model.atlas.atlas import Atlas, open_atlas
from model.atlas.store import ATLAS_FOLDER
from model.checkpoints.checkpoint import CONFIG, CheckpointConfig, CheckpointError, Loaded, checkpoint_name
from model.config.foreign import ForeignConfig
from model.config.model import RecurrentConfig
from model.inference.opening import AnyConfig, described_folder, read_any_config
from model.safety.weight_files import files_of_weights
from viz_app.components.atlas import TextOf, head_data, table_data
from viz_app.components.bundle import asset, modules
from viz_app.content.cards import read_card
from viz_app.content.catalogues import ENGLISH, LANGUAGES
from viz_app.content.examples import batch_examples, demonstration_for, offered_examples
from viz_app.content.shared import FAMILIES, MAX_SENTENCES
from viz_app.content.tasks import task_of
from viz_app.export.live_lessons import live_lessons, live_texts
from viz_app.export.live_page import (
    PART_STYLES,
    Contents,
    Form,
    code_of_page,
    compact,
    data_block,
    integrity,
    one_file,
    page,
    part_style,
    script_of,
    site_policy,
    style,
)

__all__ = ["GENERATOR", "MARK", "OFFLINE", "Published", "atlas_of", "hashed", "published", "site_file", "site_files"]

GENERATOR = '<meta name="generator" content="Headlight Live">'  # by which we know a page that we made
DESCRIPTION = (
    '<meta name="description" content="See what every attention head of a Transformer attends to. The model runs in '
    'your browser.">'
)
MARK = "headlight-live.json"  # the file by which we know a folder that we made
# What the page reads beside the weights, where a folder has it.
TEXTS = (
    *("config.json", "generation_config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"),
    *("vocab.txt", "vocab.json", "merges.txt"),
)
INDEX, WEIGHTS = "model.safetensors.index.json", ".safetensors"
# The end of the name of a class → the families that have it, by their task; "" for all. As `TASKS` in
# live/engine/foreign/architecture.js. A published model of another class would open in the app alone.
CLASSES = {
    **{"ForSequenceClassification": "reading", "ForMaskedLM": "reading"},
    **{"ForCausalLM": "continuation", "LMHeadModel": "continuation"},
    **{"ForConditionalGeneration": "translation", "MTModel": "translation"},
    **{"EncoderModel": "", "Model": "", "ForPreTraining": ""},
}
MAX_MB = 2048  # of all weights of a model, as in live/engine/safetensors.js
CARD = "README.md"
# What a card must not do in the page: ask another host, or lead away from the choices in the address.
CARD_READER = MarkdownIt("commonmark", {"html": False}).enable("table").disable(["image", "link"])
HEAD = (
    '<link rel="icon" href="{icon}">\n<link rel="manifest" href="{manifest}">\n'
    '<link rel="stylesheet" href="{style}" integrity="{style_hash}" crossorigin>\n'
    '<script type="module" src="{app}" integrity="{app_hash}"></script>'
)
OFFLINE = '<meta name="offline" content="offline-worker.js">'


@dataclass(frozen=True, kw_only=True)
class PublishedAtlas:
    """The atlas of a checkpoint of a site."""

    atlas: Atlas
    text_of: TextOf  # ids → the text


def atlas_of(checkpoint: Loaded, folder: Path) -> PublishedAtlas | None:
    """The atlas in the folder of a checkpoint; None where there is none.

    Raises:
        ConfigError: it is damaged, or it was measured with other weights.
    """
    if not (folder / ATLAS_FOLDER).is_dir():
        return None
    return PublishedAtlas(
        atlas=open_atlas(folder / ATLAS_FOLDER, checkpoint), text_of=checkpoint.tokenizers.source.decode
    )


@dataclass(frozen=True, kw_only=True)
class Published:
    """A checkpoint that can be a part of a site."""

    name: str
    folder: Path
    config: AnyConfig
    files: tuple[str, ...]  # the names of the files that the page reads
    pairs: bool = False  # whether the model reads pairs of texts
    atlas: PublishedAtlas | None = None

    def listed(self, *, files: Mapping[str, str] | None, card: object, atlas: str) -> dict[str, object]:
        """What the pages know before the checkpoint is open.

        Args:
            files: The addresses of its files by their names; None where the page holds them.
            card: Its cards, or the address of a file with them.
            atlas: Where the table of its atlas is, "" without one.
        """
        prepared, examples = demonstration_for(self.config), list(offered_examples(self.config))
        return {
            "name": self.name,
            "files": files,
            "held": list(self.files),
            "card": card,
            "family": self.config.family if isinstance(self.config, ForeignConfig) else "headlight",
            "licence": read_card(self.folder, ENGLISH).licence,
            "task": task_of(self.config),
            "mask": getattr(self.config.tokenizer, "mask", "") if task_of(self.config) == "filling" else "",
            "pairs": self.pairs,
            "languages": [self.config.tokenizer.source_language, self.config.tokenizer.target_language],
            "examples": examples,
            "heads": prepared.heads,
            "order": prepared.order,
            "reordered": prepared.reordered,
            "batch": list(batch_examples(self.config)[1][:MAX_SENTENCES]),
            "atlas": atlas,
        }

    def cards(self) -> dict[str, str]:
        """Language → the model card as HTML, which has no markup of its author."""
        texts = {language: read_card(self.folder, language).text for language in LANGUAGES}
        html = {language: CARD_READER.render(text) for language, text in texts.items()}
        scrolling = '<table tabindex="0">'  # on a phone
        return {language: text.replace("<table>", scrolling) for language, text in html.items()}

    def file(self, name: str) -> bytes:
        return (self.folder / name).read_bytes()


def published(folder: Path) -> Published:
    """The checkpoint in a folder, if the pages can show it: one of ours, or a folder of `transformers`.

    Raises:
        CheckpointError: they cannot, or the folder has no checkpoint. The message says why.
    """
    name, folder = checkpoint_name(folder), described_folder(folder)
    config = read_any_config(folder)
    weights = files_of_weights(folder)
    if unsafe := [path.name for path in weights if path.suffix != WEIGHTS]:
        raise CheckpointError(
            "{name} has its weights in {file}, and the page reads only safetensors. Save the model again with "
            "`save_pretrained`.",
            name=name,
            file=unsafe[0],
        )
    if sum(path.stat().st_size for path in weights) > MAX_MB << 20:
        raise CheckpointError("The weights have more than {limit} MB. Choose a smaller model.", limit=MAX_MB)
    if isinstance(config, CheckpointConfig):
        require_shown(name, config)
        needed = [CONFIG, "tokenizer.json"]
    else:
        require_computed(name, config)
        needed = [CONFIG]
    texts = [file for file in (*TEXTS, *([INDEX] if len(weights) > 1 else [])) if (folder / file).is_file()]
    if missing := next((file for file in needed if file not in texts), ""):
        raise CheckpointError("{name} has no file {file}. Copy the checkpoint again.", name=name, file=missing)
    return Published(name=name, folder=folder, config=config, files=(*texts, *(path.name for path in weights)))


def require_shown(name: str, config: CheckpointConfig) -> None:
    """Raise a CheckpointError if the pages cannot show a checkpoint of ours."""
    model = config.model
    if config.tokenizer.kind != "bpe":
        raise CheckpointError(
            "{name} reads whole words by the rules of spaCy, which do not run in a browser. Choose a checkpoint with "
            "subwords.",
            name=name,
        )
    if not model.kinds:
        raise CheckpointError("{name} has no attention. Choose a model with attention.", name=name)


def require_computed(name: str, config: ForeignConfig) -> None:
    """Raise a CheckpointError if the engine of the pages does not compute a model of `transformers`."""
    family, architectures = config.family, config.values.get("architectures")
    named = str(architectures[0]) if isinstance(architectures, list) and architectures else "Model"
    task = next((task for end, task in CLASSES.items() if named.endswith(end)), None)
    if family not in FAMILIES or task not in ("", FAMILIES[family]):
        raise CheckpointError(
            "{name} is of the family {family}, which the page does not compute. Open it in the app.",
            name=name,
            family=f"{family} ({named[:60]})" if family in FAMILIES else family,
        )


def site_files(checkpoints: Sequence[Published], *, lesson: str = "", hub: Sequence[str] = ()) -> dict[str, bytes]:
    """All files of a site: path → contents. The page works below any address of a web server.

    The name of each file contains its hash, except for the page, the service worker and the list of files. So an open
    page of an older version never gets a file of this one.

    Args:
        checkpoints: What the site has.
        lesson: The name of its one lesson; "" for all.
        hub: The hosts that it may ask for models, see `hub_hosts`.
    """
    names = [one.name for one in checkpoints]
    lessons = live_lessons(names, lesson)
    code = code_of_page(contents_of(checkpoints, "site", lessons=bool(lessons), hub=hub))
    files: dict[str, bytes] = {}

    def add(path: str, content: str | bytes) -> str:
        content = content.encode() if isinstance(content, str) else content
        files[path := hashed(path, content)] = content
        return path

    def add_one(one: Published) -> dict[str, object]:
        folder = f"checkpoints/{one.name}"
        atlas = add_atlas(one, checkpoints, lambda part, text: add(f"{folder}/{ATLAS_FOLDER}/{part}.json", text))
        cards = add(f"cards/{one.name}.json", compact(one.cards()))
        return one.listed(files=add_checkpoint(one, add), card=cards, atlas=atlas)

    app, icon, sheet = add("app.js", code.script), add("icon.svg", asset("ui/icon.svg")), style(code.of_pages())
    others = {
        language: add(f"words/{language}.json", compact(code.words[language]))
        for language in code.words
        if language != ENGLISH
    }
    site: dict[str, object] = {
        "checkpoints": [add_one(one) for one in checkpoints],
        "words": {ENGLISH: code.words[ENGLISH], **others},
        "shared": code.shared(),
        "scripts": {
            name: add(f"{name}.js", script.replace("app.js", f"./{app}", 1)) for name, script in code.parts.items()
        },
        "styles": {name: add(f"parts/{name}.css", part_style(name)) for name in code.parts if name in PART_STYLES},
        **({"hub": hub[0]} if hub else {}),
    }
    if lessons:
        texts = {language: compact(live_texts(names, language, lesson)) for language in code.words}
        site["course"] = {
            "lessons": add("course/lessons.json", compact(lessons)),
            "texts": {language: add(f"course/texts-{language}.json", text) for language, text in texts.items()},
        }
    head = HEAD.format(
        icon=icon,
        manifest=add("manifest.webmanifest", compact(manifest(icon))),
        style=add("style.css", sheet),
        style_hash=integrity(sheet),
        app=app,
        app_hash=integrity(code.script),
    )
    about = f"{DESCRIPTION}\n{GENERATOR}\n{OFFLINE}"
    html = page(site_policy(hub), about=about, head=head, body=data_block("site", compact(site)), icon=icon).encode()
    return {**files, "index.html": html, **offline_files(html, list(files))}


def hashed(path: str, content: bytes) -> str:
    """A path with the hash of the contents in the name, as `live/app/files.js` reads it."""
    file = PurePosixPath(path)
    return str(file.with_name(f"{file.stem}.{hashlib.sha256(content).hexdigest()[:16]}{file.suffix}"))


def add_checkpoint(one: Published, add: Callable[[str, bytes], str]) -> dict[str, str]:
    """Add the files of a checkpoint and its card to a site. Returns the addresses of what the page loads."""
    folder = f"checkpoints/{one.name}"
    if (one.folder / CARD).is_file():
        add(f"{folder}/{CARD}", (one.folder / CARD).read_bytes())
    return {file: add(f"{folder}/{file}", one.file(file)) for file in one.files}


def offline_files(html: bytes, files: Sequence[str]) -> dict[str, bytes]:
    """The list of all files, by which we know a site of ours, and the service worker, which keeps them."""
    listed = compact({"made_by": "headlight publish", "files": [*files, "index.html", "offline-worker.js"]}).encode()
    worker = script_of(modules("app/offline-worker.js"))
    worker = worker.replace("{page}", hashed("index.html", html)).replace("{list}", hashed(MARK, listed))
    return {MARK: listed, "offline-worker.js": worker.encode()}


def site_file(checkpoints: Sequence[Published], *, hub: Sequence[str] = ()) -> bytes:
    """The whole site as one HTML file, which opens from a disk. It contains the weights, compressed."""
    names = [one.name for one in checkpoints]
    lessons = live_lessons(names)
    contents = contents_of(checkpoints, "file", lessons=bool(lessons), hub=hub)
    code = code_of_page(contents)
    blocks: dict[str, str] = {}

    def add_block(name: str, content: bytes) -> str:
        blocks[name] = base64.b64encode(gzip.compress(content, mtime=0)).decode()
        return name

    def add_one(one: Published) -> dict[str, object]:
        for file in one.files:
            add_block(f"{file}-{one.name}", one.file(file))
        atlas = add_atlas(
            one, checkpoints, lambda part, text: add_block(f"{ATLAS_FOLDER}/{part}-{one.name}", text.encode())
        )
        return one.listed(files=None, card=one.cards(), atlas=atlas)

    site: dict[str, object] = {
        "checkpoints": [add_one(one) for one in checkpoints],
        "words": code.words,
        "shared": code.shared(),
        **({"hub": hub[0]} if hub else {}),
    }
    if lessons:
        texts = {language: live_texts(names, language) for language in code.words}
        site["course"] = {"lessons": lessons, "texts": texts}
    about = f"{DESCRIPTION}\n{GENERATOR}"
    return one_file({"site": compact(site), **blocks}, contents, about=about).encode()


def add_atlas(one: Published, checkpoints: Sequence[Published], add: Callable[[str, str], str]) -> str:
    """Add the parts of an atlas to a site. Returns where its table is, which says where each head is; "" without one.

    Args:
        one: The checkpoint.
        checkpoints: All of the site.
        add: Called with the name and the JSON of a part. Returns where the page finds it.
    """
    if not (own := one.atlas):
        return ""
    others = {other.name: other.atlas.atlas for other in checkpoints if other.atlas and other is not one}
    parts = {head.code: head_data(own.atlas, head, text_of=own.text_of, others=others) for head in own.atlas.heads}
    added = {head: add(head, compact(data)) for head, data in parts.items()}
    return add("table", compact({**table_data(own.atlas), "parts": added}))


def contents_of(checkpoints: Sequence[Published], form: Form, *, lessons: bool, hub: Sequence[str]) -> Contents:
    recurrent = any(isinstance(one.config.model, RecurrentConfig) for one in checkpoints)
    has_atlas = any(one.atlas for one in checkpoints)
    return Contents(form=form, recurrent=recurrent, lessons=lessons, atlas=has_atlas, hub=tuple(hub))


def manifest(icon: str) -> dict[str, object]:
    """The description by which a browser can install the page as an app."""
    icons = [{"src": icon, "sizes": "any", "type": "image/svg+xml", "purpose": "any"}]
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
