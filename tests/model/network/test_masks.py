import torch

from model.network.masks import causal_mask, decoder_mask, padding_mask


def test_padding_mask_hides_exactly_the_padding() -> None:
    mask = padding_mask(torch.tensor([[5, 6, 0], [7, 0, 0]]), 0)
    assert mask.shape == (2, 1, 1, 3)
    assert mask[:, 0, 0].tolist() == [[True, True, False], [True, False, False]]


def test_causal_mask_lets_each_position_see_itself_and_the_past() -> None:
    assert causal_mask(3)[0, 0].tolist() == [[True, False, False], [True, True, False], [True, True, True]]


def test_decoder_mask_forbids_what_either_mask_forbids() -> None:
    ids = torch.tensor([[2, 5, 0]])
    assert decoder_mask(ids, 0)[0, 0].tolist() == [[True, False, False], [True, True, False], [True, True, False]]


def test_a_model_that_begins_with_padding_sees_its_beginning() -> None:
    ids = torch.tensor([[0, 5, 6], [0, 7, 0]])
    assert decoder_mask(ids, 0)[0, 0].tolist() == [[True, False, False], [True, True, False], [True, True, True]]
    assert decoder_mask(ids, 0)[1, 0].tolist() == [[True, False, False], [True, True, False], [True, True, False]]
