// Special tokens: the four ids that all our vocabularies share.

export const PAD_ID = 0, UNK_ID = 1, BOS_ID = 2, EOS_ID = 3;
export const SPECIAL_TOKENS = ["<pad>", "<unk>", "<s>", "</s>"];
export const BANNED = [PAD_ID, UNK_ID, BOS_ID]; // never written unless forced, whatever their probability
