// The types of the engine, for the checks of the code. No page loads this file.

/** Numbers row by row: the last axis is contiguous. */
interface Tensor { data: Float32Array; shape: number[] }
/** The weight is (outputs, inputs), as in PyTorch. */
interface Linear { weight: Tensor; bias: Float32Array | null }
interface Norm { weight: Float32Array; bias: Float32Array }
/** (T, S), 1 = may attend; null allows everything. */
type Mask = Uint8Array | null;
type Weights = import("./safetensors.js").Weights;

/** It returns a new tensor, or the same one unchanged. `first` is the position of the first query of the pass. */
type Edit = (tensor: Tensor, first: number) => Tensor;
type Edits = Record<string, Edit>; // pattern of hook points → edit
/** What a model tells about its run: the tensors at its hook points, and the passes of its decoder. */
interface Visitor { visit(name: string, tensor: Tensor): Tensor; nextPass(first: number): number }
type Trace = import("./trace.js").Trace;

/** The sizes in config.json; a model has those of its architecture. */
interface Sizes {
  architecture?: string; d_model: number; num_heads: number; d_ff: number; d_hidden: number; max_length: number;
  num_encoder_layers: number; num_decoder_layers: number; norm: string; activation: string; attention: string;
  positional: string; tie_embeddings: string; source_vocab_size: number; target_vocab_size: number;
  vocab_size: number; labels: string[]; pooling: string;
}
type KeyValue = import("./network/cache.js").KeyValue;
type DecoderCache = import("./network/cache.js").DecoderCache;
type RecurrentCache = import("./network/recurrent.js").RecurrentCache;
/** What the encoder read and computed, (S, D). */
interface Memory { states: Tensor; source: number[] }
/** A model that translates: the Transformer or the recurrent network. */
interface Translator {
  config: Sizes;
  startCache(): DecoderCache | RecurrentCache;
  encode(source: number[], trace: Visitor): Memory;
  /** Logits (T, V) for the token after each of T tokens. With a cache, only the newest token is given. */
  decode(target: number[], memory: Memory, trace: Visitor, cache?: DecoderCache | RecurrentCache): Tensor;
}

type Tokenizer = import("./text/tokenizer.js").Tokenizer;
/** A token that is taken out of a text before it is cut, with the settings of tokenizer.json. */
interface AddedToken {
  content: string; id: number; special: boolean; normalized: boolean; single_word: boolean; lstrip: boolean; rstrip: boolean;
}
/** A text of a template, "A" or "B", or "" for its special tokens; the number of its segment. */
interface TemplatePiece { part: string; ids: number[]; segment: number }
interface Templates { single: TemplatePiece[]; pair: TemplatePiece[] }
/** The ids of a text or of a pair with special tokens; the part and the segment of each. */
interface Framed { ids: number[]; parts: string[]; segments: number[] }
/**
 * The ids of special tokens; null where a tokenizer has none. `before` and `after` stand around one text in its template,
 * `separator` between two, if the rest of both templates is equal. `marks` are all special tokens.
 */
interface SpecialIds {
  start: number | null; end: number | null; padding: number | null; unknown: number | null; mask: number | null;
  before: number[]; after: number[]; separator: number[]; marks: Set<number>;
}
interface CheckpointFiles { weights: ArrayBuffer; config: string; tokenizer: string }
interface AnyCheckpoint<Task, Model> {
  task: Task; config: Sizes; model: Model; tokenizer: Tokenizer; languages: [string, string]; figures: Record<string, number>;
  notFinite: string[]; // the tensors with numbers that are not finite
}
type Checkpoint = AnyCheckpoint<"translation", Translator>;
type ClassifierCheckpoint = AnyCheckpoint<"classification", import("./network/classifier.js").Classifier>;

type Fate = "kept" | "ended" | "cut" | "pruned"; // cut: stopped by the length limit
/** One continuation that beam search compared: the row of its prefix, its token, the log-probability of the whole. */
interface Branch { row: number; token: number; logProb: number; fate: Fate }
/**
 * One step of the decoder, for each row: the model's own log-probabilities of the whole vocabulary, and the pass of the
 * trace. `token` is what greedy search or sampling wrote, `branches` what beam search compared.
 */
interface Step { distributions: Float32Array[]; passes: number[]; token?: number; branches: Branch[] }
/** One translation. Each list has one entry per written token: its id, its log-probability and its row in each step. */
interface Hypothesis { ids: number[]; logProbs: number[]; rows: number[]; finished: boolean }
type Search = Generator<Step, Hypothesis>;
/** Position → token that is written there, whatever its probability; the most tokens to write, 0 for the usual limit. */
interface SearchOptions { forced?: Map<number, number>; limit?: number; trace?: Visitor }
/** `topK` 0 and `topP` 1 keep all tokens. */
interface SamplingFilter { temperature?: number; topK?: number; topP?: number }
interface SearchConfig extends SamplingFilter {
  method?: "greedy" | "beam" | "sample"; beamSize?: number; lengthPenalty?: number; seed?: number;
  random?: () => number; // numbers from 0 to 1 in the place of those of the seed; only inside the page
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
 * At position t the decoder reads `read[t]` and writes `written[t]`. Each map is (L, H, queries, keys). The rest is only in
 * the recorded answers of other models: the part of a pair that a token belongs to, "A" or "B"; masks that are not the usual ones, (L, queries, keys), 1 = may attend; how many of the
 * first written tokens are a prompt; whether the first one was given.
 */
interface Translation {
  text: string; source: Token[]; read: Token[]; written: Token[]; maps: Record<string, Tensor>; finished: boolean;
  dropped: number; languages: [string, string]; recorded: Record<string, Tensor>;
  masks?: Record<string, { data: Uint8Array; shape: number[] }>; given?: number; fixed_start?: boolean;
}
interface TranslateOptions { search?: SearchConfig; forced?: Map<number, number>; limit?: number; edits?: Edits; record?: string[] }
/** After each step. In beam search, only the position, the most tokens and the branches. */
interface Progress { position: number; most: number; token?: Token; text?: string; maps?: Record<string, Tensor>; branches: Branch[] }
/** `maps` has "encoder", (L, H, S, S), and, where a learned query pools, "pooling", (H, 1, S). */
interface Classification {
  label: string; probabilities: Record<string, number>; logits: Float32Array; ids: number[];
  maps: Record<string, Tensor>; recorded: Record<string, Tensor>;
}
/** The change of the log-probability in nats, and the position of the first token that changes (-1: none). */
interface SilencingEffect extends Head { change: number; position: number }
interface ReadTokens { source: { id: number }[]; read: { id: number }[]; written: { id: number }[] }

/** Called after each step; ends the work. */
interface Watching { report?: (value: any) => void; signal?: AbortSignal }
interface EngineRequest { search?: SearchConfig; forced?: Map<number, number>; limit?: number; changes?: Intervention; record?: string[] }
/** The methods of an engine, in the page or in a worker. */
interface Engine {
  open(files: CheckpointFiles): Promise<Pick<Checkpoint, "config" | "languages" | "figures" | "notFinite"> & {
    task: "translation" | "classification"; heads: Record<string, [number, number]> }>;
  translate(text: string, request?: EngineRequest, watching?: Watching): Promise<Translation>;
  silenceEachHead(translation: ReadTokens, first?: number, watching?: Watching): Promise<SilencingEffect[]>;
  read(source: number[], target: number[], request?: EngineRequest): Promise<{ recorded: Record<string, Tensor> }>;
}
