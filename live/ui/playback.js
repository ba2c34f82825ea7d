// The steps of a decode or the snapshots of a training run as a film: one is shown, a timer goes to the next, and the
// server gets the one at which the visitor stays.

import { el } from "./dom.js";
import { say } from "./words.js";

const REPORT_DELAY = 400; // milliseconds without a change until the server gets it

/**
 * A film of `length()` pictures.
 * @param {object} film @param {() => number} film.length
 * @param {() => number} film.interval Milliseconds for one picture.
 * @param {(changed: boolean) => void} film.draw Called for each picture.
 * @param {(index: number) => void} film.report Called with the picture at which the visitor stays.
 * @returns {Playback}
 */
export function playback({ length, interval, draw, report }) {
  let index = 0, reported = 0;
  /** @type {ReturnType<typeof setInterval> | undefined} */
  let timer;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let reporting;
  const last = () => length() - 1;

  function stop() {
    clearInterval(timer);
    clearTimeout(reporting);
    timer = undefined;
  }

  function go(to) {
    const before = index;
    index = Math.min(Math.max(to, 0), last());
    if (index === last()) stop();
    draw(index !== before);
    clearTimeout(reporting);
    if (timer || index === reported) return;
    reporting = setTimeout(() => {
      reported = index;
      report(index);
    }, REPORT_DELAY);
  }

  function show(to) {
    stop();
    go(to);
  }

  function play() {
    if (timer) return show(index);
    timer = setInterval(() => go(index + 1), interval());
    go(index === last() ? 0 : index);
  }

  function walked(event) {
    event.preventDefault(); // the page does not walk as well
    show(index + event.detail);
  }

  function set(known, to) {
    [reported, index] = [known, to];
  }

  document.addEventListener("headlight-walk", walked);
  const end = () => {
    stop();
    document.removeEventListener("headlight-walk", walked);
  };
  return {
    show, set, play, refresh: () => go(index), stop, end, index: () => index, playing: () => timer !== undefined
  };
}

/**
 * A button of a bar. With aria-disabled it keeps the focus; a disabled button would lose it.
 * @param {string} label @param {string} text @param {() => void} onclick
 */
export function barButton(label, text, onclick, off = false) {
  const attributes = { type: "button", "aria-label": label, title: label, "aria-disabled": off && "true", onclick };
  return el("button", attributes, text);
}

/**
 * The buttons that play a film, and that go back and on.
 * @param {Playback} film @param {number} last @param {[string, string]} names Of the latter two.
 * @param {boolean} [worded] The first one has its name beside its sign.
 */
export function filmButtons(film, last, [back, on], worded = false) {
  const play = film.playing() ? say("Pause") : say("Play"), sign = film.playing() ? "❚❚" : "▶", index = film.index();
  return [
    barButton(play, worded ? `${sign} ${play}` : sign, film.play),
    barButton(back, "‹", () => film.show(index - 1), index === 0),
    barButton(on, "›", () => film.show(index + 1), index === last),
  ];
}
