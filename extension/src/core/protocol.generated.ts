// Made by `python -m dali_lab.studio.protocol.typescript` from dali_lab/studio/protocol/; edits here are lost.

export const PROTOCOL = 1;

export type Value = null | boolean | number | string | Value[] | { [key: string]: Value };
/** `"node"` for output 0, `"node:k"` for output k. */
export type EdgeRef = string;
export type Overrides = Record<string, Record<string, Value>>;
export type Kind = 'image' | 'tensor' | 'encoded' | 'audio' | 'mask' | 'boxes' | 'any';
export type ArgumentType = 'float' | 'int' | 'bool' | 'string' | 'enum' | 'dtype' | 'layout' | 'any';
export type Widget =
  'number' | 'slider' | 'choice' | 'switch' | 'vector' | 'colour' | 'text' | 'path' | 'folder' | 'multiline';

/** A picture in one of the buffers that a message comes with. */
export interface PictureRef {
  buffer: number;
  mime: string;
  width: number;
  height: number;
}

/** An argument of a function that makes a pipeline; `default` is its text, absent where it is no plain value. */
export interface ProgramArgument {
  name: string;
  required: boolean;
  default?: string;
}

/** A pipeline that a program defines, as far as can be told without running it. Where `runs` is true, its graph is known only by running the program; `reason` says why. */
export interface ProgramPipeline {
  name: string;
  style: 'function' | 'class' | 'context';
  line: number;
  summary: string;
  arguments: ProgramArgument[];
  runs: boolean;
  reason?: string;
}

/** A permission that a session can ask the person for. `name` is a folder, a server such as `"s3://bucket"`, a package whose operators are in the document, or a Python object, `"module:name"`. */
export interface Permission {
  what: 'folder' | 'server' | 'package' | 'function';
  name: string;
}

/** A question to the person: the text that is agreed to, and the number that agrees to exactly this text, once. */
export interface Consent {
  number: string;
  text: string;
}

/** Why a request failed; a program that cannot be opened comes with its pipelines. Where the person may allow it, the question comes along, or the permission that the method `allow` asks for. */
export interface SessionError {
  message: string;
  node?: string;
  argument?: string;
  file?: string;
  line?: string | number;
  code?: string;
  detail?: string;
  pipelines?: ProgramPipeline[];
  consent?: Consent;
  permission?: Permission;
}

/** The first error at a node. */
export interface NodeFailure {
  message: string;
  argument?: string;
  sample?: number;
  file?: string;
  line?: string | number;
}

/** A node; inputs that are not connected are null. Connections stand in for the constants of the same name. */
export interface GraphNode {
  op: string;
  device?: 'cpu' | 'gpu' | 'mixed';
  inputs?: (EdgeRef | null)[];
  arguments?: Record<string, Value>;
  connections?: Record<string, EdgeRef>;
  [unknown: string]: unknown;
}

/** Position of a node, and whether it is switched off; `disabled` counts more than `bypass`. `routes` has the points that links to its inputs (`in:0`) and arguments (`arg:angle`) pass through. */
export interface NodeView {
  x?: number;
  y?: number;
  collapsed?: boolean;
  bypass?: boolean;
  disabled?: boolean;
  title?: string;
  comment?: string;
  routes?: Record<string, [number, number][]>;
  [unknown: string]: unknown;
}

/** A text on the canvas. */
export interface Note {
  id: string;
  text: string;
  x: number;
  y: number;
  w: number;
  h: number;
}

/** The sub-graph that a group stands for while it is open. `instance` is the name of the node that was opened, and `names` has the names inside of the definition by the names that the nodes have here. */
export interface OpenSubgraph {
  name: string;
  instance: string;
  names: Record<string, string>;
  [unknown: string]: unknown;
}

/** Nodes in a frame; a collapsed one is shown as a single node. A sub-graph stands open as a group. */
export interface Group {
  id: string;
  title: string;
  nodes: string[];
  collapsed?: boolean;
  subgraph?: OpenSubgraph;
}

/** Layout and annotations; they do not affect results, except for the switches of nodes. */
export interface View {
  nodes: Record<string, NodeView>;
  notes: Note[];
  groups: Group[];
  [unknown: string]: unknown;
}

/** An argument of a node inside of a sub-graph. */
export interface SubgraphArgument {
  node: string;
  argument: string;
  [unknown: string]: unknown;
}

