/** Results of previews by node, and when to ask for the next one: the latest wins, one at a time. */
import type { Connection } from './connection';
import { Observable } from './observable';
import { browserPictures, pictureOf, releasePictures, type Picture, type Pictures } from './pictures';
import type {
  Bytes,
  DoneEvent,
  FocusEvent,
  NodeEvent,
  NodeFailure,
  OutputPreview,
  Skipped,
  PreviewRequest,
  SessionEvent,
  ShapesOverlay,
} from './protocol';

export interface OutputResult extends Omit<OutputPreview, 'images'> {
  images: (Picture | null)[];
}

export interface NodeResult {
  outputs: OutputResult[];
  time: number | null;
  cached: boolean;
  error: NodeFailure | null;
  skipped: Skipped | null;
  /** The graph has changed since. */
  stale: boolean;
}

export interface MaskOverlay {
  kind: 'mask';
  node: string;
  output: number;
  images: (Picture | null)[];
}

export type Overlay = ShapesOverlay | MaskOverlay;

export interface FocusResult {
  node: string;
  output: number;
  images: (Picture | null)[];
  overlays: Overlay[];
}

export interface PreviewStatus {
  running: boolean;
  /** Shown only when it takes over half a second. */
  progress: { done: number; total: number; node: string | null } | null;
  total: number | null;
  seed: number | null;
  error: string | null;
}

const PATIENCE_MS = 1500;

/** Whether two results of a node are of the same files, as far as they have names. */
function sameSamples(before: readonly OutputResult[], after: readonly OutputResult[]): boolean {
  const names = (outputs: readonly OutputResult[]): string =>
    JSON.stringify(outputs.map(({ files, labels }) => [files ?? null, labels ?? null]));
  return names(before) === names(after);
}

export class Previews {
  readonly status = new Observable<PreviewStatus>({
    running: false,
    progress: null,
    total: null,
    seed: null,
    error: null,
  });
  /** Rises with every result: for what depends on many nodes. */
  readonly version = new Observable(0);
  private results = new Map<string, NodeResult>();
  private focused = new Map<string, FocusResult>();
  private listeners = new Map<string, Set<() => void>>();
  private current: { run: number; started: number } | null = null;
  private wanted = false;
  private runs = Math.floor(Math.random() * 1e6) * 1000;
  private seen = new Set<string>();

  constructor(
    private connection: Connection,
    private request: () => Omit<PreviewRequest, 'run'> | null,
    private pictures: Pictures = browserPictures,
  ) {}

  result(node: string): NodeResult | undefined {
    return this.results.get(node);
  }

  focus(node: string, output: number): FocusResult | undefined {
    return this.focused.get(`${node}:${output}`);
  }

  get nodes(): IterableIterator<string> {
    return this.results.keys();
  }

  /** Listens to the result of one node. */
  subscribe(node: string, listener: () => void): () => void {
    let listeners = this.listeners.get(node);
    if (!listeners) this.listeners.set(node, (listeners = new Set()));
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }

  /** A number for a request of its own, such as a sweep. */
  newRun(): number {
    return ++this.runs;
  }

  /** Asks for a preview: now, or when the one at work is done. */
  ask(): void {
    if (this.current) {
      this.wanted = true;
      // One that takes long is not waited for, since its result is already out of date.
      if (Date.now() - this.current.started > PATIENCE_MS) this.cancel();
      return;
    }
    this.start();
  }

  cancel(): void {
    if (this.current) this.connection.call('cancel', { run: this.current.run }).catch(() => undefined);
  }

  /** The session is gone: nothing is at work any more. */
  reset(): void {
    this.current = null;
    this.wanted = false;
    this.status.update((status) => ({ ...status, running: false, progress: null }));
  }

  /** Forgets all results: another document. */
  clear(): void {
    const nodes = [...this.results.keys()];
    for (const result of this.results.values()) this.releaseOutputs(result.outputs);
    for (const focus of this.focused.values()) this.releaseFocus(focus);
    this.results.clear();
    this.focused.clear();
    for (const node of nodes) this.tell(node);
    this.version.update((version) => version + 1);
  }

  private start(): void {
    this.wanted = false;
    const params = this.request();
    if (!params) return;
    const run = ++this.runs;
    this.current = { run, started: Date.now() };
    this.seen.clear();
    this.status.update((status) => ({ ...status, running: true, error: null }));
    this.connection.call('preview', { ...params, run }).catch((error: unknown) => {
      if (this.current?.run !== run) return;
      this.current = null;
      const { message } = error as Error;
      this.status.update((status) => ({ ...status, running: false, progress: null, error: message }));
      if (this.wanted) this.start();
    });
  }

