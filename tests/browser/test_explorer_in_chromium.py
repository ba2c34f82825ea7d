"""What a visitor touches on the explorer's pages, in a real browser."""

import re
from collections.abc import Callable
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from model.checkpoints.checkpoint import load_checkpoint
from model.inference.translate import translate
from model.interventions import Head, Intervention
from tests.browser.conftest import cell, settle, visible_text
from tests.conftest import BUNDLED, PATIENCE
from viz_app.content.examples import EVERYDAY, REVIEWS

Visit = Callable[..., Page]
NAME = "everyday-de-en"
TEXT = EVERYDAY["de"][0]
HERE = f"checkpoint={NAME}&text={TEXT.replace(' ', '+')}"


def translation(**settings: object) -> str:
    return translate(load_checkpoint(BUNDLED / NAME), TEXT, **settings).text  # type: ignore[arg-type]


def lines(page: Page) -> Locator:
    return page.locator("svg[data-lines] line")


def test_lines_follow_heads_threshold_and_the_token_under_the_pointer(visit: Visit) -> None:
    page = visit(f"?{HERE}&view=lines&layer=3&head=1")
    settle(page)
    expect(lines(page).first).to_be_attached()  # a level line has no height, so it counts as hidden
    at_first, first = lines(page).count(), page.get_by_role("switch", name="layer 3, head 1")
    colour = first.get_attribute("style")
    page.get_by_role("switch", name="layer 1, head 3").click()
    expect(lines(page)).not_to_have_count(at_first)
    settle(page)
    both = lines(page).count()
    assert both > at_first
    assert len({line.get_attribute("stroke") for line in lines(page).all()}) == 2
    assert first.get_attribute("style") == colour, "a head keeps its colour, whatever else is switched on"
    dashes = {line.get_attribute("stroke-dasharray") for line in lines(page).all()}
    assert len(dashes) == 2, "nor is colour the only sign"
    page.get_by_label("Threshold").fill("0.5")
    expect(lines(page)).not_to_have_count(both)
    assert 0 < lines(page).count() < both
    page.get_by_label("Threshold").fill("0")
    page.get_by_label("Largest weights per query").fill("1")
    written = translate(load_checkpoint(BUNDLED / NAME), TEXT).written
    expect(lines(page)).to_have_count(2 * len(written))
    page.locator("text[data-side=query]").nth(2).hover()
    expect(lines(page)).to_have_count(2)
    expect(lines(page).first.locator("title")).to_contain_text(f"{written[2].text} →")
    page.locator("text[data-side=query]").nth(0).hover()
    expect(lines(page).first.locator("title")).to_contain_text(f"{written[0].text} →")
    page.mouse.move(5, 5)
    expect(lines(page)).to_have_count(2 * len(written))


@pytest.mark.parametrize(("view", "kind"), [("head", "encoder"), ("model", "decoder")])
def test_bertviz_draws_without_another_host(visit: Visit, view: str, kind: str) -> None:
    page = visit(f"?{HERE}&view={view}&kind={kind}")
    frame = page.frame_locator("iframe")
    expect(frame.locator("svg line").first).to_be_attached()
    tokens = translate(load_checkpoint(BUNDLED / NAME), TEXT)
    expect(frame.locator("svg line").nth(len(tokens.written) - 1)).to_be_attached()
    if view == "head":
        queries = tokens.source if kind == "encoder" else tokens.written
        expect(frame.get_by_text(queries[1].text, exact=True).first).to_be_visible()


def test_a_token_cannot_break_out_of_bertviz(visit: Visit) -> None:
    page = visit(f"?checkpoint={NAME}&view=head&text=%3C/script%3E%3Cscript%3Edocument.title='hacked'%3C/script%3E")
    expect(page.frame_locator("iframe").locator("svg line").first).to_be_attached()
    settle(page)
    assert "hacked" not in page.title()
    assert page.frame_locator("iframe").locator("script").count() == 4


def test_play_slide_and_force_another_word(visit: Visit) -> None:
    page = visit(f"steps?{HERE}")
    expected = translate(load_checkpoint(BUNDLED / NAME), TEXT)
    settle(page)
    expect(page.get_by_text(f"step 1 of {len(expected.written)}")).to_be_visible()
    page.get_by_role("button", name="Play").click()
    # On a busy machine, the third step is over before the next look.
    expect(page.get_by_text(re.compile(rf"step ([3-9]|\d\d) of {len(expected.written)}"))).to_be_visible()
    page.get_by_role("button", name="Pause").click()
    page.get_by_label("Step", exact=True).fill("2")
    expect(page.get_by_text(f"step 2 of {len(expected.written)}")).to_be_visible()
    row = page.locator("rect[data-row='3']")  # layer 1, head 3
    shown = [float(cell.get_attribute("data-weight") or "nan") for cell in row.all()]
    assert shown == pytest.approx(expected.maps["cross"][0, 2, 1].tolist(), abs=1e-6)
    assert page.locator(".chip.masked").count() == len(expected.written) - 2
    page.get_by_text("decoder self, masked", exact=True).click()
    expect(page.locator("rect[data-row='3'][fill='#8c8c8c']")).to_have_count(len(expected.written) - 2)
    shown = [float(cell.get_attribute("data-weight") or "nan") for cell in row.all()]
    assert shown == pytest.approx(expected.maps["decoder"][0, 2, 1].tolist(), abs=1e-6)
    other = expected.written[1].candidates[1]
    page.locator(f"[data-id='{other.id}']").click()
    changed = translation(forced={1: other.id})
    expect(page.locator(".hl-text")).to_have_text([changed])
    expect(page.get_by_text("step 2 of")).to_be_visible()  # the step stays
    settle(page)
    page.get_by_role("button", name="Undo").click()
    expect(page.locator(".hl-text")).to_have_text([expected.text])