/** A definition of a sub-graph. Its nodes refer to inputs by name, and its arguments set arguments of nodes inside. A node with the operator `subgraph.NAME` is an instance. */
export interface Subgraph {
  inputs: string[];
  nodes: Record<string, GraphNode>;
  outputs: EdgeRef[];
  arguments?: Record<string, SubgraphArgument[]>;
  view?: View;
  summary?: string;
  [unknown: string]: unknown;
}

/** The content of a graph file. */
export interface GraphDocument {
  format: string;
  version: number;
  pipeline: Record<string, Value>;
  nodes: Record<string, GraphNode>;
  outputs: EdgeRef[];
  view: View;
  subgraphs?: Record<string, Subgraph>;
  [unknown: string]: unknown;
}

/** Entries of an object to set and unset; others stay. `order` lists all of them, where it is not "as before, new ones at the end". */
export interface Entries<T> {
  set?: Record<string, T>;
  unset?: string[];
  order?: string[];
}

/** Changes of an existing node, entry by entry: two editors may each change another argument. */
export interface NodePatch extends Entries<unknown> {
  arguments?: Entries<Value>;
  connections?: Entries<EdgeRef>;
}

/** Views of nodes by name, null for removed ones; notes and groups as a whole. */
export interface ViewChanges {
  nodes?: Record<string, NodeView | null>;
  notes?: Note[];
  groups?: Group[];
}

/** The unit of editing: new nodes (null for removed ones), patches of existing nodes, and other parts as a whole. The pipeline's settings change one by one. Sub-graphs are definitions by name, null for removed ones. */
export interface Changes {
  nodes?: Record<string, GraphNode | null>;
  patches?: Record<string, NodePatch>;
  order?: string[];
  outputs?: EdgeRef[];
  pipeline?: Entries<Value>;
  subgraphs?: Record<string, Subgraph | null>;
  view?: ViewChanges;
}

/** Changes that mend a problem. */
export interface Fix {
  title: string;
  changes: Changes;
}

/** A problem of the document, in one sentence, with a code for programs. */
export interface Problem {
  severity: 'error' | 'warning' | 'info';
  message: string;
  code?: string;
  node?: string;
  argument?: string;
  input?: number;
  fix?: Fix;
  permission?: Permission;
}

/** Ask for a permission, or with the number that the refusal of a former request had, agree to it. */
export interface AllowRequest {
  permission: Permission;
  consent?: string;
}

/** All problems; pushed after each edit that changes meaning. `unchanging` are the nodes, from readers on, whose results are the same in every epoch. */
export interface Problems {
  revision: number;
  problems: Problem[];
  unchanging?: string[];
}

/** The file that a document came from. */
export interface FileInfo {
  path: string;
  name: string;
}

/** A document with its file, seed and revision; `seed` is the one in use. */
export interface Opened {
  document: GraphDocument;
  revision: number;
  title: string;
  file: FileInfo | null;
  dirty: boolean;
  seed: number;
  warnings?: string[];
}

/** Change the document; it never fails because the graph is unfinished. With `placed`, the changes only give nodes the places at which they are drawn: a saved document stays saved. */
export interface EditRequest {
  changes: Changes;
  base?: number;
  placed?: boolean;
}

/** The revision after an edit. */
export interface Edited {
  revision: number;
}

/** An editor changed the document; `client` is the one that did. */
export interface Changed {
  revision: number;
  changes: Changes;
  client: string;
}

/** Open one of: a file, a text (a graph file's or a program), a sample, an entry of the gallery. `pipeline` says which one of a program with several. `run` is a number by which it can be cancelled as long as the document before is there. */
export interface OpenRequest {
  run?: number | null;
  path?: string | null;
  text?: string | null;
  name?: string | null;
  sample?: string | null;
  gallery?: string | null;
  pipeline?: string | null;
}

/** Write the document to a file, by default to the one that it came from. */
export interface SaveRequest {
  path?: string | null;
  overwrite?: boolean;
}

/** The file that was written. */
export interface Saved {
  file: FileInfo | null;
  title: string;
  dirty: boolean;
}

/** The document in one of the forms of the capabilities. */
export interface ExportRequest {
  to: string;
}

/** An exported text, and the parts that had to be left out. */
export interface Exported {
  text: string;
  filename: string;
  mime: string;
  language: string;
  warnings?: string[];
}

