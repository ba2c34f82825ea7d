// The types of the engine, for the checks of the code. No page loads this file.

/** Numbers row by row: the last axis is contiguous. */
interface Tensor { data: Float32Array; shape: number[] }
type Matrix = import("./matrix.js").Matrix;
/** The weight is (outputs, inputs), as in PyTorch. */
interface Linear { weight: Matrix; bias: Float32Array | null }
type Norm = import("./network/norms.js").Norm;
/**
 * What an attention layer does to distinguish positions: rotate queries or keys (H, T, K), the first of which has the
 * position `offset`; or add numbers to the scores, (H, T, S).
 */
interface LayerPositions {
  rotate?(x: Tensor, offset: number): Tensor; bias?(queries: number, keys: number, offset: number): Tensor;
}
/** (T, S), 1 = may attend; null allows everything. */
type Mask = Uint8Array | null;
type Weights = import("./safetensors.js").Weights;

/** It returns a new tensor, or the same one unchanged. `first` is the position of the first query of the pass. */
type Edit = (tensor: Tensor, first: number) => Tensor;
type Edits = Record<string, Edit>; // pattern of hook points → edit
/** What a model tells about its run: the tensors at its hook points, and the passes of its decoder. */
interface Visitor { visit(name: string, tensor: Tensor): Tensor; nextPass(first: number): void }
type Trace = import("./trace.js").Trace;

/**
 * A step from the last states to the logits: a matrix, a norm, an activation, a factor or a limit. A matrix is that of
 * the embeddings if it is `tied`; its bias has one of several names, "" if there may be none.
 */
interface ReadoutStep {
  matrix?: string; norm?: string; outputs?: number; inputs?: number; bias?: string[]; shape?: number[];
  tied?: "always" | "absent" | "never"; activation?: string; times?: number; cap?: number;
}
/** The sizes of a model and the parts of its block, with the names of our config.json; a model has those of its architecture. */
interface Sizes {
  architecture?: string; d_model: number; num_heads: number; d_ff: number; d_hidden: number; max_length: number;
  num_encoder_layers: number; num_decoder_layers: number; activation: string; attention: string;
  tie_embeddings: string; source_vocab_size: number; target_vocab_size: number;
  vocab_size: number; labels: string[]; several_labels?: boolean;
  pooling: string; // "attention", "mean" or "first"
  norm: string; // "pre", "post", "both" or "added", see `Residual`
  rms_norm: boolean; norm_eps: number; norm_shift: number; final_norm: boolean;
  parallel: boolean; // attention and feed-forward read the same stream
  gated: boolean; feed_forward_bias: boolean; decoder_d_ff: number;
  attention_bias: string[]; // of "query", "key", "value" and "output"
  num_kv_heads: number; head_width: number;
  norm_queries: string; // queries and keys have a norm: "each" head, "all" heads together, or ""
  score_scale: number; scale_by_layer: boolean; score_cap: number; attention_sinks: boolean;
  positional: string; // "sinusoidal", "learned", "rotary", "alibi", "relative" or "none"
  halves: boolean; // sines and cosines, or the numbers that are rotated together, stand in two halves
  rotations?: number[][]; // of each layer: the speeds of its pairs, see `rotaryPositions`
  windows?: number[]; // of each layer: how many positions a query sees, 0 = all
  buckets: number; farthest: number; // of a relative bias
  embedding_scale: number; embedding_width: number; embedding_norm: boolean; token_types: number;
  position_offset?: number; // rows of the file before the first position
  stored_positions?: number; // rows of the file
  readout: ReadoutStep[];
  state_scale?: number; logit_cap?: number; // of a foreign decoder, see `wayOut`
}
/** The values of a file of settings. */
type Values = Record<string, any>;
/** How the tensors of a family are stored: a prefix of all names, the names of the parts, and how q, k and v are joined. */
interface Layout { root: string; names: any; stacks?: boolean; joined?: string }
/**
 * A family of `transformers`: the task of its base, what config.json means where it says nothing, how it becomes the
 * description of a block, and the matrix of the logits.
 */
interface Family extends Layout {
  task: "translation" | "continuation" | "reading"; usual?: Values; output?: string;
  block(values: Values, sizes: any, task: Task, labels?: string[]): Values;
}
type KeyValue = import("./network/cache.js").KeyValue;
/** What decoding keeps between steps: keys and values of each layer. */
interface DecoderCache { selfAttention: KeyValue[]; crossAttention: KeyValue[] }
/** What decoding keeps between steps: the state of the decoder (C), and the keys of the source. */
interface RecurrentCache { state: Float32Array; keys: KeyValue }
/** What the encoder read and computed, (S, D); null without an encoder. */
interface Memory { states: Tensor | null; source: number[]; mask: Mask }

