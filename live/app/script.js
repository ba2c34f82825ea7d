// The one script of a site. In a page it begins the app, and in a Web Worker it runs the engine.
import { serveAnswers } from "./answers.js";
import { begin } from "./app.js";

if (typeof document === "undefined") serveAnswers(globalThis);
else begin();
