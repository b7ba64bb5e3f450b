/** The document with its undo history: one gesture is one step, and a step undoes exactly what it did. */
import { apply, changesMeaning, diff, isEmpty, type Changes } from './changes';
import type { GraphDocument } from './document';
import { Observable } from './observable';

export interface Step {
  label: string;
  forward: Changes;
  backward: Changes;
}

export interface HistoryState {
  steps: readonly Step[];
  /** Number of steps that are done; the rest can be redone. */
  done: number;
}

export interface DocumentChange {
  document: GraphDocument;
  origin: 'edit' | 'undo' | 'redo' | 'remote' | 'reset';
  /** Whether results may differ. */
  meaning: boolean;
}

const LIMIT = 500;

export class History {
  readonly state = new Observable<HistoryState>({ steps: [], done: 0 });
  private gesture: { key: string; start: GraphDocument } | null = null;
  private listeners = new Set<(change: DocumentChange) => void>();

  constructor(private current: GraphDocument) {}

  get document(): GraphDocument {
    return this.current;
  }

  onChange(listener: (change: DocumentChange) => void): () => void {
    this.listeners.add(listener);
    return () => {
      this.listeners.delete(listener);
    };
  }

  /**
   * Edits the document. Edits with the same `gesture` that follow each other are one step,
   * until another edit or `endGesture`.
   */
  edit(label: string, change: (document: GraphDocument) => GraphDocument, gesture?: string): boolean {
    const before = this.current;
    const after = change(before);
    const forward = diff(before, after);
    if (isEmpty(forward)) return false;
    const { steps, done } = this.state.get();
    if (gesture !== undefined && this.gesture?.key === gesture && done > 0) {
      const start = this.gesture.start;
      const total = diff(start, after);
      const kept = steps.slice(0, done - 1);
      if (isEmpty(total)) this.state.set({ steps: kept, done: done - 1 });
      else {
        const step = { label, forward: total, backward: diff(after, start) };
        this.state.set({ steps: [...kept, step], done });
      }
      if (isEmpty(total)) this.gesture = null;
    } else {
      const step = { label, forward, backward: diff(after, before) };
      const kept = [...steps.slice(0, done), step].slice(-LIMIT);
      this.gesture = gesture === undefined ? null : { key: gesture, start: before };
      this.state.set({ steps: kept, done: kept.length });
    }
    this.replace(after, 'edit', changesMeaning(forward, before));
    return true;
  }

  /**
   * Changes the view of the document as part of the step that was done last, so that undo takes both back. Before the
   * first step it is part of the document that was opened; between steps that can be redone nothing is changed.
   */
  amend(change: (document: GraphDocument) => GraphDocument): boolean {
    const before = this.current;
    const after = change(before);
    const { steps, done } = this.state.get();
    const last = steps[done - 1];
    if (isEmpty(diff(before, after)) || done < steps.length) return false;
    if (last) {
      const start = apply(before, last.backward);
      const step = { label: last.label, forward: diff(start, after), backward: diff(after, start) };
      this.state.set({ steps: [...steps.slice(0, -1), step], done });
    }
    this.replace(after, last ? 'edit' : 'reset', false);
    return true;
  }

  endGesture(): void {
    this.gesture = null;
  }

  undo(): Step | null {
    const { steps, done } = this.state.get();
    const step = steps[done - 1];
    if (!step) return null;
    this.gesture = null;
    const before = this.current;
    this.state.set({ steps, done: done - 1 });
    this.replace(apply(before, step.backward), 'undo', changesMeaning(step.backward, before));
    return step;
  }

  redo(): Step | null {
    const { steps, done } = this.state.get();
    const step = steps[done];
    if (!step) return null;
    this.gesture = null;
    const before = this.current;
    this.state.set({ steps, done: done + 1 });
    this.replace(apply(before, step.forward), 'redo', changesMeaning(step.forward, before));
    return step;
  }

  /** Goes to the state after `done` steps. */
  goTo(done: number): void {
    while (this.state.get().done > done && this.undo()) continue;
    while (this.state.get().done < done && this.redo()) continue;
  }

  /** The document as it was after `done` steps. */
  documentAt(done: number): GraphDocument {
    const state = this.state.get();
    let document = this.current;
    for (let at = state.done; at > done; at--)
      document = apply(document, state.steps[at - 1]?.backward ?? {});
    for (let at = state.done; at < done; at++) document = apply(document, state.steps[at]?.forward ?? {});
    return document;
  }

  /** A change from elsewhere: not a step of ours, so undo does not take it back. */
  applyRemote(changes: Changes): void {
    const before = this.current;
    this.gesture = null;
    this.replace(apply(before, changes), 'remote', changesMeaning(changes, before));
  }

  /** Another document: the history starts anew. */
  reset(document: GraphDocument): void {
    this.gesture = null;
    this.state.set({ steps: [], done: 0 });
    this.replace(document, 'reset', true);
  }

  private replace(document: GraphDocument, origin: DocumentChange['origin'], meaning: boolean): void {
    this.current = document;
    for (const listener of [...this.listeners]) listener({ document, origin, meaning });
  }
}
