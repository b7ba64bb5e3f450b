/** Two editors beside each other: they show the same samples and nodes, and where their graphs differ. */
import { same } from './changes';
import { definitionName } from './definitions';
import { switchOf, type GraphDocument } from './document';
import type { Editor } from './editor';
import type { Value } from './observable';

/** Nodes that one of two graphs does not have, or has otherwise. */
export function differing(left: GraphDocument, right: GraphDocument): ReadonlySet<string> {
  const names = Object.keys({ ...left.nodes, ...right.nodes });
  const meaning = ({ nodes, subgraphs, view }: GraphDocument, id: string): unknown => [
    nodes[id],
    subgraphs?.[definitionName(nodes[id]?.op) ?? ''],
    switchOf(view.nodes[id]),
  ];
  return new Set(names.filter((id) => !same(meaning(left, id), meaning(right, id))));
}

/** Keeps two values equal, from now on: that of the first holds. */
function follow<T>(first: Value<T>, second: Value<T>): (() => void)[] {
  second.set(first.get());
  return [first.subscribe((value) => second.set(value)), second.subscribe((value) => first.set(value))];
}

/** Links two editors until the function that it returns is called. */
export function besideEachOther(first: Editor, second: Editor): () => void {
  const compare = (): void => {
    const found = differing(first.history.document, second.history.document);
    // The second document has not arrived yet.
    const known = second.session.get().id === null ? new Set<string>() : found;
    for (const editor of [first, second]) editor.differing.set(known);
  };
  const select = (from: Editor, to: Editor) => (): void => {
    const { nodes } = from.selection.get();
    const there = [...nodes].filter((id) => to.history.document.nodes[id]);
    if (there.length > 0 && !same([...to.selection.get().nodes], there)) to.select(there);
  };
  const stops = [
    ...follow(first.batch.part('samples'), second.batch.part('samples')),
    ...follow(first.batch.part('iteration'), second.batch.part('iteration')),
    ...follow(first.batch.part('pins'), second.batch.part('pins')),
    ...follow(first.view.part('theme'), second.view.part('theme')),
    first.selection.subscribe(select(first, second)),
    second.selection.subscribe(select(second, first)),
    first.document.subscribe(compare),
    second.document.subscribe(compare),
    second.session.watch('id', compare),
  ];
  compare();
  return () => {
    for (const stop of stops) stop();
    for (const editor of [first, second]) editor.differing.set(null);
  };
}