/** A file to be downloaded, in a buffer. */
export interface ExportedFile {
  buffer: number;
  size: number;
  filename: string;
  mime: string;
  warnings?: string[];
}

/** The entries of a folder, by default of the session's. */
export interface ListFilesRequest {
  path?: string | null;
  kinds?: string[];
}

/** A folder, with the pictures in it, or a file, with its bytes. */
export interface ListingEntry {
  name: string;
  path: string;
  kind: 'folder' | 'graph' | 'image' | 'file';
  size?: number;
  images?: number;
}

/** A folder's content, folders first. */
export interface Listing {
  path: string;
  parent: string | null;
  entries: ListingEntry[];
  truncated?: boolean;
}

/** The pipelines of a program, which is not run. */
export interface ListPipelinesRequest {
  path?: string | null;
  text?: string | null;
  name?: string | null;
}

/** The pipelines of a program. */
export interface ProgramListing {
  name: string;
  path: string | null;
  pipelines: ProgramPipeline[];
}

/** Run a program for the graph of one of its pipelines. `consent` is the number that the refusal of a former request had; sent back once the person agreed to that text. */
export interface TraceRequest {
  run: number;
  path?: string | null;
  text?: string | null;
  name?: string | null;
  pipeline?: string | null;
  consent?: string;
  arguments?: Record<string, unknown> | null;
  timeout?: number | null;
}

/** Client to session; its id is the client's name, a dash and a number. */
export interface Request {
  kind: 'request';
  id: string | number;
  method: string;
  params: unknown;
}

/** Session to client: the one answer to a request. `number` counts all messages over a connection from 0, those that could not be sent included. */
export interface Response {
  kind: 'response';
  id: string | number;
  result?: unknown;
  error?: SessionError;
  number?: number;
}

/** Session to client, unsolicited. */
export interface SessionEvent {
  kind: 'event';
  event: string;
  params: unknown;
  number?: number;
}

/** No parameters, or nothing to say. */
export type Empty = Record<string, never>;

/** A graph that can be opened by its name. */
export interface Named {
  name: string;
  title: string;
  summary: string;
}

/** A form of export; file forms have no language. */
export interface ExportFormat {
  to: string;
  title: string;
  summary: string;
  language?: string;
}

/** Capabilities of a session; `cluster` is the address of a Ray cluster, empty for Ray on this machine. */
export interface Capabilities {
  preview?: boolean;
  run?: boolean;
  check?: boolean;
  validate?: boolean;
  sweep?: boolean;
  compare?: boolean;
  dataset?: boolean;
  probe?: boolean;
  open?: boolean;
  save?: boolean;
  list_files?: boolean;
  trace?: boolean;
  select?: boolean;
  gallery_page?: boolean;
  cluster?: string;
  samples?: Named[];
  gallery?: Named[];
  export?: ExportFormat[];
  export_files?: ExportFormat[];
}

/** An editor greets; the last two on reconnecting. */
export interface HelloRequest {
  protocol?: number;
  client?: string | null;
  session?: string | null;
  revision?: number | null;
}

/** The session greets; another `session` than before means that it began anew. */
export interface Hello extends Opened {
  protocol: number;
  session: string;
  version: string;
  read_only: boolean;
  device: string;
  capabilities: Capabilities;
}

/** The document that an editor kept while its session was gone. */
export interface RestoreRequest {
  document: GraphDocument;
  file?: Record<string, unknown> | null;
  dirty?: boolean;
}

/** The selected nodes, for hosts that pass them on. */
export interface SelectRequest {
  nodes?: string[];
}

/** Requests of this client that were received and are not answered yet. */
export interface Waiting {
  waiting: string[];
}

/** The parts of the session's state that have changed. */
export interface State {
  dirty?: boolean;
  title?: string;
  file?: FileInfo;
  read_only?: boolean;
  device?: string;
  seed?: number;
  message?: string;
}

/** The host selects these nodes. */
export interface Selected {
  nodes: string[];
}

/** The catalogue changed: ask again. */
export type CatalogueChanged = Record<string, never>;

/** A notice for the user. */
export interface Notice {
  level: 'info' | 'warning' | 'error';
  message: string;
  detail?: string;
}

/** An output of a node. */
export interface Tap {
  node: string;
  output?: number;
}

