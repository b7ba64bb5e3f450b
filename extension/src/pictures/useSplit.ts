/** A line between two pictures that lie over each other: dragged, or moved with the arrow keys. */
import { useState, type CSSProperties, type KeyboardEvent, type PointerEvent } from 'react';

/** Attributes of the element with the pictures; its style has the place of the line, `--split`. */
export function useSplit() {
  const [split, setSplit] = useState(50);
  const move = (to: number): void => setSplit(Math.min(100, Math.max(0, to)));
  const follow = (event: PointerEvent<HTMLElement>): void => {
    const box = event.currentTarget.getBoundingClientRect();
    move(((event.clientX - box.left) / box.width) * 100);
  };
  return {
    role: 'slider',
    tabIndex: 0,
    'aria-valuenow': Math.round(split),
    style: { '--split': `${split}%` } as CSSProperties,
    onPointerDown: (event: PointerEvent<HTMLElement>): void => {
      event.currentTarget.setPointerCapture(event.pointerId);
      follow(event);
    },
    onPointerMove: (event: PointerEvent<HTMLElement>): void => {
      if (event.buttons !== 0) follow(event);
    },
    onKeyDown: (event: KeyboardEvent): void => {
      if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
      event.preventDefault();
      event.stopPropagation();
      move(split + (event.key === 'ArrowLeft' ? -5 : 5));
    },
  };
}
