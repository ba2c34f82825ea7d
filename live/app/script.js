// The one script of a site. In a page it begins the app, and in a Web Worker it runs the engine.
import { serveEngine } from "../engine/engine.js";
import { begin } from "./app.js";

if (typeof document === "undefined") serveEngine(globalThis);
else begin();
