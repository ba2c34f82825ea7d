// Files that a visitor drops on the page or chooses. They stay on this device.

const DEPTH = 4; // of a folder
export const MAX_FILES = 10_000;

/** A file of the visitor. @param {File} file @param {string} [path] @returns {OwnFile} */
const ownFile = (file, path = file.webkitRelativePath || file.name) => (
  { path, size: file.size, read: async () => file }
);

/** The files that were chosen in a field. @param {FileList} files */
export function chosenFiles(files) {
  return [...files].slice(0, MAX_FILES).map((file) => ownFile(file));
}

/** The files that were dropped, also those in folders. @param {DataTransfer} dropped @returns {Promise<OwnFile[]>} */
async function droppedFiles({ items, files }) {
  const entries = [...items].map((item) => item.webkitGetAsEntry?.()).filter(Boolean); // before the first pause
  if (!entries.length) return chosenFiles(files);
  const found = /** @type {OwnFile[]} */ ([]);
  await Promise.all(entries.map((entry) => addEntry(entry, found, 0)));
  return found;
}

/** @param {any} entry Of a folder or a file. @param {OwnFile[]} found @param {number} depth */
async function addEntry(entry, found, depth) {
  if (found.length >= MAX_FILES || depth > DEPTH) return;
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject));
    found.push(ownFile(file, entry.fullPath.replace(/^\//, "")));
    return;
  }
  const reader = entry.createReader();
  for (;;) {
    const some = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)); // a browser gives 100
    for (const one of some) await addEntry(one, found, depth + 1);
    if (!some.length || found.length >= MAX_FILES) return;
  }
}

/** Let visitors drop files anywhere on the page. @param {(files: Promise<OwnFile[]>) => void} take */
export function takeDrops(take) {
  const ofFiles = ({ dataTransfer }) => [...(dataTransfer?.types ?? [])].includes("Files");
  const mark = (on) => document.documentElement.toggleAttribute("data-dropping", on);
  document.ondragover = (event) => { if (ofFiles(event)) { event.preventDefault(); mark(true); } };
  document.ondragleave = ({ relatedTarget }) => { if (!relatedTarget) mark(false); };
  document.ondrop = (event) => {
    if (!ofFiles(event)) return;
    event.preventDefault();
    mark(false);
    take(droppedFiles(/** @type {DataTransfer} */ (event.dataTransfer)));
  };
}
