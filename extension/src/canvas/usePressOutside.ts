/** Calls back when something else than an element and what is in it is pressed. */
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