  /** Takes an event of the session; false if it is none of ours. */
  receive({ event, params }: SessionEvent, buffers: Bytes[]): boolean {
    if (!('run' in params) || this.current?.run !== params.run) return event.startsWith('preview.');
    switch (event) {
      case 'preview.progress': {
        const { done, total, node } = params;
        this.status.update((status) => ({ ...status, progress: { done, total, node } }));
        return true;
      }
      case 'preview.node':
        this.takeNode(params, buffers);
        return true;
      case 'preview.unchanged': {
        for (const [node, time] of Object.entries(params.nodes)) {
          const result = this.results.get(node);
          this.seen.add(node);
          if (result && (result.stale || (time !== null && time !== result.time))) {
            this.put(node, { ...result, stale: false, cached: true, time: time ?? result.time });
          }
        }
        return true;
      }
      case 'preview.focus':
        this.takeFocus(params, buffers);
        return true;
      case 'preview.done':
        this.finish(params);
        return true;
      default:
        return event.startsWith('preview.');
    }
  }

  private takeNode(event: NodeEvent, buffers: Bytes[]): void {
    const old = this.results.get(event.node);
    this.seen.add(event.node);
    const outputs = event.outputs.map((output) => ({
      ...output,
      images: output.images.map((image) => pictureOf(image, buffers, this.pictures)),
    }));
    // A failing node keeps its last pictures, greyed, as they help to find the error. One that is off has none.
    const left = event.error ?? (event.skipped?.off ? null : event.skipped);
    const kept = outputs.length === 0 && left ? (old?.outputs ?? []) : outputs;
    if (old && kept !== old.outputs) this.releaseOutputs(old.outputs);
    const others = old !== undefined && kept === outputs && !sameSamples(old.outputs, outputs);
    if (event.skipped?.off || others) this.forgetFocus(event.node);
    this.put(event.node, {
      outputs: kept,
      time: event.time_ms,
      cached: event.cached,
      error: event.error ?? null,
      skipped: event.skipped ?? null,
      stale: kept !== outputs,
    });
    if (others) this.outdate();
  }

  /** Greys the results of other samples, or of another graph, that are to be replaced. */
  private outdate(): void {
    for (const [node, result] of this.results) {
      if (!this.seen.has(node) && !result.stale) this.put(node, { ...result, stale: true });
    }
  }

  /** The large pictures of a node that has none any more. */
  private forgetFocus(node: string): void {
    for (const [key, result] of this.focused) {
      if (result.node !== node) continue;
      this.releaseFocus(result);
      this.focused.delete(key);
    }
  }

  private takeFocus(event: FocusEvent, buffers: Bytes[]): void {
    if (event.unchanged) return;
    const key = `${event.node}:${event.output}`;
    const old = this.focused.get(key);
    const images = event.images.map((image) => pictureOf(image, buffers, this.pictures));
    const overlays = (event.overlays ?? []).map((overlay) =>
      overlay.kind === 'mask'
        ? { ...overlay, images: overlay.images.map((image) => pictureOf(image, buffers, this.pictures)) }
        : overlay,
    );
    if (old) this.releaseFocus(old);
    this.focused.set(key, { node: event.node, output: event.output, images, overlays });
    this.tell(event.node);
    this.version.update((version) => version + 1);
  }

  private finish(event: DoneEvent): void {
    this.current = null;
    if (event.status === 'done') {
      for (const [node, result] of this.results) {
        if (this.seen.has(node)) continue;
        this.releaseOutputs(result.outputs);
        this.results.delete(node);
        this.tell(node);
      }
    } else this.outdate();
    this.status.update((status) => ({
      running: this.wanted,
      progress: null,
      total: event.status === 'done' ? event.total_ms : status.total,
      seed: event.seed,
      error: event.error?.message ?? null,
    }));
    this.version.update((version) => version + 1);
    if (this.wanted) this.start();
  }

  private put(node: string, result: NodeResult): void {
    this.results.set(node, result);
    this.tell(node);
  }

  private tell(node: string): void {
    for (const listener of [...(this.listeners.get(node) ?? [])]) listener();
  }

  private releaseOutputs(outputs: readonly OutputResult[]): void {
    for (const { images } of outputs) releasePictures(images, this.pictures);
  }

  private releaseFocus({ images, overlays }: FocusResult): void {
    releasePictures(images, this.pictures);
    for (const overlay of overlays)
      if (overlay.kind === 'mask') releasePictures(overlay.images, this.pictures);
  }
}
