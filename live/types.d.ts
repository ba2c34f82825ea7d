// The types of the components and of a published page, for the checks of the code. No page loads this file. The types of
// the engine are in engine/types.d.ts.

type App = import("./app/app.js").App;

/** An element as it should be. */
interface Described {
  tag: string;
  attributes: Record<string, any>; // names that begin with "on" are event handlers; false leaves one out
  content: string | Described[] | undefined; // the text, the children, or undefined if other code draws there
}

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
/** What the engine says of an open checkpoint. */
type Info = Awaited<ReturnType<Engine["open"]>>;
/** The choices of a visitor for an open checkpoint. */
interface Chosen { choices: Choices; info: Info }

/**
 * A checkpoint as a site lists it: the addresses of its files, null if the page holds them; its cards by language, or the
 * address of a file with them.
 */
interface Site {
  name: string; files: Record<string, string> | null; languages: [string, string]; description: string;
  examples: string[]; heads: string; order: string; reordered: string; batch: string[]; card: any;
}
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
  languages: { query: string; key: string }; titles: { query_title: string; key_title: string };
}
/** A page of the site. `opening`: the sentence until the visitor types one. */
interface Page {
  show(root: Element, app: App): Promise<void>; opening?(site: Site): string; asksForText?: boolean;
}
