/** Calls back on a press outside an element. */
import { useEffect, type RefObject } from 'react';

export function usePressOutside(element: RefObject<HTMLElement>, onPress: () => void): void {
  useEffect(() => {
    const listener = (event: Event): void => {
      if (!event.composedPath().includes(element.current as EventTarget)) onPress();
    };
    window.addEventListener('pointerdown', listener, true);
    return () => window.removeEventListener('pointerdown', listener, true);
  }, [element, onPress]);
}