/** Show the outputs of every node; replaces the client's preview before it. Sizes are the longer side in device pixels; the outputs in `focus` also come in `focus_size`. `pins` are places in the list of the readers with `pinned_of` samples, which make up the batch in place of those that come in turn. */
export interface PreviewRequest {
  run: number;
  revision?: number;
  iteration?: number;
  samples?: number;
  thumb?: number;
  focus?: Tap[];
  focus_size?: number;
  pins?: number[] | null;
  pinned_of?: number;
}

/** The number that the client chose, and that its events carry. */
export interface RunStarted {
  run: number;
}

/** A preview begins. */
export interface PreviewStarted {
  run: number;
  nodes: number;
}

/** Progress of a preview that takes over half a second. */
export interface PreviewProgress {
  run: number;
  done: number;
  total: number;
  node: string;
}

/** An output for the samples sent: their shapes, pictures, and values as text or numbers where they are none. `batch` counts all samples; `histogram` has 32 counts over `range`. Samples that failed have an empty shape and no picture; `lost` says why. Lists that would be empty are left out. */
export interface OutputPreview {
  kind: 'image' | 'mask' | 'tensor' | 'text' | 'audio' | 'encoded' | 'boxes';
  dtype: string;
  layout: string;
  shapes: number[][];
  batch: number;
  uniform: boolean;
  range: [Value, Value] | null;
  histogram: number[] | null;
  images: (PictureRef | null)[];
  values?: (string | null)[];
  numbers?: (number[] | null)[];
  labels?: (string | null)[];
  files?: (string | null)[];
  lost?: (string | null)[];
}

/** Why a node was not computed: it waits for another one, or is off. */
export interface Skipped {
  message: string;
  node?: string;
  off?: boolean;
}

/** Outputs or failure of a node. */
export interface NodeEvent {
  run: number;
  node: string;
  time_ms: number | null;
  cached: boolean;
  outputs: OutputPreview[];
  error?: NodeFailure;
  skipped?: Skipped;
}

/** Nodes whose results the client has already, with their times. */
export interface PreviewUnchanged {
  run: number;
  nodes: Record<string, number | null>;
}

/** Boxes or points over the pictures of an output, from 0 to 1. */
export interface ShapesOverlay {
  kind: 'boxes' | 'points';
  node: string;
  output: number;
  items: (number[][] | null)[];
}

/** Class numbers in colours over the pictures of an output. */
export interface MaskOverlay {
  kind: 'mask';
  node: string;
  output: number;
  images: (PictureRef | null)[];
}

/** An output in focus, in a larger size. */
export interface FocusEvent {
  run: number;
  node: string;
  output: number;
  images: (PictureRef | null)[];
  unchanged?: boolean;
  overlays?: (ShapesOverlay | MaskOverlay)[];
}

/** A preview has ended. */
export interface DoneEvent {
  run: number;
  status: 'done' | 'cancelled' | 'superseded' | 'failed';
  total_ms: number;
  seed: number;
  iteration: number;
  error?: SessionError;
}

/** Stop a preview, a run, a sweep or a traced program. */
export interface CancelRequest {
  run?: number;
}

/** Run the pipeline as training would: some batches here, or an epoch on the cluster of the capabilities. */
export interface RunRequest {
  run: number;
  batches?: number;
  on_cluster?: boolean;
}

/** A run goes on. */
export interface RunProgress {
  run: number;
  done: number;
  total: number;
  images_per_second: number;
}

/** A node in a run: times in a batch, the second on the GPU, and the bytes of its results there. */
export interface NodeRun {
  time_ms: number;
  images_per_second: number;
  gpu_time_ms?: number;
  gpu_memory?: number;
}

/** Bytes; `table` says how large each result is and how long it is kept. */
export interface GpuMemory {
  in_use: number;
  held: number;
  peak: number;
  free: number;
  total: number;
  table: string;
}

/** A result that was copied, with the bytes of the largest batch. */
export interface Transfer {
  from: string;
  to: 'gpu' | 'cpu';
  bytes: number;
}

/** Memory and transfers of a run on the GPU. */
export interface GpuUse {
  memory: GpuMemory;
  transfers: Transfer[];
}

/** Speed of a pipeline, as a whole and of each node. */
export interface Measured {
  batches: number;
  samples: number;
  seconds: number;
  images_per_second: number;
  nodes: Record<string, NodeRun>;
  gpu?: GpuUse;
}

