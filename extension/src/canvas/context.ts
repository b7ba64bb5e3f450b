/** The components' access to the editor: one context, and hooks that follow its observables. */
import {
  createContext,
  useCallback,
  useContext,
  useEffect,
  useMemo,
  useState,
  useSyncExternalStore,
} from 'react';
import type { Editor, Panels } from '../core/editor';
import { shownPanels } from '../core/folding';
import { hintOf } from '../core/keys';
import type { Observable } from '../core/observable';
import type { NodeResult } from '../core/previews';
import type { GraphNode, NodeView } from '../core/document';
import type { Operator } from '../core/catalogue';

export const EditorContext = createContext<Editor | null>(null);

export function useEditor(): Editor {
  const editor = useContext(EditorContext);
  if (!editor) throw new Error('EditorContext is missing');
  return editor;
}

/** The value of an observable, or a selector's result; a selector must return the same object for the same value. */
export function useValue<T>(observable: Observable<T>): T;
export function useValue<T, S>(observable: Observable<T>, select: (value: T) => S): S;
export function useValue<T, S>(observable: Observable<T>, select?: (value: T) => S): T | S {
  return useSyncExternalStore(observable.subscribe, () =>
    select ? select(observable.get()) : observable.get(),
  );
}

const LASTING_MS = 400;

/** True once the value has been true for a moment: what is over sooner would only flicker. */
export function useLasting(value: boolean): boolean {
  const [lasts, setLasts] = useState(false);
  useEffect(() => {
    if (!value) return undefined;
    const timer = setTimeout(() => setLasts(true), LASTING_MS);
    return () => {
      clearTimeout(timer);
      setLasts(false);
    };
  }, [value]);
  return value && lasts;
}

/** The panels that are shown: chosen ones that there is room for. */
export function usePanels(): Panels {
  const editor = useEditor();
  const chosen = useValue(editor.panels);
  const folded = useValue(editor.view, ({ folded }) => folded);
  return useMemo(() => shownPanels(chosen, folded), [chosen, folded]);
}

/** The keys of a command as people read them; undefined where it has none. */
export function useHint(command: string): string | undefined {
  const editor = useEditor();
  return useSyncExternalStore(editor.view.subscribe, () => hintOf(editor, command));
}

export function useResult(node: string): NodeResult | undefined {
  const { previews } = useEditor();
  const subscribe = useCallback(
    (listener: () => void) => previews.subscribe(node, listener),
    [previews, node],
  );
  return useSyncExternalStore(subscribe, () => previews.result(node));
}

export type NodeState = 'ok' | 'error' | 'stale' | 'skipped' | 'off' | 'empty';

/** The state of a node in one word: it changes far less often than the result. */
export function useNodeState(node: string): NodeState {
  const editor = useEditor();
  const subscribe = useCallback(
    (listener: () => void) => {
      const stops = [editor.previews.subscribe(node, listener), editor.problems.subscribe(listener)];
      return () => {
        for (const stop of stops) stop();
      };
    },
    [editor, node],
  );
  return useSyncExternalStore(subscribe, () => {
    const result = editor.previews.result(node);
    if (result?.error) return 'error';
    if (editor.problems.get().some((each) => each.node === node && each.severity === 'error')) return 'error';
    if (result?.skipped) return result.skipped.off ? 'off' : 'skipped';
    if (result?.stale) return 'stale';
    return result && result.outputs.length > 0 ? 'ok' : 'empty';
  });
}

export function useNode(id: string): GraphNode | undefined {
  return useValue(useEditor().document, (document) => document.nodes[id]);
}

export function useNodeView(id: string): NodeView | undefined {
  return useValue(useEditor().document, (document) => document.view.nodes[id]);
}

export function useOperator(op: string | undefined): Operator | undefined {
  return useValue(useEditor().catalogue, (catalogue) => catalogue?.operator(op));
}
