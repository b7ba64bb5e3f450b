import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { photographs, three } from '../../testing/graphs';
import { StubSession } from '../../testing/session';
import * as edits from './edits';
import { Editor } from './editor';
import { begin, outdated } from './jobs';
import { nextProblem } from './navigation';
import type { Request } from './protocol';

const released: string[] = [];
let made = 0;
const pictures = {
  make: () => `picture:${++made}`,
  release: (url: string) => {
    released.push(url);
  },
};

let session: StubSession;
let editor: Editor;

beforeEach(async () => {
  vi.useFakeTimers();
  released.length = 0;
  session = new StubSession();
  editor = new Editor(session, pictures);
  await vi.advanceTimersByTimeAsync(20);
});

afterEach(() => {
  editor.dispose();
  vi.useRealTimers();
});

const setAngle = (angle: number, gesture?: string): void => {
  editor.edit('angle', (document) => edits.setArgument(document, 'rotate', 'angle', angle), gesture);
};
const done = (): void =>
  session.event('preview.done', { run: session.last('preview')['run'], status: 'done', total_ms: 1 });

describe('editing with a session', () => {
  it('starts with the document and the catalogue, and asks for a preview', () => {
    expect(editor.session.get().ready).toBe(true);
    expect(Object.keys(editor.document.get().nodes)).toContain('rotate');
  });

  it('sends an edit, and asks for its preview, before the page draws it', async () => {
    done();
    const order: string[] = [];
    const drawn = vi.fn(() => order.push(...session.requests.slice(before).map(({ method }) => method)));
    editor.history.state.subscribe(() => queueMicrotask(drawn));
    await vi.advanceTimersByTimeAsync(50);
    const before = session.requests.length;
    setAngle(20);
    expect(session.requests).toHaveLength(before);
    await Promise.resolve();
    expect(drawn).toHaveBeenCalledOnce();
    expect(order).toEqual(['edit', 'preview']);
  });

  it('selects what the host selects, as far as it is there', () => {
    session.event('selected', { nodes: ['rotate', 'gone'] });
    expect([...editor.selection.get().nodes]).toEqual(['rotate']);
  });

  it('begins anew where the session breaks before the catalogue has come', async () => {
    session = new StubSession();
    session.held.add('catalogue');
    editor.dispose();
    editor = new Editor(session, pictures);
    await vi.advanceTimersByTimeAsync(20);
    expect(session.count('catalogue')).toBe(1);
    session.pull(false);
    session.held.clear();
    session.id = 'two';
    session.pull(true);
    await vi.advanceTimersByTimeAsync(20);
    expect(editor.session.get().ready).toBe(true);
    expect(session.count('restore')).toBe(0);
    expect(Object.keys(editor.document.get().nodes)).toContain('rotate');
  });

  it('asks for the operators once more, however many were registered meanwhile', async () => {
    const before = session.count('catalogue');
    for (let each = 0; each < 200; each++) session.event('catalogue', {});
    await vi.advanceTimersByTimeAsync(50);
    expect(session.count('catalogue') - before).toBe(2);
    session.event('catalogue', {});
    await vi.advanceTimersByTimeAsync(50);
    expect(session.count('catalogue') - before).toBe(3);
  });

  it('sends few edits while a gesture goes on, and the last of them', async () => {
    for (let angle = 1; angle <= 50; angle++) {
      setAngle(angle, 'drag');
      await vi.advanceTimersByTimeAsync(4);
    }
    await vi.advanceTimersByTimeAsync(50);
    expect(session.document.nodes['rotate']?.arguments?.['angle']).toBe(50);
    expect(session.count('edit')).toBeLessThan(15);
    expect(editor.sync.pending.get()).toBe(false);
    expect(editor.history.state.get().steps).toHaveLength(1);
  });

  it('keeps edits while the session is away, and sends them when it is back', async () => {
    session.pull(false);
    setAngle(7);
    await vi.advanceTimersByTimeAsync(100);
    expect(session.document.nodes['rotate']?.arguments?.['angle']).toBeUndefined();
    session.document = edits.setArgument(session.document, 'resize', 'size', [9, 9]);
    session.pull(true);
    await vi.advanceTimersByTimeAsync(100);
    expect(session.document.nodes['rotate']?.arguments?.['angle']).toBe(7);
    expect(editor.document.get().nodes['resize']?.arguments?.['size']).toEqual([9, 9]);
    expect(editor.history.state.get().steps).toHaveLength(1);
  });

  it('sends edits again that were on their way when the session broke', async () => {
    session.held.add('edit');
    setAngle(8);
    await vi.advanceTimersByTimeAsync(50);
    session.pull(false);
    session.held.clear();
    session.pull(true);
    await vi.advanceTimersByTimeAsync(50);
    expect(session.document.nodes['rotate']?.arguments?.['angle']).toBe(8);
    expect(editor.sync.pending.get()).toBe(false);
  });

  it('sends places that nobody gave with an edit or for a file only', async () => {
    const { document } = editor.history;
    editor.history.reset({ ...document, view: { ...document.view, nodes: { rotate: { x: 7, y: 7 } } } });
    editor.sync.flush();
    expect(session.count('edit')).toBe(0);
    editor.sync.flush('all');
    await vi.advanceTimersByTimeAsync(50);
    expect(session.document.view.nodes['rotate']).toEqual({ x: 7, y: 7 });
    expect(editor.session.get().dirty).toBe(false);
  });

  it('gives its document to a new session', async () => {
    setAngle(9);
    await vi.advanceTimersByTimeAsync(50);
    session.pull(false);
    session.id = 'two';
    session.document = three();
    session.pull(true);
    await vi.advanceTimersByTimeAsync(50);
    expect(session.document.nodes['rotate']?.arguments?.['angle']).toBe(9);
    expect(editor.history.state.get().steps).toHaveLength(1);
  });

  it('takes what another tab changed, but not over what it has not sent', async () => {
    session.held.add('edit');
    setAngle(3);
    await vi.advanceTimersByTimeAsync(50);
    const rotate = session.document.nodes['rotate'];
    session.event('changed', {
      client: 'other',
      revision: 5,
      changes: {
        nodes: { rotate: { ...rotate, arguments: { angle: 99 } }, flip: { op: 'flip', inputs: ['rotate'] } },
      },
    });
    expect(editor.document.get().nodes['rotate']?.arguments?.['angle']).toBe(3);
    expect(editor.document.get().nodes['flip']?.inputs).toEqual(['rotate']);
    editor.history.undo();
    expect(editor.document.get().nodes['flip']).toBeDefined();
  });

  it('takes what other people wrote in a shared file: the session gets it, and undo leaves it', async () => {
    setAngle(20);
    const before = editor.history.state.get();
    editor.takeShared(edits.setArgument(editor.history.document, 'rotate', 'fill_value', 7));
    expect(editor.history.state.get()).toEqual(before);
    await vi.advanceTimersByTimeAsync(50);
    expect(session.document.nodes['rotate']?.arguments).toMatchObject({ angle: 20, fill_value: 7 });
    editor.history.undo();
    expect(editor.history.document.nodes['rotate']?.arguments).toMatchObject({ fill_value: 7 });
    expect(editor.history.document.nodes['rotate']?.arguments?.['angle']).not.toBe(20);
  });

  it('leaves out what it hears about edits of the document before', async () => {
    session.held.add('edit');
    setAngle(3);
    await vi.advanceTimersByTimeAsync(50);
    const late = session.requests.at(-1) as Request;
    session.event('document', {
      document: photographs(),
      revision: 9,
      title: 'other',
      file: null,
      dirty: false,
    });
    session['respond'](late);
    await vi.advanceTimersByTimeAsync(50);
    expect(editor.sync.pending.get()).toBe(false);
    expect(Object.keys(editor.sync.unsent())).toEqual(['view']); // the places of the opening
    expect(editor.document.get().nodes).toEqual(photographs().nodes);
  });

  it('keeps what two tabs changed in one node, argument by argument', async () => {
    setAngle(3);
    await vi.advanceTimersByTimeAsync(50);
    expect(session.last('edit')['changes']).toMatchObject({
      patches: { rotate: { arguments: { set: { angle: 3 } } } },
    });
    session.held.add('edit');
    setAngle(4);
    await vi.advanceTimersByTimeAsync(50);
    const theirs = { patches: { rotate: { arguments: { set: { fill_value: 9, angle: 1 } } } } };
    session.event('changed', { client: 'other', revision: 5, changes: theirs });
    expect(editor.document.get().nodes['rotate']?.arguments).toMatchObject({ angle: 4, fill_value: 9 });
    // Undo takes back our own argument alone.
    editor.history.undo();
    expect(editor.document.get().nodes['rotate']?.arguments).toMatchObject({ angle: 3, fill_value: 9 });
  });

  it('keeps what two tabs changed in the settings of the pipeline', async () => {
    session.held.add('edit');
    editor.edit('seed', (document) => edits.setPipeline(document, 'seed', 99));
    await vi.advanceTimersByTimeAsync(50);
    const theirs = { pipeline: { set: { batch_size: 3 } } };
    session.event('changed', { client: 'other', revision: 5, changes: theirs });
    expect(editor.document.get().pipeline).toMatchObject({ batch_size: 3, seed: 99 });
    editor.history.undo();
    expect(editor.document.get().pipeline).toMatchObject({ batch_size: 3, seed: 42 });
  });

  it('sends no previews for what changes no result', async () => {
    done();
    const before = session.count('preview');
    editor.edit('move', (document) => edits.moveNodes(document, { rotate: { x: 5, y: 5 } }));
    await vi.advanceTimersByTimeAsync(100);
    expect(session.count('edit')).toBe(1);
    expect(session.count('preview')).toBe(before);
  });
});

