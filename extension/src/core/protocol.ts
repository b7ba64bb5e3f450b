/** The messages between editor and session; PROTOCOL.md says what they mean. */
import type { Changes } from './changes';
import type { EdgeRef, GraphDocument, Value } from './document';

export const PROTOCOL = 1;

export type Bytes = DataView | ArrayBuffer;
export type ConnectionStatus = 'connecting' | 'connected' | 'disconnected';

export interface SessionError {
  message: string;
  node?: string;
  argument?: string;
  detail?: string;
  code?: string;
  /** What a program holds, when it must be asked which of them to open, or whether to run it. */
  pipelines?: ProgramPipeline[];
}

/** A pipeline that a program defines, as far as can be told without running it. */
export interface ProgramPipeline {
  name: string;
  style: 'function' | 'class' | 'context';
  line: number;
  summary?: string;
  arguments: { name: string; required: boolean; default?: string }[];
  /** Its graph is known only when the program is run. */
  runs: boolean;
  reason?: string;
}

export interface Request {
  kind: 'request';
  id: string | number;
  method: string;
  params: unknown;
}

export interface Response {
  kind: 'response';
  id: string | number;
  result?: unknown;
  error?: SessionError;
  number?: number;
}

export interface SessionEvent {
  kind: 'event';
  event: string;
  params: unknown;
  /** How many messages the session has sent over this connection before this one, and one more. */
  number?: number;
}

export type Message = Request | Response | SessionEvent;

/** What carries messages to a session and back; every host makes one. */
export interface Transport {
  send(message: Message, buffers?: ArrayBuffer[]): void;
  onMessage(listener: (message: Message, buffers: Bytes[]) => void): () => void;
  onStatus(listener: (status: ConnectionStatus, detail?: string) => void): () => void;
  dispose(): void;
}

export interface FileInfo {
  path: string;
  name: string;
}

export interface Named {
  name: string;
  title: string;
  summary?: string;
}

export interface ExportFormat {
  to: string;
  title: string;
  language?: string;
  summary?: string;
}

export interface Capabilities {
  preview?: boolean;
  run?: boolean;
  validate?: boolean;
  sweep?: boolean;
  compare?: boolean;
  open?: boolean;
  save?: boolean;
  list_files?: boolean;
  trace?: boolean;
  select?: boolean;
  gallery_page?: boolean;
  samples?: Named[];
  gallery?: Named[];
  export?: ExportFormat[];
  export_files?: ExportFormat[];
}

export interface Opened {
  document: GraphDocument;
  revision: number;
  title: string;
  file: FileInfo | null;
  dirty: boolean;
  seed?: number | null;
  warnings?: string[];
}

export interface Hello extends Opened {
  protocol: number;
  session: string;
  version: string;
  read_only: boolean;
  device?: string;
  capabilities: Capabilities;
}

export interface Problem {
  severity: 'error' | 'warning' | 'info';
  message: string;
  node?: string | null;
  argument?: string | null;
  input?: number | null;
  fix?: { title: string; changes: Changes } | null;
}

export interface PictureRef {
  buffer: number;
  mime: string;
  width: number;
  height: number;
}

export interface OutputPreview {
  kind: 'image' | 'mask' | 'tensor' | 'text' | 'audio' | 'encoded' | 'boxes';
  dtype: string;
  layout: string;
  shapes: number[][];
  batch: number;
  uniform?: boolean;
  range?: [Value, Value] | null;
  histogram?: number[] | null;
  images?: (PictureRef | null)[];
  values?: (string | null)[];
  numbers?: (number[] | null)[];
  labels?: (string | null)[];
  files?: (string | null)[];
}

export interface NodeFailure {
  message: string;
  argument?: string | null;
  sample?: number | null;
  file?: string | null;
  line?: string | null;
}

/** Why a node was not computed: it waits for another one, or is off. */
export interface Skipped {
  message: string;
  node?: string | null;
  off?: boolean;
}

export interface NodeEvent {
  run: number;
  node: string;
  time_ms: number | null;
  cached?: boolean;
  outputs?: OutputPreview[];
  error?: NodeFailure | null;
  skipped?: Skipped | null;
}

/** Boxes or points over the pictures of an output, from 0 to 1. */
export interface ShapesOverlay {
  kind: 'boxes' | 'points';
  node: string;
  output: number;
  items: (number[][] | null)[];
}

export interface FocusEvent {
  run: number;
  node: string;
  output: number;
  images: (PictureRef | null)[];
  unchanged?: boolean;
  overlays?: (
    ShapesOverlay | { kind: 'mask'; node: string; output: number; images: (PictureRef | null)[] }
  )[];
}

export interface DoneEvent {
  run: number;
  status: 'done' | 'cancelled' | 'superseded' | 'failed';
  total_ms: number;
  seed?: number | null;
  iteration?: number;
  error?: SessionError | null;
}

export interface PreviewRequest {
  run: number;
  revision: number;
  iteration: number;
  samples: number;
  thumb: number;
  focus: { node: string; output: number }[];
  focus_size: number;
}

/** A node in a run: times in a batch, the second on the GPU, and the bytes of its results there. */
export interface NodeRun {
  time_ms: number;
  images_per_second: number;
  gpu_time_ms?: number;
  gpu_memory?: number;
}

export interface RunDone {
  run: number;
  status: 'done' | 'cancelled' | 'failed';
  batches: number;
  samples: number;
  seconds: number;
  images_per_second: number;
  nodes: Record<string, NodeRun>;
  /** Outputs of the pipeline that are off, in sentences. */
  missing?: string[];
  gpu?: {
    /** Bytes; `table` says how large each result is and how long it is kept. */
    memory: { in_use: number; held: number; peak: number; free: number; total: number; table: string };
    transfers: { from: string; to: 'gpu' | 'cpu'; bytes: number }[];
  };
  error?: SessionError | null;
}

export interface Listing {
  path: string;
  parent: string | null;
  entries: {
    name: string;
    path: string;
    kind: 'folder' | 'graph' | 'image' | 'file';
    size?: number;
    images?: number;
  }[];
  truncated?: boolean;
}

export interface Exported {
  text: string;
  filename: string;
  mime?: string;
  language?: string;
  warnings?: string[];
}

export type { Changes, EdgeRef };
