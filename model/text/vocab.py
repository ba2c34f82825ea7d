"""The special tokens, the same four ids in every vocabulary of this project."""

PAD_ID, UNK_ID, BOS_ID, EOS_ID = 0, 1, 2, 3
PAD, UNK, BOS, EOS = SPECIAL_TOKENS = ("<pad>", "<unk>", "<s>", "</s>")

__all__ = ["BOS", "BOS_ID", "EOS", "EOS_ID", "PAD", "PAD_ID", "SPECIAL_TOKENS", "UNK", "UNK_ID"]