describe('previews', () => {
  it('has one at work, and then the latest', async () => {
    for (const angle of [1, 2, 3, 4]) {
      setAngle(angle);
      await vi.advanceTimersByTimeAsync(40);
    }
    expect(session.count('preview')).toBe(1);
    done();
    await vi.advanceTimersByTimeAsync(10);
    expect(session.count('preview')).toBe(2);
    done();
    await vi.advanceTimersByTimeAsync(50);
    expect(session.count('preview')).toBe(2);
  });

  it('cancels one that takes long when it is out of date', async () => {
    await vi.advanceTimersByTimeAsync(2000);
    setAngle(1);
    await vi.advanceTimersByTimeAsync(50);
    expect(session.last('cancel')).toEqual({ run: session.last('preview')['run'] });
  });

  it('takes pictures, replaces them in place and releases the old ones', async () => {
    const node = (time: number): void =>
      session.event(
        'preview.node',
        {
          run: session.last('preview')['run'],
          node: 'rotate',
          time_ms: time,
          outputs: [
            {
              kind: 'image',
              dtype: 'UINT8',
              layout: 'HWC',
              shapes: [[2, 2, 3]],
              batch: 8,
              images: [{ buffer: 0, mime: 'image/png', width: 2, height: 2 }],
            },
          ],
        },
        [new ArrayBuffer(4)],
      );
    let told = 0;
    editor.previews.subscribe('rotate', () => told++);
    node(1);
    const first = editor.previews.result('rotate')?.outputs[0]?.images[0]?.url;
    expect(first).toMatch(/^picture/);
    expect(editor.known({ node: 'rotate', output: 0 })).toEqual({
      kind: 'image',
      layout: 'HWC',
      dtype: 'UINT8',
      dimensions: 3,
    });
    done();
    setAngle(1);
    await vi.advanceTimersByTimeAsync(50);
    node(2);
    expect(released).toEqual([first]);
    expect(told).toBe(2);
  });

  it('keeps the last pictures beside an error, and knows nothing from them', () => {
    const run = session.last('preview')['run'];
    const outputs = [
      {
        kind: 'image',
        dtype: 'UINT8',
        layout: 'HWC',
        shapes: [[2, 2, 3]],
        batch: 8,
        images: [{ buffer: 0, mime: 'image/png', width: 2, height: 2 }],
      },
    ];
    session.event('preview.node', { run, node: 'rotate', time_ms: 1, outputs }, [new ArrayBuffer(4)]);
    session.event('preview.node', {
      run,
      node: 'rotate',
      time_ms: null,
      outputs: [],
      error: { message: 'angle is not a number', argument: 'angle' },
    });
    expect(editor.previews.result('rotate')).toMatchObject({ stale: true, error: { argument: 'angle' } });
    expect(editor.previews.result('rotate')?.outputs[0]?.images[0]).not.toBeNull();
    expect(editor.known({ node: 'rotate', output: 0 })).toBeUndefined();
    expect(released).toEqual([]);
  });

  describe('of other samples', () => {
    const picture = { buffer: 0, mime: 'image/png', width: 2, height: 2 };
    const give = (node: string, file: string): void => {
      const run = session.last('preview')['run'];
      const facts = { kind: 'image', dtype: 'UINT8', layout: 'HWC', shapes: [[2, 2, 3]], batch: 8 };
      const outputs = [{ ...facts, images: [picture], files: [file], labels: [null] }];
      session.event('preview.node', { run, node, time_ms: 1, outputs }, [new ArrayBuffer(4)]);
    };
    const focus = (node: string): void => {
      const run = session.last('preview')['run'];
      session.event('preview.focus', { run, node, output: 0, images: [picture] }, [new ArrayBuffer(4)]);
    };

    beforeEach(() => {
      for (const node of ['reader', 'decode', 'rotate']) give(node, 'cat.jpg');
      focus('reader');
      focus('decode');
      done();
      editor.previews.ask();
    });

    it('shows no large picture of the ones before, and greys the nodes that still have those', () => {
      give('reader', 'dog.jpg');
      expect(editor.previews.focus('reader', 0)).toBeUndefined();
      expect(editor.previews.result('reader')?.stale).toBe(false);
      // Pictures and names of this one still belong together.
      expect(editor.previews.focus('decode', 0)).toBeDefined();
      expect(editor.previews.result('decode')).toMatchObject({
        stale: true,
        outputs: [{ files: ['cat.jpg'] }],
      });
      const run = session.last('preview')['run'];
      session.event('preview.unchanged', { run, nodes: { rotate: 1 } });
      give('decode', 'dog.jpg');
      expect(editor.previews.focus('decode', 0)).toBeUndefined();
      for (const node of ['decode', 'rotate']) expect(editor.previews.result(node)?.stale).toBe(false);
    });

    it('keeps the large pictures of the same samples until others come', () => {
      give('decode', 'cat.jpg');
      expect(editor.previews.focus('decode', 0)).toBeDefined();
      expect(editor.previews.result('rotate')?.stale).toBe(false);
    });

    it('greys what a preview that was stopped did not reach', () => {
      give('reader', 'cat.jpg');
      session.event('preview.done', {
        run: session.last('preview')['run'],
        status: 'cancelled',
        total_ms: 1,
      });
      expect(['reader', 'decode'].map((node) => editor.previews.result(node)?.stale)).toEqual([false, true]);
    });
  });

  it('tells work about another graph from work about this one', async () => {
    await begin(editor, 'check', { state: { done: 0, total: 0, rate: 0, left: 0 }, failed: '' });
    const run = editor.jobs.get().check?.run;
    expect(outdated(editor, run)).toBe(false);
    setAngle(7);
    expect(outdated(editor, run)).toBe(true);
    editor.history.undo();
    expect(outdated(editor, run)).toBe(false);
    editor.edit('move', (document) => edits.moveNodes(document, { rotate: { x: 5, y: 5 } }));
    expect(outdated(editor, run)).toBe(false);
  });

  it('ignores events of other runs and drops nodes that are gone', () => {
    const run = session.last('preview')['run'] as number;
    session.event('preview.node', { run: run + 1, node: 'decode', time_ms: 1, outputs: [] });
    expect(editor.previews.result('decode')).toBeUndefined();
    session.event('preview.node', { run, node: 'decode', time_ms: 1, outputs: [] });
    done();
    expect(editor.previews.result('decode')).toBeDefined();
    editor.previews.ask();
    done();
    expect(editor.previews.result('decode')).toBeUndefined();
  });

  it('keeps what a run said until another document comes', () => {
    const gpu_time_ms = 0.5;
    const nodes = { rotate: { time_ms: 0.1, images_per_second: 80, gpu_time_ms } };
    editor.jobs.patch({ run: { run: 5, done: 0, total: 1, rate: null, began: 0 } });
    session.event('run.done', { run: 5, status: 'done', batches: 1, samples: 8, nodes });
    expect(editor.jobs.get().run).toBeNull();
    expect(editor.jobs.get().lastRun?.nodes['rotate']).toMatchObject({ gpu_time_ms });
    editor.jobs.patch({ run: { run: 6, done: 0, total: 1, rate: null, began: 0 } });
    session.event('document', {
      document: session.document,
      revision: 9,
      title: 't',
      file: null,
      dirty: false,
    });
    expect(editor.jobs.get()).toMatchObject({ lastRun: null, run: null });
    expect(session.last('cancel')).toEqual({ run: 6 });
  });

  it('goes from problem to problem, and says one that is at no node', () => {
    nextProblem(editor);
    expect(editor.notices.get().at(-1)?.message).toBe('There are no problems.');
    const at = (node: string | null, severity: string): object => ({ message: 'wrong', node, severity });
    session.event('problems', { problems: [at(null, 'error')] });
    nextProblem(editor);
    expect(editor.notices.get().at(-1)?.message).toBe('wrong');
    session.event('problems', {
      problems: [at('rotate', 'warning'), at('decode', 'info'), at('resize', 'error'), at('rotate', 'error')],
    });
    const visited = [1, 2, 3].map(() => {
      nextProblem(editor);
      return editor.focusNode;
    });
    expect(visited).toEqual(['rotate', 'resize', 'rotate']);
  });

  it('says when the session does not answer, and asks it now and then', async () => {
    done();
    await vi.advanceTimersByTimeAsync(9000);
    expect(session.count('ping')).toBeGreaterThan(0);
    expect(editor.connection.state.get().silent).toBe(false);
    session.held.add('ping');
    await vi.advanceTimersByTimeAsync(30000);
    expect(editor.connection.state.get().silent).toBe(true);
  });
});
