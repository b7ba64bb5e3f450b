import { expect, it } from 'vitest';
import { History } from './history';
import { Moments } from './moments';
import { Observable } from './observable';
import type { Editor } from './editor';
import { emptyDocument } from './document';

it('knows when each step was made, also after undo', () => {
  const history = new History(emptyDocument());
  const previews = { status: new Observable({ running: false }) };
  const moments = new Moments({ history, previews } as unknown as Editor);
  const end = moments.watch();
  const before = Date.now();
  history.edit('one', (document) => ({ ...document, nodes: { a: { op: 'resize' } } }));
  history.edit('two', (document) => ({ ...document, nodes: { ...document.nodes, b: { op: 'crop' } } }));
  const { steps } = history.state.get();
  const times = steps.map((step) => moments.of(step)?.at ?? 0);
  expect(times.every((at) => at >= before)).toBe(true);
  history.goTo(0);
  expect(history.state.get().steps.map((step) => moments.of(step)?.at)).toEqual(times);
  expect(moments.of(undefined)?.picture).toBeNull();
  end();
});