/** A run has ended; `missing` says in sentences which outputs of the pipeline are off, `summary` what it was. */
export interface RunDone extends Measured {
  run: number;
  status: 'done' | 'cancelled' | 'failed';
  missing?: string[];
  summary?: string;
  error?: SessionError;
}

/** One sample at one node, with an argument set to each of several values, and others to those in `also`. The picture is that of the node, or of the node `shown`. The samples are those of a `PreviewRequest`, pinned ones among them, here and in the next requests. */
export interface SweepRequest {
  node: string;
  argument: string;
  values: Value[];
  also?: Record<string, Value> | null;
  shown?: string | null;
  run?: number | null;
  sample?: number;
  thumb?: number;
  output?: number;
  iteration?: number;
  pins?: number[] | null;
  pinned_of?: number;
}

/** A picture or an error for each value. */
export interface Swept {
  images: (PictureRef | null)[];
  errors: (string | null)[];
}

/** One sample to play: every frame of a clip, every slice of a volume, or a sound. */
export interface PlayRequest {
  node: string;
  output?: number;
  run?: number | null;
  sample?: number;
  iteration?: number;
  pins?: number[] | null;
  pinned_of?: number;
  size?: number;
}

/** Frames or slices in order; of a sound its waveform and spectrogram, with the number of its buffer. A sound is a WAV file of so many `seconds`, with frequencies up to `highest` in hertz. */
export interface Played {
  images: (PictureRef | null)[];
  sound?: number;
  seconds?: number;
  highest?: number;
}

/** The same samples through another document. */
export interface CompareRequest {
  document: GraphDocument;
  nodes: Tap[];
  run?: number | null;
  samples?: number;
  size?: number;
  iteration?: number;
  pins?: number[] | null;
  pinned_of?: number;
}

/** The pictures of one output. */
export interface ComparedTap {
  node: string;
  output: number;
  images: (PictureRef | null)[];
}

/** The pictures of all outputs asked for. */
export interface Compared {
  results: ComparedTap[];
}

/** Go through all samples of the graph's readers; only one check or run goes on at a time. */
export interface CheckRequest {
  run: number;
}

/** A check goes on: samples behind it, samples a second, seconds left. */
export interface CheckProgress {
  run: number;
  done: number;
  total: number;
  rate: number;
  left: number;
}

/** A problem of the data; `iteration` and `index` say where the preview has the sample, if this shard has it. */
export interface CheckFinding {
  kind: string;
  severity: 'error' | 'warning';
  reader: string;
  message: string;
  sample?: string;
  node?: string;
  iteration?: number;
  index?: number;
}

/** A kind of finding: its heading, how many there are, and the first ones. */
export interface CheckKind {
  kind: string;
  severity: 'error' | 'warning';
  title: string;
  count: number;
  findings: CheckFinding[];
}

/** A check has ended; `exclude` is the content of an exclude list of the samples with errors. */
export interface CheckDone {
  run: number;
  status: 'done' | 'cancelled' | 'failed';
  samples?: number;
  seconds?: number;
  kinds?: CheckKind[];
  exclude?: string;
  error?: SessionError;
}

/** Run some batches without a cache and with one in memory; only one such run goes on at a time. */
export interface CacheRequest {
  run: number;
}

/** A measurement has ended: samples a second without and with the cache, bytes of a sample, samples of an epoch. */
export interface CacheDone {
  run: number;
  status: 'done' | 'cancelled' | 'failed';
  rate?: number;
  cached_rate?: number;
  bytes?: number;
  samples?: number;
  error?: SessionError;
}

/** A page of the samples of a reader that answer to the filters. `text` is looked for in names; `label` and sizes of files in bytes are exact; `damaged` keeps the samples that cannot be read, or that the last check has found damaged. With `thumb` 0 there are no pictures. */
export interface DatasetRequest {
  node: string;
  text?: string;
  label?: number | null;
  damaged?: boolean;
  smallest?: number | null;
  largest?: number | null;
  sort?: 'list' | 'name' | 'label' | 'bytes' | 'pixels';
  descending?: boolean;
  first?: number;
  count?: number;
  thumb?: number;
}

/** A label, its name if its folder tells, and its number of samples. */
export interface DatasetLabel {
  label: number;
  name: string | null;
  count: number;
}

