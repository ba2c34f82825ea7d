"""The tokenizers of the tiny models: byte pairs as in GPT-2, and word pieces as in BERT.

Both are learned from our stories, so each of their words is one token. Invented names have several tokens.
"""

import string
from collections.abc import Iterable

from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import PreTrainedTokenizerFast

from model.text.cleaning import as_normalizer
from weights.stories.draw import draw_stories

__all__ = ["byte_pairs", "word_pieces"]

STORIES, INVENTED = 20_000, 0.1  # stories for learning; few invented names, so that the merges serve the words
END = "<|endoftext|>"
SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")


def texts() -> Iterable[str]:
    return (" ".join(lines) for lines in draw_stories(STORIES, seed=0, invented=INVENTED))


def byte_pairs(size: int) -> PreTrainedTokenizerFast:
    """As in GPT-2 (Radford et al. 2019, section 2.2), with the end token before each text.

    A first word gets a space, so a name at the start of a text has the same token as later in the text.

    Args:
        size: Tokens of the vocabulary.
    """
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = as_normalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=True)
    tokenizer.decoder = decoders.ByteLevel()
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(vocab_size=size, special_tokens=[END], initial_alphabet=alphabet, show_progress=False)
    tokenizer.train_from_iterator(texts(), trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single=f"{END} $A", special_tokens=[(END, tokenizer.token_to_id(END))]
    )
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token=END, eos_token=END, pad_token=END)


def word_pieces(size: int) -> PreTrainedTokenizerFast:
    """As in BERT (Devlin et al. 2019, section 3), with capitals.

    Args:
        size: Tokens of the vocabulary.
    """
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.normalizer = as_normalizer()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    letters = string.ascii_letters + string.digits
    trainer = trainers.WordPieceTrainer(vocab_size=size, special_tokens=list(SPECIAL), show_progress=False)
    # Each letter can also continue a word, so every name can be written.
    tokenizer.train_from_iterator([*texts(), letters + letters[0], string.punctuation], trainer)
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[(mark, tokenizer.token_to_id(mark)) for mark in ("[CLS]", "[SEP]")]
    )
    names = {f"{mark.strip('[]').lower()}_token": mark for mark in SPECIAL}
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names)
