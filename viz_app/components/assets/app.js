// All components of the app. The server sends this file once; the component of each picture then takes its own from
// here.
import { address } from "./address.js";
import { architecture } from "./architecture.js";
import { attentionLines } from "./attention_lines.js";
import { attentionMap } from "./attention_map.js";
import { beamTree } from "./beam_tree.js";
import { chartKeys } from "./chart_keys.js";
import { connection } from "./connection.js";
import { derivation } from "./derivation.js";
import { headGrid } from "./head_grid.js";
import { headSwitches } from "./head_switches.js";
import { keptTheme } from "./kept_theme.js";
import { lessonStore } from "./lesson_store.js";
import { lessonTarget } from "./lesson_target.js";
import { menuRoles } from "./menu_roles.js";
import { styleComponents } from "./mounting.js";
import { pageAnnouncement } from "./page_announcement.js";
import { pageLanguage } from "./page_language.js";
import { combined } from "./page_parts.js";
import { presentKey } from "./present_key.js";
import { savePictures } from "./save_pictures.js";
import { shortcuts } from "./shortcuts.js";
import { stepper } from "./stepper.js";
import { tooltips } from "./tooltips.js";
import { touch } from "./touch.js";
import { trainingPlayer } from "./training_player.js";
import { wordLines } from "./word_lines.js";

const components = {
  address, architecture, derivation, stepper,
  attention_lines: attentionLines,
  attention_map: attentionMap,
  beam_tree: beamTree,
  head_grid: headGrid,
  head_switches: headSwitches,
  lesson_store: lessonStore,
  page_parts: combined({
    page_announcement: pageAnnouncement, word_lines: wordLines, lesson_target: lessonTarget,
      save_pictures: savePictures,
  }),
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
export const pageKeys = combined({
  touch, shortcuts, chart_keys: chartKeys, menu_roles: menuRoles, kept_theme: keptTheme, connection,
  page_language: pageLanguage, tooltips,
});
