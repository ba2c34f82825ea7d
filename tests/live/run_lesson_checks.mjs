// Runs the checks of lessons on a page without a screen. Standard input: { checkpoints, cases }, standard output: for
// each case the verdicts on its answers, both as JSON. A case has the page, its choices, the step as the site lists it,
// and answers.
import { readFileSync } from "node:fs";
import shared from "../../live/shared.json" with { type: "json" };

globalThis.document = /** @type {any} */ ({ querySelector: () => null });
const { App } = await import("../../live/app/app.js");
const { readAddress, writeAddress } = await import("../../live/app/link.js");
const { check, Situation } = await import("../../live/course/situation.js");

const { checkpoints, cases } = JSON.parse(readFileSync(0, "utf8"));
const app = new App({ checkpoints, words: { en: [] }, shared });
app.session.onStep = () => {};

/** Open a checkpoint, without a server. */
async function open({ name, files }) {
  const [weights, config, tokenizer] = ["weights", "config", "tokenizer"].map((part) => readFileSync(files[part]));
  app.session.results.clear();
  app.session.info = app.info = await app.session.engine.open({
    texts: { "config.json": `${config}`, "tokenizer.json": `${tokenizer}` },
    weights: { "model.safetensors": new Blob([weights]) },
  });
  app.session.name = name;
}

const results = [];
for (const { step, page, choices, answers } of cases) {
  ({ page: app.page, choices: app.choices } = readAddress(writeAddress(page, choices), app.pages));
  if (app.session.name !== app.listed.name) await open(app.listed);
  const verdicts = [];
  for (const answer of answers) verdicts.push(await check(step, new Situation({ app, step }), answer));
  results.push(verdicts);
}
process.stdout.write(JSON.stringify(results));
