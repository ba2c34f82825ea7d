// The types of the components and of a published page, for the checks of the code. No page loads this file. The types of
// the engine are in engine/types.d.ts.

type App = import("./app/app.js").App;

/** What keeps the answers in a package for a learning platform; see app/scorm.js. */
declare var platform: Pick<Storage, "getItem" | "setItem" | "removeItem"> | undefined;

/** An element as it should be. */
interface Described {
  tag: string;
  attributes: Record<string, any>; // names that begin with "on" are event handlers; false leaves one out
  content: string | Described[] | undefined; // the text, the children, or undefined if other code draws there
}

/** An option of a list: its value and its name, or both as one text. */
type Option = string | [value: string, name: string];

/** What builds a component: it is built once, then updated, then closed. */
interface Built {
  update(data?: any, setTriggerValue?: any): void; // draw new data
  redraw?(): void; // draw the same data again, after the width has changed
  stop?(): void; // end timers and listeners
  picture?(): Element | null; // what the menu "Save picture" saves
}
/** What Streamlit gives to a component, each time it has new data. `setTriggerValue` reports an event to the server. */
interface Mount { data: any; parentElement: Element; setTriggerValue(name: string, value: any): void }
/** It returns the function that closes it. */
type Component = (mount: Mount) => () => void;
/** Ends what a function has begun. */
type Stop = () => void;

/** The form of every choice in a link; "" where none was made. */
type Choices = Record<string, string>;
/** Every change of a visitor inside the model. */
interface Changes { ablated: Head[]; uniform: Head[]; painted: PaintedCell[]; positions: boolean }
/** What a page asks a model for: a text or a pair, forced words (position → id), and changes inside the model. */
interface Asked { text: string; second?: string; forced?: Map<number, number>; changes?: Changes }
/** The choices of a visitor for an open checkpoint. */
interface Chosen { choices: Choices; info: Info }

/**
 * A checkpoint as a site lists it: the addresses of its files by their names, null if the page holds those with the names in `held`; its family and task, the
 * text for a gap, and whether it reads pairs; its cards by language, or the address of a file with them; the licence that
 * a card names; the files of a visitor's own model; where the table of its atlas is.
 */
interface Site {
  name: string; files: Record<string, string> | null; languages: [string, string]; family: string; task: Task; mask: string;
  pairs: boolean; examples: string[]; heads: string; order: string; reordered: string; batch: string[]; card: any;
  held?: string[]; licence?: string; own?: OwnFiles; atlas?: string;
}
/** A file of a visitor's own model. `report` gets the number of bytes while an archive is unpacked. */
interface OwnFile { path: string; size: number; read(watching?: Watching): Promise<Blob> }
/**
 * A visitor's own model: what the engine reads, and the names of the files that nothing reads. `hub`: the name by which
 * it was loaded from a host, "" for files of the visitor.
 */
interface OwnFiles extends CheckpointFiles { name: string; unused: string[]; hub?: string }
/** The recorded answers of one text: the link to what the page shows at first, and choices that it cannot change. */
interface Report {
  text: string; second: string; link: string; chosen: Choices; pages: string[]; made: string; note: string;
}
/** The measurement of all heads. `all`: when every head is measured. */
type Measuring = AbortController & { all: Promise<SilencingEffect[]> };
/**
 * The maps of one kind of attention as they are shown. `rows` and `columns` are the tokens of each row and column. A
 * weight is −∞ where masked.
 */
interface MapView {
  kind: string; layers: number; heads: number; queries: string[]; keys: string[]; notes: string[]; rows: number[];
  columns: number[]; weight(layer: number, head: number | string, t: number, s: number): number;
  axes: { query_title: string; key_title: string; languages: { query: string; key: string } };
}
/**
 * A page of the site. `opening`: the sentence until the visitor types one. `fits`: whether a model can show it; without
 * `info`, it is not open yet. `alone`: it needs no model.
 */
interface Page {
  show(root: Element, app: App): Promise<void>; opening?(site: Site): string; asksForText?(app: App): boolean;
  fits?(site: Site, info?: Info | null): boolean; alone?: boolean;
}

/** What a map shows. `t` is a query (row) and `s` a key (column), counted from 0. */
interface MapPicture {
  queries: string[]; keys: string[]; query_title: string; key_title: string;
  languages: { query: string; key: string };
  colours: { scale: string[]; masked: string; broken: string };
  label: string; // for people who cannot see it
  title: string; // of the saved picture
  weight(t: number, s: number): number; // −∞ where the mask forbids the cell; NaN is not a number
  position?(t: number, s: number): number; // on the colour scale; else the weight
  describe?(t: number, s: number): string; // the readout of a cell, as "name: value; …"
  height?: number; // pixels that the picture should fill
  bar?: { unit: string; ticks: [number, string][] }; // a colour bar
}
/** A cell of a map, as [query, key]. */
type Cell = [number, number];
/** The selected token of a map: a query (row) or a key (column), counted from 0. */
type MapSelection = { query?: number; key?: number } | null;

interface Playback {
  show(index: number): void; // show one picture, counted from 0, and stop playing
  set(known: number, index: number): void; // say which picture the server knows, and where to be
  refresh(): void; // draw the same one again, from new data
  play(): void; // start or pause
  stop(): void; // pause, and forget what is not reported yet
  index(): number; playing(): boolean;
  end(): void; // stop for good
}
/** The clicks of one board of switches from number `first` on: kind, layer and head. */
interface Clicks { board: string; first: number; places: [string, number, number][] }

/** An answer to a step of a lesson. The first one is the prediction. The server checks all of it. */
interface LessonRecord { first: any; answer: any; right: boolean }
interface LessonData {
  session: string; // a name for this session of the server
  changes: [number, string, LessonRecord][]; // number, name of the step, answer; numbers rise
  forgotten: number; // the number of the latest request to forget everything; 0 without one
  before: [number, object | null]; // number of its latest change, and what was there before the lesson
  offer: boolean; // whether the tour may be offered
  pointing: [string, string]; // the open step, and the part of the page at which its visitor has to point
}

/** A chart that arrow keys can walk cell by cell. */
interface WalkableChart {
  width: number; height: number; // columns and rows; the first row is on top
  layer: Element; // it receives the events of the pointer
  place(cell: [number, number]): { clientX: number; clientY: number }; // where a cell, as [column, row], is
}

/** The row of a map that the visitor chose. */
interface ChosenRow {
  kind: string; layer: number; head: number; query: number; queries: string[]; keys: string[]; translation: Result;
}
/** The recorded vectors and numbers of one query: (K), (S, K), (S, K), (S), (S), (K). */
interface RowParts {
  query: Float32Array; keys: Float32Array[]; values: Float32Array[]; masked: boolean[]; weights: Float32Array;
  output: Float32Array;
}
