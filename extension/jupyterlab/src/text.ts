/** The text of a file and the graph on the canvas, each made of the other as it changes. */
import type { DocumentRegistry } from '@jupyterlab/docregistry';
import type { TranslationBundle } from '@jupyterlab/translation';
import { Signal } from '@lumino/signaling';
import { DocumentError, type GraphDocument } from '../../src/core/document';
import { changedPart, readGraph, writeGraph } from '../../src/core/text';
import { makeBar, showBar, type Action } from './bars';
import type { Handle } from './editor';

/** Longest time that the canvas may be ahead of the text. */
const WRITE_MS = 200;

/** A text that several people may write in at once. */
interface ISharedText {
  updateSource(start: number, end: number, value: string): void;
}

export interface TextHooks {
  trans: TranslationBundle;
  /** The canvas, once there is one. */
  handle: () => Handle | null;
  /** The text holds a graph, and there is no canvas yet. */
  show: () => void;
  /** Shows the text as such. */
  openText: () => void;
}

export class GraphText {
  /** Says what is wrong with the text. */
  readonly bar = makeBar('text');
  /** The graph as it was when text and canvas were last the same. */
  graph: GraphDocument | null = null;
  /** The text as the canvas last wrote or read it. */
  private text: string | null = null;
  private timer: ReturnType<typeof setTimeout> | null = null;

  constructor(
    private context: DocumentRegistry.Context,
    /** Looks otherwise while the text holds no graph. */
    private node: HTMLElement,
    private hooks: TextHooks,
  ) {}

  get readOnly(): boolean {
    return this.context.contentsModel?.writable === false || this.context.model.readOnly;
  }

  private get unreadable(): boolean {
    return this.node.hasAttribute('data-unreadable');
  }

  private set unreadable(on: boolean) {
    this.node.toggleAttribute('data-unreadable', on);
  }

  dispose(): void {
    Signal.clearData(this);
    this.hold();
  }

  /** The canvas has changed: it is written in a moment. */
  schedule(): void {
    this.timer ??= setTimeout(() => this.write(), WRITE_MS);
  }

  /** The graph becomes the text: only the part that changed is written, so that others may write elsewhere. */
  write(): void {
    if (this.timer === null) return;
    this.hold();
    const { context } = this;
    const handle = this.hooks.handle();
    if (!handle || context.isDisposed || this.readOnly || this.unreadable) return;
    if (handle.editor.session.get().id === null) return;
    const graph = handle.getDocument();
    const before = context.model.toString();
    const after = writeGraph(graph, before);
    this.graph = graph;
    if (after === before) return;
    this.text = after;
    this.replace(before, after);
    // A text that several people write in is saved by the server.
    if (!context.model.collaborative) context.model.dirty = true;
  }

  /** The text changed: by a revert, another view of it, another person, or another program. */
  read(): void {
    const text = this.context.model.toString();
    if (text === this.text) return;
    this.text = text;
    try {
      const found = readGraph(text);
      this.unreadable = false;
      showBar(this.bar, null);
      const base = this.graph;
      this.graph = found;
      const handle = this.hooks.handle();
      // Edits on the canvas since text and canvas were last the same stay.
      const shared = this.context.model.collaborative === true;
      if (handle) handle.setDocument(found, { base: this.timer !== null ? base : null, shared });
      else this.hooks.show();
    } catch (error) {
      if (!(error instanceof DocumentError)) throw error;
      this.refuse(error.message);
    }
  }

  private hold(): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
  }

  private replace(before: string, after: string): void {
    const { model } = this.context;
    const shared = model.sharedModel as Partial<ISharedText> & typeof model.sharedModel;
    const { start, end, text } = changedPart(before, after);
    if (shared.updateSource) shared.updateSource(start, end, text);
    else model.fromString(after);
  }

  /** The text holds no graph: the canvas keeps what it had, and nothing is written over the text. */
  private refuse(problem: string): void {
    this.hold();
    this.unreadable = true;
    const { trans, openText } = this.hooks;
    const actions: Action[] = [{ title: trans.__('Open as text'), run: openText }];
    const { graph, context } = this;
    if (graph && !this.readOnly) {
      const run = (): void => context.model.fromString(writeGraph(graph));
      actions.push({ title: trans.__('Back to the graph as it was'), run });
    }
    showBar(this.bar, { level: 'error', text: problem, actions });
  }
}
