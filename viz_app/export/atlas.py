"""The atlases of a site, as its page reads them: the table of each checkpoint, and a part for each head."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from model.atlas.atlas import Atlas, open_atlas
from model.atlas.store import ATLAS_FOLDER
from model.checkpoints.checkpoint import Loaded
from viz_app.components.atlas import TextOf, head_data, table_data
from viz_app.export.live_page import compact

__all__ = ["PublishedAtlas", "add_atlas", "atlas_of"]


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


def add_atlas(name: str, atlases: Mapping[str, PublishedAtlas], add: Callable[[str, str], str]) -> str:
    """Add the parts of an atlas to a site. Returns where its table is, which says where each head is; "" without one.

    Args:
        name: Of the checkpoint.
        atlases: Name of a checkpoint → its atlas, for all of the site.
        add: Called with the name and the JSON of a part. Returns where the page finds it.
    """
    if name not in atlases:
        return ""
    own, others = atlases[name], {other: one.atlas for other, one in atlases.items() if other != name}
    parts = {head.code: head_data(own.atlas, head, text_of=own.text_of, others=others) for head in own.atlas.heads}
    added = {head: add(head, compact(data)) for head, data in parts.items()}
    return add("table", compact({**table_data(own.atlas), "parts": added}))
