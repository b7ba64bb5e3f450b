/** Time of each step of undo, and a picture of the graph's output after it: the history shows both. */
import { changesMeaning, diff } from './changes';
import { parseEdge, type GraphDocument } from './document';
import type { Editor } from './editor';
import type { Step } from './history';

export interface Moment {
  /** In milliseconds. */
  at: number;
  /** A small picture as a data URL, once a preview has shown the step. */
  picture: string | null;
}

/** The moments of a history, as they are kept over a reload of the page. */
export interface KeptMoments {
  opened: Moment;
  steps: readonly (Moment | null)[];
}

export class Moments {
  private steps = new WeakMap<Step, Moment>();
  private opened: Moment = { at: Date.now(), picture: null };
  private asOpened: GraphDocument;

  constructor(private editor: Editor) {
    this.asOpened = editor.history.document;
  }

  /** Notes the time of new steps, and takes pictures when previews end; returns what ends that. */
  watch(): () => void {
    const { history, previews } = this.editor;
    let running = previews.status.get().running;
    const ends = [
      history.state.subscribe(() => this.current()),
      history.onChange(({ document, origin }) => {
        if (origin === 'reset') this.open(document);
      }),
      previews.status.subscribe((status) => {
        const ended = running && !status.running;
        running = status.running;
        if (ended) this.take();
      }),
    ];
    return () => ends.forEach((end) => end());
  }

  /** The moment of a step, or of the document as it was opened; undefined for a step of an earlier page. */
  of(step: Step | undefined): Moment | undefined {
    return step === undefined ? this.opened : this.steps.get(step);
  }

  /** The moments of all steps, to be resumed with them. */
  kept(): KeptMoments {
    const { steps } = this.editor.history.state.get();
    return { opened: this.opened, steps: steps.map((step) => this.steps.get(step) ?? null) };
  }

  /** Takes up the moments that were kept of the steps of undo that are there now. */
  resume(kept: KeptMoments): void {
    this.opened = kept.opened;
    this.editor.history.state.get().steps.forEach((step, index) => {
      const moment = kept.steps[index];
      if (moment) this.steps.set(step, moment);
    });
  }

  /** Another document begins a history; the same one that is only laid out anew does not. */
  private open(document: GraphDocument): void {
    const before = this.asOpened;
    this.asOpened = document;
    if (changesMeaning(diff(before, document), before)) this.opened = { at: Date.now(), picture: null };
  }

  private current(): Moment {
    const { steps, done } = this.editor.history.state.get();
    const step = steps[done - 1];
    if (step === undefined) return this.opened;
    let moment = this.steps.get(step);
    if (!moment) this.steps.set(step, (moment = { at: Date.now(), picture: null }));
    return moment;
  }

  private take(): void {
    const { document } = this.editor.history;
    const marked = document.outputs.map(parseEdge).find(({ node }) => document.nodes[node]);
    const node = marked?.node ?? Object.keys(document.nodes).at(-1);
    const result = node === undefined ? undefined : this.editor.previews.result(node);
    const picture = result?.outputs[marked?.output ?? 0]?.images.find((image) => image !== null);
    // Thumbnails stand in their addresses; a large one is the browser's, and gone once it is not shown.
    if (picture?.url.startsWith('data:') && !result?.stale) this.current().picture = picture.url;
  }
}
