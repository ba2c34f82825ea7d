"""The special tokens: ours, the same four ids in every vocabulary of this project, and what any vocabulary has."""

from dataclasses import dataclass

PAD_ID, UNK_ID, BOS_ID, EOS_ID = 0, 1, 2, 3
PAD, UNK, BOS, EOS = SPECIAL_TOKENS = ("<pad>", "<unk>", "<s>", "</s>")

__all__ = ["BOS", "BOS_ID", "EOS", "EOS_ID", "OURS", "PAD", "PAD_ID", "SPECIAL_TOKENS", "UNK", "UNK_ID", "Specials"]


@dataclass(frozen=True, kw_only=True)
class Specials:
    """The ids that are no text of a person, and how a model uses them."""

    bos: int  # what the decoder reads first
    eos: int  # what ends a text that is written
    more_ends: tuple[int, ...] = ()  # other tokens that end it too
    banned: tuple[int, ...] = ()  # never written unless forced, whatever their probability
    first: int | None = None  # begins every text and is no choice, as the target language of mBART: it costs nothing
    before: tuple[int, ...] = ()  # stand before a source
    after: tuple[int, ...] = ()  # stand after a source
    fill: tuple[int, ...] = ()  # what a source was filled up with, of a model that learned without a padding mask
    unknown: int | None = None  # stands for what is not in the vocabulary
    mask: int | None = None  # stands for what the model is to guess
    marks: frozenset[int] = frozenset()  # all that stand for no text, in whatever place


OURS = Specials(
    bos=BOS_ID,
    eos=EOS_ID,
    banned=(PAD_ID, UNK_ID, BOS_ID),
    after=(EOS_ID,),
    unknown=UNK_ID,
    marks=frozenset({PAD_ID, BOS_ID, EOS_ID}),
)
