/** State of the editor beside the document, by subject. */
import type { Distribution } from './datasets';
import type { Point } from './edits';
import type { OutputRef, Target } from './document';
import type { Size } from './layout';
import type {
  CacheDone,
  Capabilities,
  CheckDone,
  CheckProgress,
  FileInfo,
  ProbeDone,
  ProbeProgress,
  ProgramPipeline,
  RunDone,
} from './protocol';

export interface Selection {
  nodes: ReadonlySet<string>;
  /** Keys of the targets of selected links. */
  links: ReadonlySet<string>;
  /** A selected note or group. */
  item: string | null;
}

export interface NoticeAction {
  title: string;
  run: () => void;
}

export interface Notice {
  id: number;
  level: 'info' | 'warning' | 'error';
  message: string;
  detail?: string | undefined;
  actions: NoticeAction[];
  /** The end of the gesture, in client coordinates. */
  at?: Point | undefined;
  about?: string | undefined;
}

export interface SessionInfo {
  /** Null until the session has answered. */
  id: string | null;
  /** The session has answered, and its document and its operators are here. */
  ready: boolean;
  version: string;
  title: string;
  file: FileInfo | null;
  dirty: boolean;
  readOnly: boolean;
  device: string;
  seed: number | null;
  capabilities: Capabilities;
}

/** Actions that a host overrides; the editor does the others with its session. */
export interface Host {
  /** Shows a new graph, elsewhere than in this editor. */
  createNew?: () => void;
  /** Saves under the present name. */
  save?: () => void;
  /** Asks for another name and saves under it. */
  saveAs?: () => void;
  /** True when the host opens it elsewhere. */
  open?: (request: OpenRequest) => Promise<boolean>;
  /** Shows a second graph beside this one, or closes it. */
  beside?: () => void;
}

export type OpenRequest = { pipeline?: string } & (
  { path: string } | { text: string; name?: string } | { sample: string } | { gallery: string }
);

/** A program that was to be opened, and its pipelines. */
export interface Program {
  request: Extract<OpenRequest, { path: string } | { text: string }>;
  pipelines: ProgramPipeline[];
}

export type DialogName =
  'open' | 'save' | 'export' | 'shortcuts' | 'commands' | 'history' | 'pipeline' | 'dataset' | 'probe';

/** Keys of commands, by their id, where the host has others than the table of commands. */
export type Keymap = ReadonlyMap<string, readonly string[]>;

export interface QuickSearch {
  /** Its place, in client coordinates. */
  at: Point;
  /** Place of the new node, in canvas coordinates. */
  place: Point;
  /** Only what fits this. */
  from?: OutputRef;
  to?: Target;
  /** A node whose operator is to be replaced. */
  replace?: string;
  /** The selected node, which the new one continues where it fits. */
  after?: string;
  /** The pointer is over the canvas: the new node comes there. */
  over?: boolean;
}

export interface TrayState {
  /** Boxes, points and masks are drawn over the pictures. */
  overlays: boolean;
  mode: 'batch' | 'play' | 'compare' | 'follow' | 'sweep' | 'versions' | 'numbers';
  /** The sample that is followed through the nodes. */
  sample: number;
  /** A sample that the tray is to scroll to, once it is there. */
  reveal: number | null;
  /** Size of a picture on the screen. */
  size: number;
  output: number;
}

export interface Panels {
  /** The canvas alone, with the tray beside it; the other panels come back afterwards. */
  focus: boolean;
  palette: boolean;
  inspector: boolean;
  tray: boolean;
  minimap: boolean;
}