/**
 * Translate (an encoder and a decoder), continue a text (a decoder), fill gaps, classify, or only read: then there are
 * maps and no logits.
 */
type Task = "translation" | "continuation" | "filling" | "classification" | "reading";
/**
 * Where a rule is asked: all ids that the decoder has read, and the source (the prompt of a language model). `given`: how
 * many ids are a prompt; a rule also counts the first id. `limit`: the most tokens that are written, with a prompt.
 */
interface Place { ids: number[]; source: number[]; given: number; limit: number; ends?: any; first?: number }
/** Changes the scores of the next token, with the value of a setting. */
type Rule = (scores: Float32Array, value: any, place: Place) => void | boolean;
/** The rules of a model: how many tokens a text has at least, and what all of them change. */
interface Rules { fewest: number; change(scores: Float32Array, place: Place): void }
/** The tokens with which a text starts and ends, that must never be written, and that must be the first. */
interface Specials {
  start: number; ends: number[]; banned: number[]; first?: number; pad?: number; rules?: Rules;
}
/** What a checkpoint is, from its texts alone; see `describe`. */
interface Description {
  family: string; // "headlight", or the `model_type` of config.json
  task: Task; config: Sizes; figures: Record<string, number>; specials: Specials;
  languages?: [string, string]; // of a translator, where they are known
  segments: number; // how many parts of a text the model can tell apart: 2 for a pair, 0 or 1 for none
}
/** `segments`: the part of each token, from 0. */
interface EncodeOptions { segments?: number[] }
/** A model of any family. It has the methods of its task. T tokens are read, S of them by an encoder. */
interface Model {
  config: Sizes;
  startCache(): DecoderCache | RecurrentCache;
  /** Read a text. A decoder alone only keeps the ids. */
  encode(ids: number[], trace: Visitor, options?: EncodeOptions): Memory;
  /** Logits (T, V) of a translation or a continuation for the token after each of T tokens. A cache has the tokens before these. */
  decode(target: number[], memory: Memory | null, trace: Visitor, cache?: DecoderCache | RecurrentCache): Tensor;
  /** From the states (S, D) of `encode`: logits (S, V) to fill gaps, (1, C) of a class. */
  logits(states: Tensor, trace: Visitor): Tensor;
}

interface Tokenizer {
  size: number;
  encode(text: string): number[]; // without special tokens
  decode(ids: number[]): string; // without special tokens
  shown(id: number): string; // a token as shown on the screen
  words(ids: number[]): number[]; // for each id the word that it belongs to, counted from 0
}
/** A token that is taken out of a text before it is cut, with the settings of tokenizer.json. */
interface AddedToken {
  content: string; id: number; special: boolean; normalized: boolean; single_word: boolean; lstrip: boolean; rstrip: boolean;
}
/** A text of a template, "A" or "B", or "" for its special tokens; the number of its segment. */
interface TemplatePiece { part: string; ids: number[]; segment: number }
interface Templates { single: TemplatePiece[]; pair: TemplatePiece[] }
/**
 * The ids of special tokens; null where a tokenizer has none. `before` and `after` stand around one text in its template,
 * `separator` between two, if the rest of both templates is equal; `segment` is that of the second text. `marks` are all
 * special tokens.
 */
interface SpecialIds {
  start: number | null; end: number | null; padding: number | null; unknown: number | null; mask: number | null;
  before: number[]; after: number[]; separator: number[]; segment: number; marks: Set<number>;
}
/** Contents by the names of the files; and the script that opens folders of other libraries, if it is one of its own. */
interface CheckpointFiles { texts: Record<string, string>; weights: Record<string, Sliced>; script?: string }
/** A Blob, or a file elsewhere whose parts are loaded when their bytes are read. */
interface Sliced { size: number; slice(from: number, to: number): { arrayBuffer(signal?: AbortSignal): Promise<ArrayBuffer> } }
/** What opens the folders of a library. Nothing is read from the weights until `weights.read()`. */
interface Opener {
  describe(texts: Record<string, string>): Description; // by their names: "config.json", and the settings beside it
  modelOf(description: Description, weights: Weights): Model;
  tokenizerOf(texts: Record<string, string>, config: Sizes): Tokenizer;
  specialsOf(description: Description, tokenizer: any): AllSpecials;
}
/**
 * The special tokens of a model, with those that its tokenizer adds around a text and between two. `marks`: all that are
 * no text.
 */
