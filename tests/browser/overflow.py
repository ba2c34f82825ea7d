"""What no reader can read on a page: text that is cut, covered or out of its box, and a page that scrolls sideways."""

from playwright.sync_api import Page, ViewportSize

from tests.browser.conftest import settle

PROJECTOR: ViewportSize = {"width": 1280, "height": 720}
PHONE: ViewportSize = {"width": 390, "height": 844}
# What is wrong, and with which text. Text that scrolls is whole, and so is text that ends in "…" with a tooltip.
FIND = """(wide) => {
    const SLACK = 2, MARGIN = 20; // pixels; Streamlit gives captions a negative margin
    // Formulas and icons are no text. The sidebar is closed on a phone.
    const LEFT_OUT = `script, style, .katex *, [data-testid=stIconMaterial], [data-testid=stSliderThumbValue] *
        ${wide ? '' : ', [data-testid=stSidebar] *'}`;
    const found = new Set(), drawings = new Map(), all = [];
    const note = (what, text) => found.add(`${what}: ${text.trim().replace(/\\s+/g, ' ').slice(0, 60)}`);
    const up = (element) => element.parentElement ?? element.getRootNode().host;
    const collect = (root) => root.querySelectorAll('*').forEach((element) => {
        all.push(element);
        if (element.shadowRoot) collect(element.shadowRoot);
    });
    const isLow = (one) => one.scrollHeight > one.clientHeight + MARGIN;
    const isSeen = (one) => one.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    const sideways = (one) => one.scrollWidth > one.clientWidth + SLACK;
    const hasTip = (element, text) => {
        for (let at = element; at; at = up(at)) if (at.title?.includes?.(text.trim())) return true;
        return false;
    };
    // What an element does to the texts inside it, asked once: a page has many texts with the same ancestors.
    const frames = new Map(), frameOf = (at) => {
        if (!frames.has(at)) {
            const style = getComputedStyle(at), { left, right, top, bottom, width } = at.getBoundingClientRect();
            frames.set(at, {
                left, right, top, bottom,
                forReaders: style.clipPath !== 'none' || width <= 2,
                scrolls: /auto|scroll/.test(style.overflow) && (sideways(at) || at.scrollHeight > at.clientHeight),
                cutsSides: /hidden|clip/.test(style.overflowX), cutsEnds: /hidden|clip/.test(style.overflowY),
                ellipsis: style.textOverflow === 'ellipsis' && sideways(at),
                framed: style.display !== 'inline'
                    && (parseFloat(style.borderLeftWidth) > 0 || !/, 0\\)$/.test(style.backgroundColor)),
            });
        }
        return frames.get(at);
    };
    // The first ancestor that cuts a text, or whose frame the text leaves.
    const problemOf = (element, text, box) => {
        for (let at = element; at && at !== document.body; at = up(at)) {
            if (at.ownerSVGElement) continue;
            const frame = frameOf(at), out = box.left < frame.left - SLACK || box.right > frame.right + SLACK;
            if (frame.forReaders || frame.scrolls) return '';
            if (frame.cutsSides && (out || frame.ellipsis)) return hasTip(element, text) ? '' : 'cut at its side';
            if (frame.cutsEnds && (box.top < frame.top - 3 || box.bottom > frame.bottom + 3)) return 'cut at its end';
            if (frame.framed && out) return 'leaves its box';
        }
        return box.left < -SLACK || box.right > innerWidth + SLACK ? 'leaves the window' : '';
    };
    // The corners of a drawn text, which may be turned, without the room above and below its letters.
    const cornersOf = (text) => {
        const { x, y, width, height } = text.getBBox(), m = text.getScreenCTM(), low = Math.min(3, height / 5);
        return [[x, y + low], [x + width, y + low], [x + width, y + height - low], [x, y + height - low]]
            .map(([a, b]) => [m.a * a + m.c * b + m.e, m.b * a + m.d * b + m.f]);
    };
    // Two rectangles are apart if they are apart along a side of one of them.
    const areApart = (p, q) => [p, q].some((box) => [0, 1].some((i) => {
        const across = [box[i + 1][1] - box[i][1], box[i][0] - box[i + 1][0]];
        const [one, other] = [p, q].map((corners) => corners.map(([x, y]) => x * across[0] + y * across[1]));
        return Math.max(...one) <= Math.min(...other) || Math.max(...other) <= Math.min(...one);
    }));
    collect(document.querySelector('[data-testid=stApp]'));
    for (const element of all) {
        if (element.matches(LEFT_OUT) || !isSeen(element)) continue;
        if (element.matches('[data-testid=stMain]') && sideways(element)) note('scrolls sideways', 'the page');
        if (wide && element.matches('.dvn-scroller') && sideways(element)) note('scrolls sideways', 'a table');
        // A typed text scrolls in a field with one line; a phone is narrower than many sentences.
        const scrolls = !wide && element.matches('input') && element.value;
        if (element.matches('input, textarea') && element.clientWidth > 9 && !scrolls
            && (sideways(element) || isLow(element)))
            note('cut in its field', element.value || element.placeholder);
        if (element.clientHeight && isLow(element) && getComputedStyle(element).overflowY === 'visible')
            note('covers what follows', element.textContent);
        const texts = [...element.childNodes].filter(({ nodeType, data }) => nodeType === 3 && data.trim());
        if (!texts.length) continue;
        const text = texts.map(({ data }) => data).join(' '), range = document.createRange();
        range.setStart(texts[0], 0);
        range.setEnd(texts.at(-1), texts.at(-1).length);
        const box = range.getBoundingClientRect(), problem = box.width > 2 && problemOf(element, text, box);
        if (problem) note(problem, text);
        const drawn = element.closest('svg text'), drawing = element.closest('.svg-container, svg:not(svg svg)');
        if (drawn && drawing) drawings.set(drawing, (drawings.get(drawing) ?? new Set()).add(drawn));
    }
    for (const [drawing, texts] of drawings) {
        const { left, right, top, bottom } = drawing.getBoundingClientRect();
        const { max, min } = Math, placed = [...texts].map((text) => {
            const corners = cornersOf(text), [xs, ys] = [0, 1].map((side) => corners.map((corner) => corner[side]));
            return { text: text.textContent, corners, ends: [min(...xs), max(...xs), min(...ys), max(...ys)] };
        });
        placed.forEach(({ text, corners, ends: [x0, x1, y0, y1] }, i) => {
            if (max(left - x0, x1 - right, top - y0, y1 - bottom) > SLACK) note('leaves its drawing', text);
            // A row of one sign, such as × in narrow cells, reads as such.
            for (const { text: other, corners: others, ends } of placed.slice(0, i)) {
                const near = ends[0] < x1 && x0 < ends[1] && ends[2] < y1 && y0 < ends[3];
                if (near && (text !== other || text.length > 1) && !areApart(corners, others))
                    note('overlap', `${other} / ${text}`);
            }
        });
    }
    return [...found];
}"""


def resize(page: Page, size: ViewportSize) -> None:
    """Give a page the size of another screen; a phone has fingers."""
    page.set_viewport_size(size)
    touch = page.context.new_cdp_session(page)
    touch.send("Emulation.setTouchEmulationEnabled", {"enabled": size == PHONE})
    touch.detach()
    page.wait_for_timeout(150)  # until the page has noticed its size
    settle(page)


def problems(page: Page) -> set[str]:
    """What is wrong, and is still wrong when nothing moves any more."""
    wide = page.viewport_size != PHONE
    if found := set(page.evaluate(FIND, wide)):
        page.wait_for_timeout(500)
        found &= set(page.evaluate(FIND, wide))
    return found
