// The one script of a site. In a page it begins the app, and in a Web Worker it runs the engine.
import { begin } from "./app.js";
import { serveAnswers } from "./opening.js";

if (typeof document === "undefined") serveAnswers(globalThis);
else begin();