/** A sample, by its place in the reader's list; sizes are there once its file was looked at. */
export interface DatasetSample {
  place: number;
  name: string;
  label?: number;
  label_name?: string;
  bytes?: number;
  width?: number;
  height?: number;
  problem?: string;
  image?: PictureRef;
}

/** A page: `size` samples in all, `matching` of them answer, and files of `looked` were looked at so far. `looking` says that the rest are being looked at, so that the same request may soon have another answer. */
export interface DatasetPage {
  size: number;
  matching: number;
  first: number;
  samples: DatasetSample[];
  labels: DatasetLabel[];
  looked: number;
  looking: boolean;
  damaged: number;
}

/** The numbers of a node over many samples; `distribution.progress` and `distribution.done` follow. */
export interface DistributionRequest {
  run: number;
  node: string;
  output?: number;
  samples?: number;
}

/** Samples done. */
export interface DistributionProgress {
  run: number;
  done: number;
  total: number;
}

/** Numbers of one kind: counts in equal bins from `low` to `high`, or of `values` where there are few. `low` and `high` are the smallest and largest; a batch without numbers of this kind has no chart. */
export interface Chart {
  name: string;
  unit: string;
  counts: number[];
  low: Value;
  high: Value;
  mean: Value;
  deviation: Value;
  values?: string[];
}

/** The charts, and how many samples failed. */
export interface DistributionDone {
  run: number;
  status: 'done' | 'cancelled' | 'failed';
  samples?: number;
  failed?: number;
  charts?: Chart[];
  error?: SessionError;
}

/** Train on the labelled folder that a node's pictures come from; `probe.progress` and `probe.done` follow. `nodes` are the steps in question, by default all that depend on chance; `side` is the height and width that pictures are brought to, and `samples` the most that are used. */
export interface ProbeRequest {
  run: number;
  node: string;
  output?: number;
  nodes?: string[] | null;
  seeds?: number;
  epochs?: number;
  samples?: number;
  side?: number;
}

/** The share of right answers on pictures that were held back, after each epoch of one training. */
export interface ProbeCurve {
  augmented: boolean;
  seed: number;
  accuracies: number[];
}

/** Epochs done, of all trainings; seconds left, once they can be told; the curves so far. */
export interface ProbeProgress {
  run: number;
  done: number;
  total: number;
  left: number | null;
  curves: ProbeCurve[];
}

/** The curves; `difference` is the mean over the seeds of the last accuracy with less that without. `spread` is the standard deviation of that difference from seed to seed, where there are several. `broken` are files that cannot be read; other pictures were taken in their places. */
export interface ProbeDone {
  run: number;
  status: 'done' | 'cancelled' | 'failed';
  curves?: ProbeCurve[];
  difference?: number;
  spread?: number;
  training?: number;
  measured?: number;
  classes?: number;
  nodes?: string[];
  seconds?: number;
  broken?: string[];
  error?: SessionError;
}

/** A family of operators, with its colour and icon. */
export interface Family {
  name: string;
  title: string;
  color?: string | null;
  icon?: string | null;
  summary?: string;
}

/** An input of an operator; without layouts or dtypes it takes all. */
export interface InputDeclaration {
  name: string;
  kind: Kind;
  doc?: string;
  layouts?: string[] | null;
  dtypes?: string[] | null;
  optional?: boolean;
  variadic?: boolean;
}

/** An output of an operator. It is there only where one of the arguments in `when` is true; it stands for several, one for each name that the argument `each` lists. Without a layout or dtype it has those of the input; `any` is the kind of input 0. */
export interface OutputDeclaration {
  name: string;
  kind: Kind;
  layout?: string | null;
  dtype?: string | null;
  doc?: string;
  when?: string[] | null;
  each?: string | null;
}

/** An argument of an operator. */
export interface ArgumentDeclaration {
  name: string;
  type: ArgumentType;
  list?: boolean;
  length?: number | null;
  default?: Value;
  required?: boolean;
  tensor?: boolean;
  per_frame?: boolean;
  doc?: string;
  unit?: string | null;
  minimum?: number | null;
  maximum?: number | null;
  exclusive_minimum?: boolean;
  soft_minimum?: number | null;
  soft_maximum?: number | null;
  step?: number | null;
  choices?: string[] | null;
  widget?: Widget;
  important?: boolean;
  advanced?: boolean;
}

