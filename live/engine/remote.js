// Files that the page reads for its worker: the worker gets a port for each, and asks it for parts. So all requests are
// those of the page, with its policy. A worker has a policy of its own.
import { readError, writeError } from "./errors.js";

/**
 * Values of a message in which each file that is no Blob is a port.
 * @param {any[]} values @param {AbortSignal} [signal]
 */
export function withPorts(values, signal) {
  const ends = /** @type {MessagePort[]} */ ([]), ports = /** @type {MessagePort[]} */ ([]);
  const sent = (file) => {
    if (file instanceof Blob) return file;
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = async ({ data: [from, to] }) => {
      try {
        const bytes = await file.slice(from, to).arrayBuffer(signal);
        port1.postMessage({ bytes }, [bytes]);
      } catch (error) {
        port1.postMessage({ error: writeError(error) });
      }
    };
    ends.push(port1);
    ports.push(port2);
    return { size: file.size, port: port2 };
  };
  const close = () => { for (const end of ends) end.close(); };
  return { values: values.map((value) => withFiles(value, sent)), ports, close };
}

/** The values of such a message for the engine. @param {any[]} values */
export function fromPorts(values) {
  return values.map((value) => withFiles(value, (file) => (file instanceof Blob ? file : {
    size: file.size, slice: (from, to) => ({ arrayBuffer: () => partOf(file.port, [from, to]) }),
  })));
}

/** One part at a time. @param {MessagePort} port @returns {Promise<ArrayBuffer>} */
function partOf(port, part) {
  return new Promise((resolve, reject) => {
    port.onmessage = ({ data: { bytes, error } }) => (error ? reject(readError(error)) : resolve(bytes));
    port.postMessage(part);
  });
}

/** @param {any} value @param {(file: any) => any} change */
function withFiles(value, change) {
  if (!value?.weights) return value;
  const files = Object.entries(value.weights).map(([name, file]) => [name, change(file)]);
  return { ...value, weights: Object.fromEntries(files) };
}
