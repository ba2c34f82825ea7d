// All components of the app. The server sends this file once; the component of each picture then takes its own from
// here.
import { atlasHeads } from "../ui/atlas.js";
import { atlasHead } from "../ui/atlas_head.js";
import { circuit } from "../ui/circuit.js";
import { derivation } from "../ui/derivation.js";
import { architecture, beamTree } from "../ui/diagrams.js";
import { headSwitches } from "../ui/head_switches.js";
import { lessonStore } from "../ui/lesson_store.js";
import { attentionLines } from "../ui/lines.js";
import { attentionMap, headGrid } from "../ui/maps.js";
import { component, styleComponents } from "../ui/mounting.js";
import { tooltips } from "../ui/page_events.js";
import { stepper } from "../ui/stepper.js";
import { trainingPlayer } from "../ui/training_player.js";
import { chartKeys, connection, keptTheme, menuRoles, presentKey, shortcuts, touch } from "./keys.js";
import { address, pageParts } from "./page.js";

const components = {
  address, architecture, circuit, derivation, stepper,
  atlas_head: atlasHead,
  atlas_heads: atlasHeads,
  attention_lines: attentionLines,
  attention_map: attentionMap,
  beam_tree: beamTree,
  head_grid: headGrid,
  head_switches: headSwitches,
  lesson_store: lessonStore,
  page_parts: pageParts,
  present_key: presentKey,
  training_player: trainingPlayer,
};

/**
 * Hand over the components to all that wait for them.
 * @param {string} name The global variable with the promise of the components. It names their version too: after an
 *   update of the server, old and new components can be on one page.
 * @param {string} css The style of all components.
 */
export function provideComponents(name, css) {
  styleComponents(css);
  const page = /** @type {any} */ (globalThis);
  page[name] ??= {};
  if (page[name].resolve) page[name].resolve(components); // a component came first
  else page[name].promise ??= Promise.resolve(components);
}

/** The language of a page, and how it reacts to keys and fingers. */
export const pageKeys = component(() => {
  const begun = [touch, shortcuts, chartKeys, menuRoles, keptTheme, connection, tooltips].flatMap((begin) => begin());
  return {
    // A browser chooses the form of Chinese characters by the language, and a screen reader its voice.
    update: ({ language }) => { document.documentElement.lang = language; },
    stop: () => { for (const stop of begun) stop(); },
  };
});