/** An operator. Each of `alternatives` lists groups of arguments of which at most one is given. `terms` are other names that a search finds it by, `start` has the arguments of a new node, `nvidia` is its name in NVIDIA DALI: null where NVIDIA DALI lacks it, and absent for sub-graphs. One that is `added` comes from a notebook or another package. `page` is the address of its documentation: null where the host serves none, and absent for operators that have none. */
export interface Operator {
  name: string;
  family: string;
  title: string;
  summary: string;
  devices: ('cpu' | 'gpu' | 'mixed')[];
  inputs: InputDeclaration[];
  outputs: OutputDeclaration[];
  arguments: ArgumentDeclaration[];
  alternatives?: string[][][];
  start?: Record<string, Value>;
  terms?: string[];
  added?: boolean;
  doc?: string;
  random?: boolean;
  deprecated?: string | null;
  differs?: string | null;
  nvidia?: string | null;
  example?: string | null;
  page?: string | null;
}

/** All operators and their families; `common` names the operators that most pipelines are made of. */
export interface CatalogueData {
  families: Family[];
  operators: Operator[];
  common?: string[];
}

/** An entry as the wall shows it. `pictures` says whether it reads photographs, so that others can take their place; `annotated` whether it reads boxes, points or masks with them. An entry that waits for something says for what. `terms` are other names that a search finds it by. */
export interface EntryLine {
  name: string;
  title: string;
  family: string;
  helps: string;
  hurts: string;
  tags: string[];
  operators: string[];
  own: boolean;
  folder: string;
  views: number;
  pictures: boolean;
  annotated: boolean;
  waiting?: string;
  terms?: string[];
}

/** An entry that cannot be read. */
export interface BrokenLine {
  name: string;
  folder: string;
  problem: string;
}

/** A family of entries. */
export interface GalleryFamily {
  name: string;
  title: string;
}

/** All entries, in the order in which they are shown. */
export interface GalleryList {
  families: GalleryFamily[];
  entries: EntryLine[];
  broken: BrokenLine[];
}

/** Pictures of the wall; with `cached` only existing ones. */
export interface TilesRequest {
  names?: string[];
  cached?: boolean;
}

/** The pictures of an entry, or why there are none. */
export interface Tile {
  before?: PictureRef;
  after?: PictureRef;
  problem?: string;
}

/** Pictures by entry, and the entries whose pictures have to be made. */
export interface TileAnswer {
  tiles: Record<string, Tile>;
  missing: string[];
}

/** An entry's page; `pictures` is a folder in place of the sample photographs. */
export interface EntryRequest {
  name: string;
  pictures?: string | null;
}

/** A sub-graph of a document as an entry in the folder `gallery` of the session's own folder. */
export interface SaveEntryRequest {
  document: GraphDocument;
  node: string;
  title: string;
}

/** A control for an argument; `length` is that of a list whose parts are set together. */
export interface Control {
  node: string;
  name: string;
  op: string;
  label: string;
  kind: 'number' | 'range' | 'choice' | 'switch';
  value: Value;
  unit: string | null;
  doc: string;
  integer: boolean;
  length: number | null;
  minimum?: number;
  maximum?: number;
  choices?: string[];
}

/** An entry's page without its pictures; `fragment` names the nodes that make up the augmentation. */
export interface EntryPage extends EntryLine {
  random: boolean;
  document: GraphDocument;
  code: string;
  before: string | null;
  fragment: string[];
  controls: Control[];
  reference: Operator[];
}

/** Settings under which a graph is drawn: arguments by node and name, and a seed. */
export interface Variant {
  overrides?: Overrides | null;
  seed?: number;
}

/** Pictures of an entry, or of a graph, under several settings. `first` is the photograph that comes first in the batch. */
export interface DrawRequest {
  variants?: Variant[];
  name?: string | null;
  graph?: GraphDocument | null;
  before_edge?: string | null;
  first?: number;
  samples?: number;
  size?: number;
  before?: boolean;
  pictures?: string | null;
}

/** Boxes, points and masks over a picture, in shares of its size. */
export interface OverlayData {
  boxes?: number[][];
  points?: number[][];
  mask?: PictureRef;
}

/** One output: a picture for each sample. */
export interface ViewAnswer {
  images: (PictureRef | null)[];
  overlays: (OverlayData | null)[];
  shapes: string[];
}

/** Pictures of a variant; only the first one has `before`. */
export interface VariantAnswer {
  before?: ViewAnswer;
  after?: ViewAnswer[];
  problem?: SessionError;
}

