// The engine in a Web Worker; see `WorkerEngine`.
import { serveEngine } from "./engine.js";

serveEngine(/** @type {any} */ (self));