interface AllSpecials extends Specials {
  before?: number[]; separator?: number[]; after?: number[]; segment?: number; unknown?: number | null; mask?: number | null;
  marks: number[];
}
interface AnyCheckpoint {
  family: string; task: Task; config: Sizes; model: Model; tokenizer: Tokenizer;
  specials: AllSpecials; languages: [string, string]; figures: Record<string, number>; weights: Weights;
  readonly notFinite: string[]; // the tensors with numbers that are not finite
}

/**
 * A step of a search: its token, the model's own log-probabilities of the whole vocabulary, and the most tokens after a
 * prompt. `fixed`: see `Specials.first`.
 */
interface Step { token: number; logProbs: Float32Array; fixed: boolean; most: number }
/**
 * Position → token that is written there, whatever its probability; the most tokens to write, 0 for the usual limit; how
 * many of the first forced tokens are a prompt.
 */
interface SearchOptions {
  specials: AllSpecials; forced?: Map<number, number>; limit?: number; given?: number; trace?: Visitor;
}

/** Layers, heads, queries and keys count from 0. */
interface Head { kind: string; layer: number; head: number }
/** An attention weight with a chosen value. The other weights of its row share the rest in their old proportions. */
interface PaintedCell extends Head { query: number; key: number; weight: number }
/** Rows that replace the first rows of a map. */
interface Pattern extends Head { weights: number[][] }
/** Silenced heads; heads with equal weights; painted weights; replaced patterns; false leaves out the positions. */
interface Intervention { ablated?: Head[]; uniform?: Head[]; painted?: PaintedCell[]; replaced?: Pattern[]; positions?: boolean }

interface Candidate { text: string; probability: number; id: number }
/** A token as shown on the screen. `word` is -1 for a special token. Written tokens have all properties, `unknown` only where true. */
interface Token { text: string; id: number; word: number; part?: string; unknown?: boolean; probability?: number; candidates?: Candidate[]; entropy?: number }
/**
 * What to compute, in the JSON form of model/inference/run.py: pairs of a position and the id that is forced there, and
 * changes as a link writes them.
 */
interface Run { text: string; second?: string; search?: { method?: string }; forced?: [number, number][]; changes?: string }
/**
 * What a model did, for every task: the fields of model/inference/run.py. At position t the decoder reads `read[t]`
 * and writes `written[t]`. Each map is (L, H, queries, keys). `masks` has those that are not the usual ones, (L,
 * queries, keys), 1 = may attend. `prompt_length`: how many of the first written tokens are a prompt. Only a
 * classification has probabilities.
 */
interface Result {
  text: string; source: Token[]; read: Token[]; written: Token[]; maps: Record<string, Tensor>; finished: boolean;
  dropped: number; languages: [string, string]; recorded: Record<string, Tensor>;
  masks?: Record<string, { data: Uint8Array; shape: number[] }>; prompt_length?: number; first_token_fixed?: boolean;
  probabilities?: [string, number][];
}
/** What a model predicted at a place: a token, or a label, which has none. */
interface Outcome extends Candidate { position: number | null; candidates: Candidate[] }
interface TranslateOptions extends Partial<Pick<SearchOptions, "forced" | "limit">> { edits?: Edits; record?: string[] }
/** After each step: the position of its token, the most tokens, and the text so far. */
interface Progress { position: number; most: number; text: string }
/** The change of the log-probability in nats, and the position of the first token that changes (-1: none; null: the label). */
interface SilencingEffect extends Head { change: number; position: number | null }

/** Called after each step; ends the work. */
interface Watching { report?: (value: any) => void; signal?: AbortSignal }
/** `record`: patterns of hook points. */
interface Recorded { record?: string[] }
interface EngineRequest extends Recorded { changes?: Intervention }
/**
 * What a page knows of a checkpoint before and after its numbers are read. `heads`: kind → layers and heads. `mask`: the
 * text of the token for a gap, "" without one. `bytes`: the memory that it needs.
 */
interface Info extends Pick<AnyCheckpoint, "family" | "task" | "config" | "languages" | "figures" | "notFinite"> {
  heads: Record<string, [number, number]>; readsPairs: boolean; mask: string; parameters: number; bytes: number;
}
/** The methods of an engine, in the page or in a worker. */
interface Engine {
  readonly isBusy: boolean; // an answer is missing, and nothing else has a turn before it
  open(files: CheckpointFiles, watching?: Watching): Promise<Info>;
  describe(files: CheckpointFiles, watching?: Watching): Promise<Info>;
  stop(): void;
  result(run: Run, recorded?: Recorded, watching?: Watching): Promise<Result>;
  silenceEachHead(result: Result, first?: number, watching?: Watching): Promise<SilencingEffect[]>;
  read(source: number[], target: number[], request?: EngineRequest): Promise<{ recorded: Record<string, Tensor> }>;
}
