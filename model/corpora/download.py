"""Downloads a corpus from its public repository. It continues interrupted downloads and checks every file."""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import requests
from tqdm import tqdm

from model.config.section import ConfigError

__all__ = ["CORPORA", "DownloadError", "RemoteCorpus", "download_corpus"]

CHUNK, TRIES, TIMEOUT = 1 << 13, 3, 30  # bytes, attempts, seconds without an answer


class DownloadError(OSError):
    """A file could not be downloaded. The message names the file and the remedy."""


@dataclass(frozen=True, kw_only=True)
class RemoteCorpus:
    """The address of a corpus, and the sha256 of each file."""

    base_url: str
    notice: str
    files: Mapping[str, str]


CORPORA = {
    "multi30k": RemoteCorpus(
        base_url=(
            "https://raw.githubusercontent.com/multi30k/dataset/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw"
        ),
        notice=(
            "Multi30k is provided for non-commercial research and education. It is partly derived from Flickr30K. "
            "Cite Elliott et al. 2016 and 2017. See github.com/multi30k/dataset."
        ),
        files={
            "train.de.gz": "726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6",
            "train.en.gz": "d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f",
            "val.de.gz": "f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a",
            "val.en.gz": "14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28",
            "test_2016_flickr.de.gz": "9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8",
            "test_2016_flickr.en.gz": "611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9",
            "test_2017_flickr.de.gz": "a2c89666db00c495cd8513b9d708d5a3acc205d7de312ef2bf5fb7ebc1540aee",
            "test_2017_flickr.en.gz": "76a444ee25172e72695cddb13ae4a3bda59430617be88e0bb46b60504f054074",
            "test_2017_mscoco.de.gz": "799e4854c25d601cb6cb6be29eabe5667734c61ace2f495e03e429031a0bc338",
            "test_2017_mscoco.en.gz": "aab300bfb4427697987e02cd0aacd44bfe8aa50456231b6474c08038bbed2b58",
        },
    ),
    "cmn-eng": RemoteCorpus(
        base_url=(
            "https://raw.githubusercontent.com/JYRoy/TransformerEN2CN/407af72a7b32083f8391afa3c9267f85cbe44c9b/datasets"
        ),
        notice="The pairs are from tatoeba.org, through www.manythings.org/anki, under CC-BY 2.0. Name both.",
        files={"cmn.txt": "2521861af235428a3a000dcba7ae66325d012c473162a9ffd6e1a4685df1430b"},
    ),
    "3am": RemoteCorpus(
        base_url="https://raw.githubusercontent.com/MaxyLee/3AM/ce8099724d9ecc8e5c77e44f43d9b7924118f037/data",
        notice=(
            "3AM is under the MIT licence of its repository. Cite Ma et al. 2024, LREC-COLING. See "
            "github.com/MaxyLee/3AM."
        ),
        files={
            "train.en": "3b839b554de9aa369a199d1f1e42779a3c9c3491a9396c5b5b1a0bbd815db175",
            "train.zh": "ef6664af8f0fdfef14ca55ba832b20a73fdcb2576c2de41913f2c53c2f15708d",
            "val.en": "7143a3ba2e84454b72df30e7248cac15168273c0735d0483360e6b2699e9fabd",
            "val.zh": "4bb831d994db78b14a2a652cfc6baad264d9d16ccdc4b5650092f94e3bc6af7d",
        },
    ),
    "sst2": RemoteCorpus(
        base_url=(
            "https://raw.githubusercontent.com/clairett/pytorch-sentiment-classification/"
            "457ffd83de90a9d6d472d8ffc31bbffe40a8b236/data/SST2"
        ),
        notice="SST-2 is the Stanford Sentiment Treebank. Cite Socher et al. 2013 (D13-1170).",
        files={
            "train.tsv": "ec192f833a64da08f475488a77b0d0b47db47acd0f458bd18433fc793b569920",
            "dev.tsv": "eddea6b39e601dd4e7a672b53cc40fdf6019fa80522f351206c24340ca5d9359",
        },
    ),
}


def download_corpus(
    name: str, root: Path, *, base_url: str | None = None, report: Callable[[str], None] = print
) -> Path:
    """Download the missing files of a corpus into `<root>/<name>/`.

    Args:
        name: One of `CORPORA`.
        root: Folder of the corpora.
        base_url: A mirror to use instead of the corpus's own address.
        report: Receives messages for the user.

    Raises:
        ConfigError: there is no such corpus.
        DownloadError: a file could not be downloaded, or has changed.
    """
    if name not in CORPORA:
        raise ConfigError(f"There is no corpus {name!r} to download. Choose one of these: {', '.join(CORPORA)}.")
    corpus, folder = CORPORA[name], root / name
    folder.mkdir(parents=True, exist_ok=True)
    report(corpus.notice)
    for file, sha256 in corpus.files.items():
        target = folder / file
        if target.is_file() and digest(target) == sha256:
            report(f"{file} exists already.")
            continue
        fetch(f"{base_url or corpus.base_url}/{file}", target, sha256)
    return folder


def digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def fetch(url: str, target: Path, sha256: str) -> None:
    """Download one file. An interrupted download in `<target>.part` is continued.

    Raises:
        DownloadError: the file could not be downloaded, or its checksum is not `sha256`.
    """
    part = target.with_name(target.name + ".part")
    for attempt in range(1, TRIES + 1):
        try:
            receive(url, part)
            break
        except requests.RequestException as error:
            if attempt == TRIES:
                raise DownloadError(
                    f"{target.name} could not be downloaded from {url}: {error}. Run the command again to continue."
                ) from error
    if digest(part) != sha256:
        part.unlink()
        raise DownloadError(
            f"{target.name} from {url} is damaged or has changed: its sha256 is not {sha256[:12]}…. Nothing was kept. "
            "Run the command again."
        )
    part.replace(target)


def receive(url: str, part: Path) -> None:
    have = part.stat().st_size if part.exists() else 0
    # Without compression, so that byte positions are those of the file.
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with requests.get(url, headers=headers, stream=True, timeout=TIMEOUT) as answer:
        if answer.status_code == 416:  # no bytes follow: the part is complete, or it belongs to another file
            return
        answer.raise_for_status()
        continued = answer.status_code == 206
        total = int(answer.headers.get("Content-Length", 0)) + (have if continued else 0)
        bar = tqdm(total=total or None, initial=have if continued else 0, unit="B", unit_scale=True, desc=part.stem)
        with bar, part.open("ab" if continued else "wb") as file:
            for chunk in answer.iter_content(CHUNK):
                file.write(chunk)
                bar.update(len(chunk))
        if total and part.stat().st_size < total:
            raise requests.ConnectionError(f"the connection ended after {part.stat().st_size} of {total} bytes")
