/** Moves the focus to the canvas when the focused element is removed. */
import { useEffect, useLayoutEffect, useRef, type RefObject } from 'react';
import { useEditor, useValue } from './context';

/** `nodes` are the drawn nodes: when they change, the focused element may be gone. */
export function useKeptFocus(frame: RefObject<HTMLDivElement | null>, nodes: readonly unknown[]): void {
  const document = useValue(useEditor().document);
  // A node that had the focus may be gone; the keys then go on working on the canvas.
  const engaged = useRef(false);
  useEffect(() => {
    const onPress = (event: Event): void => {
      const editorElement = frame.current?.closest('.editor');
      engaged.current = editorElement != null && event.composedPath().includes(editorElement);
    };
    window.addEventListener('pointerdown', onPress, true);
    return () => window.removeEventListener('pointerdown', onPress, true);
  }, [frame]);
  useLayoutEffect(() => {
    // The focus leaves before its element does, so that no key is lost in between.
    const root = frame.current?.getRootNode() as ShadowRoot | undefined;
    const held = root?.activeElement?.closest<HTMLElement>('.react-flow__node-operator')?.dataset['id'];
    if (held !== undefined && !document.nodes[held]) frame.current?.focus({ preventScroll: true });
  }, [document, frame]);
  useEffect(() => {
    // React Flow takes the element away a moment later.
    const timer = setTimeout(() => {
      const root = frame.current?.getRootNode() as ShadowRoot | undefined;
      const nowhere =
        root?.activeElement === null && globalThis.document.activeElement === globalThis.document.body;
      if (engaged.current && nowhere) frame.current?.focus({ preventScroll: true });
    }, 40);
    return () => clearTimeout(timer);
  }, [nodes, frame]);
}