def test_a_click_in_the_tree_continues_from_that_hypothesis(visit: Visit) -> None:
    page = visit(f"steps?{HERE}&steps_view=beam&beam_size=3")
    settle(page)
    expect(page.locator("g.node.best").first).to_be_visible()
    second = page.locator("g.node").nth(1)
    token = (second.locator("text").first.text_content() or "").strip()
    second.click()
    expect(page.get_by_text(f"Forced: “{token}” at step 1")).to_be_visible()
    expect(page.locator("g.node.best text").first).to_have_text(token)


def test_a_click_on_the_architecture_leads_to_that_layer(visit: Visit) -> None:
    page = visit(f"inside?{HERE}&inside_tab=stations&station_code=true")
    expect(page.get_by_role("button", name="decoder, layer 3, shown")).to_be_visible()
    settle(page)
    page.get_by_role("button", name="encoder, layer 1, show it").click()
    expect(page.get_by_role("button", name="encoder, layer 1, shown")).to_be_visible()
    expect(page).to_have_url(re.compile("stack=encoder"))
    settle(page)
    page.get_by_role("button", name="decoder, layer 2").press("Enter")
    expect(page.get_by_role("button", name="decoder, layer 2, shown")).to_be_visible()
    expect(page.get_by_text("It is only rounding")).to_be_visible()


def test_a_map_of_the_decoder_does_not_name_the_words_to_guess(visit: Visit) -> None:
    page = visit(f"steps?{HERE}&guess=true&steps_kind=decoder&step=1")
    labels = page.locator(".st-key-stepper .picture text[transform]")
    expect(labels.first).to_be_attached()
    first, *later = labels.all_text_contents()
    assert "…" not in first
    assert later
    assert all("…" in label for label in later)


def test_a_visitor_can_guess_before_the_words_are_shown(visit: Visit) -> None:
    page = visit(f"steps?{HERE}&guess=true")
    expected = translate(load_checkpoint(BUNDLED / NAME), TEXT)
    expect(page.get_by_text("Which token comes next?")).to_be_visible()
    words = [token.text for token in expected.written]
    assert expected.text not in visible_text(page)
    expect(page.locator(".candidate")).to_have_count(0)
    expect(page.locator("button.chip").nth(1)).to_have_text("…")
    page.get_by_role("button", name="Show the ten most likely tokens").click()
    expect(page.locator(".candidate.written .word")).to_have_text(words[0])
    expect(page.locator("button.chip").nth(1)).to_have_text(words[0])
    expect(page.locator("button.chip").nth(2)).to_have_text("…")
    page.get_by_role("button", name="Next step").click()
    expect(page.get_by_text("Which token comes next?")).to_be_visible()
    guess = page.get_by_label("Your guess")
    guess.fill(words[1].upper())
    guess.press("Enter")
    expect(page.locator(".verdict")).to_have_text(f"Right: the model wrote “{words[1]}”. Right guesses so far: 1 of 1.")
    page.get_by_role("button", name="Next step").click()
    expect(guess).to_have_value("")
    guess.fill("zebra")
    page.get_by_role("button", name="Show the ten most likely tokens").click()
    expect(page.locator(".verdict")).to_contain_text("not “zebra”. Right guesses so far: 1 of 2.")


def test_a_click_on_a_token_opens_its_step_and_the_link_keeps_it(visit: Visit) -> None:
    page = visit(f"steps?{HERE}")
    settle(page)
    expect(page.get_by_text("step 1 of")).to_be_visible()
    page.locator("button.chip").nth(3).click()
    expect(page.get_by_text("step 4 of")).to_be_visible()
    expect(page).to_have_url(re.compile("step=4"))
    other = visit(f"steps{page.url.partition('/steps')[2]}")
    expect(other.get_by_text("step 4 of")).to_be_visible()
    page.get_by_role("button", name="Speed: 1 ×").click()
    expect(page.get_by_role("button", name="Speed: 2 ×")).to_be_visible()


