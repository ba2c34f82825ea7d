// Special tokens: the four ids that all our vocabularies share.

export const PAD_ID = 0;
export const UNK_ID = 1;
export const BOS_ID = 2;
export const EOS_ID = 3;
export const SPECIAL_TOKENS = ["<pad>", "<unk>", "<s>", "</s>"];
export const BANNED = [PAD_ID, UNK_ID, BOS_ID]; // never written unless forced, whatever their probability

export const AROUND_OURS = { after: [EOS_ID], unknown: UNK_ID, marks: [PAD_ID, BOS_ID, EOS_ID] };
