import numpy as np
import pytest

from model.inference.run import Result, Token
from viz_app.services.attention_view import select_head, view
from viz_app.widgets.marked_text import chips

RNG = np.random.default_rng(0)


def token(text: str, word: int, index: int = 10) -> Token:
    return Token(text=text, id=3 if word < 0 else index, word=word)


@pytest.fixture
def translation() -> Result:
    source = (token("dog", 0), token("·s", 0), token(".", 1), token("</s>", -1))
    written = (token("Hun", 0), token("·de", 0), token("</s>", -1))
    read = (Token(text="<s>", id=2, word=-1), *written[:-1])
    return Result(
        text="Hunde",
        source=source,
        read=read,
        written=written,
        maps={
            "encoder": RNG.dirichlet(np.ones(4), size=(2, 3, 4)).astype(np.float32),
            "decoder": (np.tri(3) / np.tri(3).sum(1, keepdims=True) * np.ones((2, 3, 1, 1))).astype(np.float32),
            "cross": RNG.dirichlet(np.ones(4), size=(2, 3, 3)).astype(np.float32),
        },
        finished=True,
        dropped=0,
    )


def test_cross_rows_are_what_is_written_and_decoder_rows_what_was_read(translation: Result) -> None:
    cross = view(translation, "cross", merge=False, hide_special=False)
    np.testing.assert_array_equal(cross.maps, translation.maps["cross"])
    assert list(cross.axes.queries) == ["Hun", "·de", "</s>"]
    assert list(cross.axes.keys) == ["dog", "·s", ".", "</s>"]
    decoder = view(translation, "decoder", merge=False, hide_special=False)
    assert list(decoder.axes.queries) == list(decoder.axes.keys) == ["<s>", "Hun", "·de"]
    for shown in (cross, decoder):
        assert shown.axes.query_notes[1] == "after reading “Hun”, writes “·de”"
    hidden = view(translation, "decoder", merge=False, hide_special=True)
    assert len(hidden.axes.query_notes) == len(hidden.axes.queries) == 2


def test_merging_joins_words_and_keeps_row_sums(translation: Result) -> None:
    cross = view(translation, "cross", merge=True, hide_special=False)
    assert list(cross.axes.queries) == ["Hunde", "</s>"]
    assert list(cross.axes.keys) == ["dogs", ".", "</s>"]
    np.testing.assert_allclose(cross.maps.sum(-1), 1, atol=1e-6)
    expected = translation.maps["cross"][1, 2, :2, :2].sum(-1).mean()
    assert cross.maps[1, 2, 0, 0] == pytest.approx(expected, abs=1e-6)


def test_hidden_special_tokens_have_a_named_share(translation: Result) -> None:
    cross = view(translation, "cross", merge=False, hide_special=True)
    np.testing.assert_array_equal(cross.maps, translation.maps["cross"][:, :, :2, :3])
    assert list(cross.axes.keys) == ["dog", "·s", "."]
    np.testing.assert_allclose(cross.hidden_share, translation.maps["cross"][:, :, :2, 3].mean(axis=-1), atol=1e-6)
    decoder = view(translation, "decoder", merge=True, hide_special=True)
    assert (list(decoder.axes.queries), list(decoder.axes.keys)) == (["Hunde"], ["Hunde"])


def test_the_future_counts_as_masked_also_in_merged_words(translation: Result) -> None:
    decoder = view(translation, "decoder", merge=False, hide_special=False)
    np.testing.assert_array_equal(decoder.allowed, [np.tri(3, dtype=bool)] * 2)
    merged = view(translation, "decoder", merge=True, hide_special=False)
    # "Hunde" sees <s> and itself; <s> does not see "Hunde", which comes after it.
    np.testing.assert_array_equal(merged.allowed, [[[True, False], [True, True]]] * 2)
    assert view(translation, "cross", merge=True, hide_special=True).allowed.all()


def test_a_head_or_the_mean_or_the_largest_of_all_heads(translation: Result) -> None:
    maps = translation.maps["cross"]
    np.testing.assert_array_equal(select_head(maps, 1, 2), maps[1, 2])
    np.testing.assert_allclose(select_head(maps, 0, "mean"), maps[0].mean(0))
    np.testing.assert_array_equal(select_head(maps, 0, "max"), maps[0].max(0))


def test_chips_escape_what_people_type() -> None:
    html = chips("reads", [token("<script>alert(1)</script>", 0)])
    assert "<script>" not in html
    assert "&lt;script&gt;" in html


def test_only_the_first_chips_of_many_are_shown_with_a_count() -> None:
    html = chips("reads", [token("x", i) for i in range(200)])
    assert html.count('class="hl-chip"') == 80
    assert "and 120 more" in html
