/** The other people who have this document open. */
import type { Point } from './edits';

/** Where a person is in the document, as the others are told. */
export interface Whereabouts {
  /** The pointer in canvas coordinates, while it is over the canvas. */
  pointer: Point | null;
  /** The nodes that are selected. */
  nodes: readonly string[];
}

export interface Person extends Whereabouts {
  id: number;
  name: string;
  color: string;
}
