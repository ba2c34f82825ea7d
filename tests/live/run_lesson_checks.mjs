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
for (const listed of checkpoints) { // without a server, its files are given
  const own = { name: "", unused: [], texts: {}, weights: {} };
  for (const [name, path] of Object.entries(listed.files))
    if (name.endsWith(".safetensors")) own.weights[name] = new Blob([readFileSync(path)]);
    else own.texts[name] = `${readFileSync(path)}`;
  listed.own = own;
}
const app = new App({ checkpoints, words: { en: [] }, shared });
app.session.onStep = () => {};

const results = [];
for (const { step, page, choices, answers } of cases) {
  ({ page: app.page, choices: app.choices } = readAddress(writeAddress(page, choices), app.pages));
  app.info = await app.session.open(app.listed, () => {});
  const verdicts = [];
  for (const answer of answers) verdicts.push(await check(step, new Situation({ app, step }), answer));
  results.push(verdicts);
}
process.stdout.write(JSON.stringify(results));
