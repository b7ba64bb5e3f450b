/** Keys go on working when the element that had the focus is removed. */
import { useEffect, useLayoutEffect, type RefObject } from 'react';
import { graphName } from '../core/flowNames';
import { useEditor, useValue } from './context';

/** Where keys belong that have lost their element: the dialog or the gallery in front, or else the canvas. */
const FRONT = '[role="dialog"], .gallery';

export function useKeptFocus(frame: RefObject<HTMLDivElement | null>): void {
  const document = useValue(useEditor().document);
  useLayoutEffect(() => {
    // The focus leaves before its node does: nobody sees it on the page's body.
    const root = frame.current?.getRootNode() as ShadowRoot | undefined;
    const held = root?.activeElement?.closest<HTMLElement>('.react-flow__node-operator')?.dataset['id'];
    if (held !== undefined && !document.nodes[graphName(held)]) frame.current?.focus({ preventScroll: true });
  }, [document, frame]);
  useEffect(() => {
    let engaged = false;
    const editorElement = (): Element | null | undefined => frame.current?.closest('.editor');
    const onEngage = (event: Event): void => {
      const editor = editorElement();
      engaged = editor != null && event.composedPath().includes(editor);
    };
    // A browser sends keys to the body once the focused element has gone: they are taken from there.
    const onKey = (event: KeyboardEvent): void => {
      const { body } = globalThis.document;
      // An editor that is the whole page needs no press to begin with; Tab goes to its first button.
      if (!engaged && (event.key === 'Tab' || !isPage(editorElement()))) return;
      if (event.target !== body || globalThis.document.activeElement !== body) return;
      const fronts = editorElement()?.querySelectorAll<HTMLElement>(FRONT);
      const front = fronts?.[fronts.length - 1] ?? frame.current;
      front?.focus({ preventScroll: true });
      const again = new KeyboardEvent(event.type, { ...readKey(event), bubbles: true, cancelable: true });
      front?.dispatchEvent(again);
      if (!again.defaultPrevented) return;
      event.preventDefault();
      event.stopImmediatePropagation();
    };
    window.addEventListener('pointerdown', onEngage, true);
    window.addEventListener('focusin', onEngage, true);
    window.addEventListener('keydown', onKey, true);
    return () => {
      window.removeEventListener('pointerdown', onEngage, true);
      window.removeEventListener('focusin', onEngage, true);
      window.removeEventListener('keydown', onKey, true);
    };
  }, [frame]);
}

/** Whether an editor fills its window. */
function isPage(editor: Element | null | undefined): boolean {
  const box = editor?.getBoundingClientRect();
  return box !== undefined && box.width >= window.innerWidth && box.height >= window.innerHeight;
}

function readKey(event: KeyboardEvent): KeyboardEventInit {
  const { key, code, location, repeat, ctrlKey, shiftKey, altKey, metaKey } = event;
  return { key, code, location, repeat, ctrlKey, shiftKey, altKey, metaKey };
}
