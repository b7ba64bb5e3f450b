/** Time of each step of undo, and a picture of the graph's output after it: the history shows both. */
import { parseEdge } from './document';
import type { Editor } from './editor';
import type { Step } from './history';

export interface Moment {
  /** In milliseconds. */
  at: number;
  /** A small picture as a data URL, once a preview has shown the step. */
  picture: string | null;
}

const HEIGHT = 40;

export class Moments {
  private steps = new WeakMap<Step, Moment>();
  private opened: Moment = { at: Date.now(), picture: null };
  private asOpened: readonly Step[] | null = null;

  constructor(private editor: Editor) {}

  /** Notes the time of new steps, and takes pictures when previews end; returns what ends that. */
  watch(): () => void {
    const { history, previews } = this.editor;
    let running = previews.status.get().running;
    const ends = [
      history.state.subscribe(() => this.current()),
      previews.status.subscribe((status) => {
        const ended = running && !status.running;
        running = status.running;
        if (ended) void this.take();
      }),
    ];
    return () => ends.forEach((end) => end());
  }

  /** The moment of a step, or of the document as it was opened; undefined for a step of an earlier page. */
  of(step: Step | undefined): Moment | undefined {
    return step === undefined ? this.opened : this.steps.get(step);
  }

  private current(): Moment {
    const { steps, done } = this.editor.history.state.get();
    const step = steps[done - 1];
    if (step === undefined) {
      // Another document has no steps yet.
      if (steps.length === 0 && this.asOpened !== steps) this.opened = { at: Date.now(), picture: null };
      this.asOpened = steps;
      return this.opened;
    }
    let moment = this.steps.get(step);
    if (!moment) this.steps.set(step, (moment = { at: Date.now(), picture: null }));
    return moment;
  }

  private async take(): Promise<void> {
    const { document } = this.editor.history;
    const marked = document.outputs.map(parseEdge).find(({ node }) => document.nodes[node]);
    const node = marked?.node ?? Object.keys(document.nodes).at(-1);
    const result = node === undefined ? undefined : this.editor.previews.result(node);
    const picture = result?.outputs[marked?.output ?? 0]?.images.find((image) => image !== null);
    if (!picture || result?.stale || typeof Image === 'undefined') return;
    const moment = this.current();
    const drawn = await reduced(picture.url);
    if (drawn !== null) moment.picture = drawn;
  }
}

/** A picture at the height of a line; null where it has gone meanwhile. */
async function reduced(url: string): Promise<string | null> {
  const image = new Image();
  image.src = url;
  try {
    await image.decode();
  } catch {
    return null;
  }
  const canvas = globalThis.document.createElement('canvas');
  canvas.height = HEIGHT;
  canvas.width = Math.max(1, Math.min(3 * HEIGHT, Math.round((HEIGHT * image.width) / (image.height || 1))));
  canvas.getContext('2d')?.drawImage(image, 0, 0, canvas.width, canvas.height);
  return canvas.toDataURL('image/jpeg', 0.8);
}