def test_pointing_at_a_step_highlights_its_line_of_code_and_vice_versa(visit: Visit) -> None:
    page = visit(f"inside?{HERE}&inside_tab=stations&station_code=true")
    expect(page.get_by_text("It is only rounding")).to_be_visible()
    settle(page)  # until then stations come below, so that the last one is another, and what is above them grows
    for step, line in (("weights", "attention_weights(masked"), ("activation", "self.activation(inner)")):
        card = page.locator(f"button.step[data-step={step}]").last
        code = page.locator(f".line[data-step={step}]").filter(has_text=line).last
        card.hover()
        expect(code).to_have_class(re.compile("lit"))
        page.mouse.move(2, 2)
        expect(code).not_to_have_class(re.compile("lit"))
        code.hover()
        expect(card).to_have_class(re.compile("lit"))
    card.focus()
    card.press("Enter")
    expect(card).to_have_attribute("aria-pressed", "true")
    page.mouse.move(2, 2)
    expect(code).to_have_class(re.compile("lit"))


def test_two_visitors_silence_different_heads_independently(visit: Visit) -> None:
    first, second = (visit(f"heads?{HERE}&text={quote(TEXT)}") for _ in range(2))
    for page in (first, second):
        settle(page)
    first.get_by_role("button", name="Silence all heads").click()
    every = Intervention(
        ablated=frozenset(
            Head(kind, la, h) for kind in ("encoder", "decoder", "cross") for la in range(3) for h in range(8)
        )
    )
    changed = second.locator(".hl-lines bdi").nth(1)
    second.get_by_role("switch", name="cross-attention, layer 3, head 2").click()
    expect(second.get_by_role("switch", name="cross-attention, layer 3, head 2: silenced")).to_be_visible()
    one = Intervention(ablated=frozenset([Head("cross", 2, 1)]))
    expect(changed).to_have_text(translation(edits=one.edits()))
    expect(first.locator(".hl-lines bdi").nth(1)).to_have_text(translation(edits=every.edits()) or "(nothing)")
    expect(second.locator("button.head.off")).to_have_count(1)
    expect(first.locator("button.head.off")).to_have_count(72)
    # A link shows the same to another visitor.
    expect(second).to_have_url(re.compile("intervention=off.cross.3.2"))
    colleague = visit(second.url.split("/", 3)[3])
    expect(colleague.locator(".hl-lines bdi").nth(1)).to_have_text(translation(edits=one.edits()))
    # A visitor of Translate sees no change.
    expect(visit(f"?{HERE}&text={quote(TEXT)}").locator(".hl-text")).to_have_text([translation()])


def test_a_head_can_be_made_uniform_and_changes_can_be_cleared(visit: Visit) -> None:
    page = visit(f"heads?{HERE}&click_means=flatten")
    settle(page)
    page.get_by_role("switch", name="encoder self-attention, layer 1, head 1").click()
    expect(page.get_by_role("switch", name="encoder self-attention, layer 1, head 1: uniform")).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Clear changes").click()
    expect(page.locator("button.head.uniform")).to_have_count(0)


def test_a_cell_can_be_painted(visit: Visit) -> None:
    page = visit(f"heads?{HERE}&layer=3&head=2")
    settle(page)
    chosen = cell(page, 1, 3, name="paint_map")
    chosen.hover()
    expect(page.locator(".st-key-paint_map .says")).to_contain_text("choose to paint")
    chosen.click()
    expect(page.get_by_text("Painted: cross, layer 3, head 2, row 2, column 4: 1.")).to_be_visible()
    page.get_by_role("button", name="Clear paint").click()
    expect(page.get_by_text("Painted:")).to_have_count(0)


def test_importance_can_be_measured_and_cancelled(visit: Visit) -> None:
    page = visit(f"heads?{HERE}")
    settle(page)
    page.get_by_role("tab", name="Importance").click()
    page.get_by_role("button", name="Measure every head").click()
    # A run that lasts longer shows a button "Stop" of Streamlit, too.
    page.get_by_test_id("stTabs").get_by_role("button", name="Stop").click()
    expect(page.get_by_role("button", name="Measure every head")).to_be_visible()
    expect(page.locator(".js-plotly-plot")).to_have_count(1)
    page.get_by_role("button", name="Measure every head").click()
    expect(page.get_by_text("correlation of")).to_be_visible(timeout=1000 * PATIENCE)
    expect(page.locator(".js-plotly-plot")).to_have_count(2)


def test_a_mistake_with_masks_can_be_chosen(visit: Visit) -> None:
    page = visit(f"masks?{HERE}")
    settle(page)
    page.get_by_role("tab", name="Bug lab").click()
    expect(page.get_by_text("Mask after the softmax", exact=True).first).to_be_visible()
    settle(page)
    page.get_by_text("Mask after the softmax", exact=True).first.click()
    expect(page.get_by_text("rows no longer sum to 1")).to_be_visible()
    expect(page.get_by_text(re.compile(r"The rows sum to 0\.\d\d to"))).to_be_visible()


def test_a_review_can_be_chosen(visit: Visit) -> None:
    page = visit("sentiment")
    expect(page.locator(".hl-text")).to_contain_text(["positive"])
    settle(page)
    page.get_by_label("Examples").click()
    page.get_by_role("option", name=re.compile(re.escape(REVIEWS[2][:20]))).click()
    expect(page.locator(".hl-text")).to_contain_text(["negative"])
    expect(page.locator(".hl-word").first).to_have_text("what")
