/** Lays out an opened document on the canvas: at once, and again when the sizes of its nodes are known. */
import { makeWay } from './apart';
import type { GraphDocument } from './document';
import { moveNodes } from './edits';
import type { History } from './history';
import { autoLayout, missingPositions, NODE_SIZE } from './layout';
import { Observable } from './observable';
import type { CanvasPort } from './state';

/** Interval in which sizes are checked, and the largest number of checks. */
const LOOK_MS = 60;
const LOOKS = 100;

export class Opening {
  /** Rises when there is another document, or it is placed anew: the canvas then shows it whole. */
  readonly count = new Observable(0);
  /** The document is laid out and shown whole: the view stays where it is now. */
  readonly settled = new Observable(false);
  /**
   * Set until the first pictures are there, and nodes have their size; `automatic` where nobody has placed all nodes,
   * `edited` where the person is at work already, `hidden` where the canvas was not shown by then, as in a closed tab.
   */
  private waiting: { automatic: boolean; edited?: boolean; hidden?: boolean } | null = null;

  /** The last count for which the canvas showed the whole: until then cards are drawn for the view before it. */
  private seen = 0;

  constructor(
    private history: History,
    private canvas: () => CanvasPort | null,
    private moving: () => boolean,
  ) {
    history.onChange(({ origin }) => {
      if (this.waiting && origin !== 'reset' && origin !== 'remote') this.waiting.edited = true;
    });
  }

  /** Begins with a document that is only looked at so far. */
  show(document: GraphDocument): void {
    this.history.reset(document);
    this.place();
    this.showWhole();
  }

  /** Begins with the document that the history was given. */
  begin(): void {
    const empty = Object.keys(this.history.document.nodes).length === 0;
    const automatic = this.place();
    this.waiting = empty ? null : { automatic };
    this.settled.set(empty);
    this.showWhole();
  }

  /** The canvas shows the document as far as it knows the sizes. */
  shown(): void {
    this.seen = this.count.get();
    if (!this.waiting) this.settled.set(true);
    else if (this.waiting.hidden) {
      this.waiting.hidden = false;
      this.settleWhenStill('');
    }
  }

  /** Pictures have come: waits until cards have stopped growing. */
  pictured(): void {
    if (this.waiting) this.settleWhenStill('');
  }

  /**
   * Gives a place to nodes that have none, and says whether there were any.
   * Nobody made this change: it is no step of undo, and is sent with the first edit only.
   */
  private place(): boolean {
    const { document } = this.history;
    const places = missingPositions(document, () => NODE_SIZE, this.canvas()?.room());
    if (Object.keys(places).length === 0) return false;
    this.history.reset(moveNodes(document, places));
    return true;
  }

  private showWhole(): void {
    this.count.update((count) => count + 1);
  }

  private settleWhenStill(before: string, looks = 0): void {
    const sizes = Object.keys(this.history.document.nodes).map((id) => this.canvas()?.sizeOf(id).height ?? 0);
    const now = sizes.join();
    const drawn = this.seen === this.count.get() && !this.moving();
    const hidden = !this.canvas()?.room();
    if ((drawn && now === before) || hidden || looks > LOOKS) this.settle();
    else setTimeout(() => this.settleWhenStill(drawn ? now : '', looks + 1), LOOK_MS);
  }

  /** Lays out anew what nobody has placed, and shows the whole, now that sizes are known. */
  private settle(): void {
    const state = this.waiting;
    const canvas = this.canvas();
    if (state && canvas && !canvas.room()) {
      state.hidden = true;
      return;
    }
    this.waiting = null;
    if (!state || !canvas || state.edited) {
      this.shown();
      return;
    }
    // Steps of undo from before a reload go on from the document as it is.
    if (this.history.state.get().steps.length === 0) this.layOut(canvas, state.automatic);
    this.showWhole();
  }

  private layOut(canvas: CanvasPort, automatic: boolean): void {
    const { document } = this.history;
    const apart = makeWay(document, (id) => canvas.sizeOf(id));
    if (!automatic && apart !== document) this.history.reset(apart);
    if (automatic) {
      this.history.reset(
        moveNodes(
          document,
          autoLayout(document, (id) => canvas.sizeOf(id), undefined, canvas.room()),
        ),
      );
    }
  }
}
