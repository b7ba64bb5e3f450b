/** The view of a canvas moves: at once or in steps, never while the canvas has no size, and never to nowhere. */
import type { Box, Size } from './layout';

/** Position of the canvas's origin in pixels of the screen, and the zoom. */
export interface View {
  x: number;
  y: number;
  zoom: number;
}

/** The canvas whose view is moved, and its animation clock. */
export interface Pane {
  size(): Size;
  view(): View;
  look(view: View): void;
  /** The view begins to move, or has come to rest. */
  moving(on: boolean): void;
  /** Calls back before the next picture is drawn, with the time in milliseconds. */
  frame(step: (now: number) => void): number;
  cancel(frame: number): void;
}

type Target = (size: Size, from: View) => View | null;

/** A part of the way from one view to another; every point of the canvas moves in a straight line. */
export function between(from: View, to: View, part: number): View {
  if (part >= 1) return to;
  const zoom = from.zoom * (to.zoom / from.zoom) ** part;
  const along = to.zoom === from.zoom ? part : (zoom - from.zoom) / (to.zoom - from.zoom);
  return { x: from.x + along * (to.x - from.x), y: from.y + along * (to.y - from.y), zoom };
}

/** The view after zooming by a factor about the middle of the pane. */
export function zoomed(view: View, factor: number, size: Size, least: number, most: number): View {
  const zoom = Math.max(least, Math.min(most, view.zoom * factor));
  const about = (middle: number, origin: number): number => middle - ((middle - origin) * zoom) / view.zoom;
  return { x: about(size.width / 2, view.x), y: about(size.height / 2, view.y), zoom };
}

/** The view moved as little as it takes to show a box, smaller only where the box is larger than the pane. */
export function intoView(box: Box, size: Size, view: View, margin: number): View | null {
  const fits = Math.min((size.width - 2 * margin) / box.width, (size.height - 2 * margin) / box.height);
  const zoom = Math.min(view.zoom, fits);
  const along = (origin: number, from: number, extent: number, room: number): number => {
    const start = from * zoom + origin;
    const end = start + extent * zoom;
    if (start < margin) return origin + margin - start;
    return end > room - margin ? origin + room - margin - end : origin;
  };
  // A smaller picture of the same middle first.
  const about = zoomed(view, zoom / view.zoom, size, 0, Infinity);
  const x = along(about.x, box.x, box.width, size.width);
  const y = along(about.y, box.y, box.height, size.height);
  return x === view.x && y === view.y && zoom === view.zoom ? null : { x, y, zoom };
}

const sane = ({ x, y, zoom }: View): boolean => [x, y, zoom].every(Number.isFinite) && zoom > 0;
const empty = ({ width, height }: Size): boolean => !(width > 0 && height > 0);

export class Motion {
  private step: number | null = null;
  private goal: View | null = null;
  /** The target that was requested while the pane had no size. */
  private waiting: Target | null = null;

  constructor(private pane: Pane) {}

  /** Moves to what `target` says; a pane without a size is there as soon as it has one. */
  to(target: Target, duration: number): void {
    const { pane } = this;
    const goal = this.goal;
    this.stop();
    const size = pane.size();
    if (empty(size)) {
      this.waiting = target;
      return;
    }
    const from = pane.view();
    // A second step begins where the first was going to end.
    const to = target(size, goal ?? from);
    if (!to || !sane(to)) return;
    if (duration <= 0 || !sane(from)) {
      pane.look(to);
      return;
    }
    this.goal = to;
    pane.moving(true);
    let began: number | null = null;
    const step = (now: number): void => {
      this.step = null;
      if (empty(pane.size())) {
        this.stop();
        this.waiting = target;
        return;
      }
      began ??= now;
      const part = Math.min(1, (now - began) / duration);
      pane.look(between(from, to, 1 - (1 - part) ** 3));
      if (part < 1) this.step = pane.frame(step);
      else this.stop();
    };
    this.step = pane.frame(step);
  }

  /** The pane's size has changed: makes a move that waited for a size. */
  resized(): void {
    if (this.waiting) this.to(this.waiting, 0);
  }

  /** The person takes over, or the canvas goes. */
  stop(): void {
    if (this.step !== null) this.pane.cancel(this.step);
    if (this.goal) this.pane.moving(false);
    this.step = null;
    this.goal = null;
    this.waiting = null;
  }
}
