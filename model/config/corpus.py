"""Names of corpora. The name of a folder tells how the corpus was made."""

import re
from dataclasses import dataclass

__all__ = ["CorpusName"]

DISTILLED = "-distilled"
VARIED, BACK = re.compile(r"-varied-[a-z]+$"), re.compile(r"-back-[a-z]+$")


@dataclass(frozen=True)
class CorpusName:
    """One corpus by the name of its folder.

    `python -m weights` makes new corpora from old ones and adds to the name: `multi30k-distilled`, `multi30k-varied-en`
    for a model that reads English, and `multi30k-back-zh` with sources that were translated back into Chinese.
    """

    name: str

    @classmethod
    def all_in(cls, joined: str) -> tuple["CorpusName", ...]:
        """The corpora of a recipe, whose names are joined by `+`."""
        return tuple(map(cls, joined.split("+")))

    def distilled(self) -> "CorpusName":
        return CorpusName(self.name + DISTILLED)

    def varied_for(self, language: str) -> "CorpusName":
        """Varied for a model that reads this language."""
        return CorpusName(f"{self.name}-varied-{language}")

    def back_translated_into(self, language: str) -> "CorpusName":
        return CorpusName(f"{self.name}-back-{language}")

    @property
    def is_distilled(self) -> bool:
        return self.name.endswith(DISTILLED)

    @property
    def is_back_translated(self) -> bool:
        """Such a corpus has only a training part. Its origin may be in one language, so nothing can be tested on it."""
        return bool(BACK.search(self.name))

    @property
    def before_distilling(self) -> "CorpusName":
        return CorpusName(self.name.removesuffix(DISTILLED))

    @property
    def before_varying(self) -> "CorpusName":
        """A varied corpus has only a training part. Its validation and test parts are those of this corpus."""
        return CorpusName(VARIED.sub("", self.name))

    @property
    def original(self) -> "CorpusName":
        """The corpus from which a distilled or varied corpus was made."""
        return self.before_distilling.before_varying
