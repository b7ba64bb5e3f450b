import { expect, it } from 'vitest';
import { History, type HistoryState } from './history';
import { Moments } from './moments';
import { Observable } from './observable';
import type { Editor } from './editor';
import { emptyDocument } from './document';
import { moveNodes } from './edits';

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

it('keeps the picture of the opened document when that is laid out, and all moments over a reload', () => {
  const open = () => {
    const history = new History(emptyDocument());
    const previews = { status: new Observable({ running: false }) };
    const moments = new Moments({ history, previews } as unknown as Editor);
    moments.watch();
    return { history, moments };
  };
  const { history, moments } = open();
  history.reset({ ...emptyDocument(), nodes: { a: { op: 'resize' } } });
  const first = moments.of(undefined);
  history.reset(moveNodes(history.document, { a: { x: 40, y: 80 } }));
  expect(moments.of(undefined)).toBe(first);
  history.edit('one', (document) => ({ ...document, nodes: { ...document.nodes, b: { op: 'crop' } } }));
  const [step] = history.state.get().steps;
  const moment = moments.of(step);
  if (!first || !moment) throw new Error('a step has no moment');
  [first.at, moment.at] = [1000, 2000];
  const again = open();
  again.history.reset(history.document);
  again.history.state.set(JSON.parse(JSON.stringify(history.state.get())) as HistoryState);
  again.moments.resume(moments.kept());
  expect([undefined, ...again.history.state.get().steps].map((each) => again.moments.of(each)?.at)).toEqual([
    1000, 2000,
  ]);
  again.history.reset({ ...emptyDocument(), nodes: { c: { op: 'flip' } } });
  expect(again.moments.of(undefined)?.at).toBeGreaterThan(2000);
});