/** The variants in their order, and how many photographs there are. */
export interface DrawAnswer {
  variants: VariantAnswer[];
  photographs: number;
}

/** An entry, or a graph, under the settings of its controls. */
export interface VariantRequest {
  name?: string | null;
  graph?: GraphDocument | null;
  before_edge?: string | null;
  overrides?: Overrides | null;
  seed?: number;
  pictures?: string | null;
}

/** Images a second on this machine, beside those of reading and decoding alone. */
export interface Cost {
  images_per_second: number;
  decoding_images_per_second: number | null;
  batch_size: number;
}

/** A graph, over real files, and its program. */
export interface Code {
  document: GraphDocument;
  code: string;
}

/** A random graph of a few entries; by default with a new seed. */
export interface SurpriseRequest {
  seed?: number | null;
  pictures?: string | null;
}

/** A random graph: `graph` to be drawn, `document` and `code` over real files. */
export interface Surprise {
  seed: number;
  title: string;
  steps: string[];
  graph: GraphDocument;
  document: GraphDocument;
  code: string;
  before: string | null;
}

/** Take the pictures of a folder; by default the sample photographs. */
export interface PicturesRequest {
  pictures?: string | null;
}

/** The folder of pictures, and how many there are. */
export interface ChosenPictures {
  folder: string;
  own: boolean;
  count: number;
}

/** Parameters and result of each method. */
export interface Methods {
  hello: { params: HelloRequest; result: Hello };
  restore: { params: RestoreRequest; result: Hello };
  catalogue: { params: Empty; result: CatalogueData };
  select: { params: SelectRequest; result: Empty };
  ping: { params: Empty; result: Waiting };
  edit: { params: EditRequest; result: Edited };
  open: { params: OpenRequest; result: Opened };
  new: { params: Empty; result: Opened };
  save: { params: SaveRequest; result: Saved };
  list_files: { params: ListFilesRequest; result: Listing };
  allow: { params: AllowRequest; result: Problems };
  validate: { params: Empty; result: Problems };
  export: { params: ExportRequest; result: Exported };
  list_pipelines: { params: ListPipelinesRequest; result: ProgramListing };
  trace: { params: TraceRequest; result: Opened };
  preview: { params: PreviewRequest; result: RunStarted };
  cancel: { params: CancelRequest; result: Empty };
  run: { params: RunRequest; result: RunStarted };
  check: { params: CheckRequest; result: RunStarted };
  cache: { params: CacheRequest; result: RunStarted };
  dataset: { params: DatasetRequest; result: DatasetPage };
  distribution: { params: DistributionRequest; result: RunStarted };
  probe: { params: ProbeRequest; result: RunStarted };
  sweep: { params: SweepRequest; result: Swept };
  play: { params: PlayRequest; result: Played };
  compare: { params: CompareRequest; result: Compared };
  'gallery.list': { params: Empty; result: GalleryList };
  'gallery.tiles': { params: TilesRequest; result: TileAnswer };
  'gallery.entry': { params: EntryRequest; result: EntryPage };
  'gallery.draw': { params: DrawRequest; result: DrawAnswer };
  'gallery.cost': { params: VariantRequest; result: Cost };
  'gallery.code': { params: VariantRequest; result: Code };
  'gallery.surprise': { params: SurpriseRequest; result: Surprise };
  'gallery.save': { params: SaveEntryRequest; result: EntryLine };
  'gallery.pictures': { params: PicturesRequest; result: ChosenPictures };
}

/** Parameters of each event. */
export interface Events {
  changed: Changed;
  document: Opened;
  state: State;
  problems: Problems;
  selected: Selected;
  catalogue: CatalogueChanged;
  notice: Notice;
  'preview.started': PreviewStarted;
  'preview.progress': PreviewProgress;
  'preview.node': NodeEvent;
  'preview.unchanged': PreviewUnchanged;
  'preview.focus': FocusEvent;
  'preview.done': DoneEvent;
  'run.progress': RunProgress;
  'run.done': RunDone;
  'check.progress': CheckProgress;
  'check.done': CheckDone;
  'cache.done': CacheDone;
  'distribution.progress': DistributionProgress;
  'distribution.done': DistributionDone;
  'probe.progress': ProbeProgress;
  'probe.done': ProbeDone;
}