/** The canvas's services for the editor. */
export interface CanvasPort {
  fit(ids?: readonly string[]): void;
  /** Moves the view as little as it takes to show nodes; does nothing where they are seen. */
  show(ids: readonly string[]): void;
  /** Cards have grown: they are moved out of each other's way, and a graph that was shown whole stays so. */
  grown(): void;
  /** The room for the whole graph, in pixels of the screen; null where the canvas is not shown. */
  room(): Size | null;
  zoom(factor: number): void;
  centre(): Point;
  /** The pointer, or the middle of the canvas where it is not `over` it, in canvas and in client coordinates. */
  pointer(): { place: Point; at: Point; over: boolean };
  sizeOf(id: string): Size;
  focusNode(id: string): void;
  /** Gives a node the keyboard, and brings it into view if it is not. */
  reveal(id: string): void;
  focus(): void;
  /** Gives the keyboard to the next or the previous of toolbar, palette, canvas, tray and inspector. */
  walkPanels(step: 1 | -1): void;
  /** Another document comes: the view may move by itself again. */
  release(): void;
}

/** Work that goes on: how much of it is done, and when it began, in milliseconds. */
export interface Progress {
  done: number;
  total: number;
  began: number;
}

export interface RunState extends Progress {
  run: number;
  rate: number | null;
}

/** Dialogs and fields that ask the person for something; null where none does. */
export interface Prompts {
  dialog: DialogName | null;
  quick: QuickSearch | null;
  /** The node whose output is being connected by keyboard. */
  linking: string | null;
  /** A program of which a pipeline is to be chosen, or that must be run to be opened. */
  program: Program | null;
  /** A path that is being chosen for an argument. */
  picking: { folder: boolean; start: string | null; choose: (path: string) => void } | null;
  /** The argument that the inspector is to show and to give the keys to; without a name, the first. */
  attention: { node: string; argument: string | null } | null;
  /** A node, or a group by its `groupKey`, that is being renamed. */
  renaming: string | null;
}

export const NO_PROMPTS: Prompts = {
  dialog: null,
  quick: null,
  linking: null,
  program: null,
  picking: null,
  attention: null,
  renaming: null,
};

/** The present appearance of the editor. */
export interface ViewState {
  theme: 'light' | 'dark';
  /** The person moved the canvas to where it is, rather than a command. */
  taken: boolean;
  /** The view moves, by hand or by a command: what a view at rest needs waits until then. */
  moving: boolean;
  /** The canvas shows nodes from afar: as a thumbnail and a name. */
  far: boolean;
  /** Panels without room now, chosen or not. */
  folded: ReadonlySet<keyof Panels>;
  /** The gallery stands over the canvas. */
  gallery: boolean;
  /** A graph was asked for, and is not there yet. */
  fetching: boolean;
  /** The sample under the pointer, marked at every node. */
  hoverSample: number | null;
  hoveredLink: { key: string; at: Point } | null;
  keymap: Keymap;
}

/** The batch that previews show. */
export interface BatchState {
  /** Samples at each node. */
  samples: number;
  /** Samples in the tray, which goes on through the batch; all of them are computed. */
  seen: number;
  iteration: number;
  /** Chosen samples that make up the batch, by their places in the lists of readers with `size` samples. */
  pins: { places: number[]; size: number } | null;
}

/** A graph that a probe trains on, and the folder that it reads. */
export interface Probed {
  graph: string;
  folder: string;
}

export interface JobState {
  run: RunState | null;
  lastRun: RunDone | null;
  /** The check of the dataset that goes on. */
  check: CheckProgress | null;
  lastCheck: CheckDone | null;
  /** A node's numbers that are being counted, and those that were last. */
  distribution: (Progress & { run: number; node: string; output: number }) | null;
  lastDistribution: Distribution | null;
  /** The measurement of a cache that goes on, and the result of the last one. */
  cache: { run: number } | null;
  lastCache: CacheDone | null;
  /** The trainings with and without augmentations that go on, and the outcome of the last ones. */
  probe: ProbeProgress | null;
  /** Settings of the probe that was chosen last, and of the one that goes on; all random steps where `nodes` is null. */
  probeSettings: { nodes: readonly string[] | null; seeds: number; epochs: number; samples: number };
  lastProbe: (ProbeDone & { of: Probed | null }) | null;
  /** What the probe that was begun last trains on. */
  probed: Probed | null;
}
