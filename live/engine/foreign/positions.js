// How the layers of a model of another library know positions: rotations and windows.
import { requireKnown, requireWhole } from "../config/model.js";
import { N_, require } from "../errors.js";
import { rates } from "../network/positional.js";
import { flagIn, listIn, nameIn, numberIn, valueIn } from "./sizes.js";

/** The speeds of the pairs of a head that are rotated, see `rotaryPositions`. @param {Values} rope Its settings. */
export function speedsOf(rope, width, base, fraction, positions) {
  const names = ["rope_type", "type"], type = valueIn(rope, names, "default");
  // dynamic changes longer texts only
  requireKnown(nameIn(rope, names), type, ["default", "linear", "llama3", "dynamic"]);
  const rotated = Math.trunc(width * numberIn(rope, ["partial_rotary_factor"], fraction, 0, 1));
  require(
    rotated % 2 === 0, "config-damaged", N_("config.json rotates {n} numbers of each head. They must be pairs."),
    { n: rotated },
  );
  const speeds = rates(rotated, numberIn(rope, ["rope_theta"], base, 1)), whole = 2 * Math.PI;
  if (type !== "linear" && type !== "llama3") return speeds;
  const factor = numberIn(rope, ["factor"], undefined, 1);
  if (type === "linear") return speeds.map((speed) => speed / factor);
  const low = numberIn(rope, ["low_freq_factor"], undefined), high = numberIn(rope, ["high_freq_factor"], undefined);
  const length = numberIn(rope, ["original_max_position_embeddings"], positions);
  return speeds.map((speed) => {
    const turns = (length * speed) / whole, share = Math.min(Math.max((turns - low) / (high - low), 0), 1);
    return ((1 - share) * speed) / factor + share * speed;
  });
}

/**
 * The rotations of all layers. Layers with a window may have their own (Gemma 3), and some may have none (SmolLM 3).
 * @param {Values} values @param {number} width Of a head. @param {number} positions @param {number[]} windows
 */
export function rotationsOf(values, width, positions, windows) {
  const given = valueIn(values, ["rope_parameters", "rope_scaling"], {}), local = values.rope_local_base_freq;
  const theta = numberIn(values, ["rope_theta", "rotary_emb_base"], 10_000, 1);
  const part = numberIn(values, ["partial_rotary_factor", "rotary_pct"], 1, 0, 1);
  const all = speedsOf(given.full_attention ?? given, width, theta, part, positions);
  const near = local ? speedsOf(given.sliding_attention ?? {}, width, local, part, positions) : all;
  const aware = listIn(values, "no_rope_layers"), interval = values.no_rope_layer_interval ?? Infinity;
  return windows.map((window, i) => ((aware?.[i] ?? (i + 1) % interval) ? (window ? near : all) : []));
}

/** How many positions each layer sees, 0 = all. @param {Values} values */
export function windowsOf(values, layers) {
  const types = listIn(values, "layer_types"), uses = flagIn(values, "use_sliding_window", true);
  const { sliding_window: window, sliding_window_pattern: pattern, max_window_layers: first = Infinity } = values;
  if (window != null) requireWhole("sliding_window", window, 2 ** 31);
  for (const type of types ?? []) requireKnown("layer_types", type, ["full_attention", "sliding_attention"]);
  return Array.from({ length: layers }, (_, i) => {
    const slides = types ? types[i] === "sliding_attention" : pattern ? (i + 1) % pattern !== 0 : i >= first;
    return uses && slides ? window ?? 0 : 0;
  });
}
