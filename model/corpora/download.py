"""Downloads a corpus from its public repository. It continues interrupted downloads and checks every file."""

import hashlib
import tomllib
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
    name: RemoteCorpus(**table)
    for name, table in tomllib.loads(Path(__file__).with_name("downloads.toml").read_text(encoding="utf-8")).items()
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
