/** Hit tests: the elements under a point or under a node, for gestures that end there. */
import type { DragEvent, MouseEvent as ReactMouseEvent } from 'react';
import type { Point } from '../core/edits';
import { linkByKey } from '../core/actions';
import type { GraphDocument, Link } from '../core/document';

/** The pointer of an event, in client coordinates. */
export function clientPoint(event: MouseEvent | TouchEvent | ReactMouseEvent | DragEvent): Point {
  if ('clientX' in event) return { x: event.clientX, y: event.clientY };
  const touch = event.changedTouches[0];
  return { x: touch?.clientX ?? 0, y: touch?.clientY ?? 0 };
}

function elementsAt(frame: HTMLElement | null, at: Point): Element[] {
  const root = frame?.getRootNode() as (Document | ShadowRoot) | undefined;
  return root?.elementsFromPoint(at.x, at.y) ?? [];
}

export function nodeAt(frame: HTMLElement | null, at: Point): string | null {
  for (const element of elementsAt(frame, at)) {
    const id = element.closest('[data-node-id]')?.getAttribute('data-node-id');
    if (id) return id;
  }
  return null;
}

export function linkAt(frame: HTMLElement | null, at: Point, document: GraphDocument): Link | undefined {
  for (const element of elementsAt(frame, at)) {
    const key = element.closest('.react-flow__edge')?.getAttribute('data-id');
    if (key) return linkByKey(document, key);
  }
  return undefined;
}
