import { describe, expect, it } from 'vitest';
import { eachWithEditor } from '../../testing/editor';
import type { StubSession } from '../../testing/session';
import type { Editor } from './editor';
import { askToRun, open, plainly, trace } from './files';
import type { Program } from './state';

const program: Program = { request: { path: '/theirs.py' }, pipelines: [] };
const question = { number: 'n1', text: 'x = 1' };

let session: StubSession;
let editor: Editor;

eachWithEditor((made, stub) => {
  editor = made;
  session = stub;
});

describe('running a program', () => {
  it('asks the session first, and sends no consent of its own', async () => {
    session.refused.set('trace', { message: 'Not run.', code: 'consent', consent: question });
    expect(await askToRun(editor, program)).toEqual(question);
    expect(session.last('trace')).toMatchObject({ path: '/theirs.py' });
    expect(session.last('trace')).not.toHaveProperty('consent');
  });

  it('says why a program cannot be asked for', async () => {
    session.refused.set('trace', { message: 'There is no file.', code: 'not_found' });
    expect(await askToRun(editor, program)).toMatchObject({ message: 'There is no file.' });
  });

  it('sends the number that the person agreed to', async () => {
    const run = trace(editor, program, 'training', { times: '2', empty: ' ' }, question.number);
    expect(await run.done).toBeNull();
    expect(session.last('trace')).toMatchObject({
      consent: 'n1',
      pipeline: 'training',
      arguments: { times: 2 },
    });
  });

  it('shows a program with nothing hidden in it', () => {
    expect(plainly('\tx = 1  # note\ryes\r\nno\n')).toBe('\tx = 1  # note\nyes\nno\n');
    expect(plainly('a\u3164 = b\ufe0f')).toBe('a\\u{3164} = b\\u{fe0f}');
    expect(plainly('a\u202eb\u200b\u0000\u{e0041}é')).toBe('a\\u{202e}b\\u{200b}\\u{0}\\u{e0041}é');
  });
});

describe('opening', () => {
  it('is told of until the graph is there, or the reason why it is not', async () => {
    const told = (): boolean => editor.view.get().fetching;
    for (const refused of [false, true]) {
      if (refused) session.refused.set('open', { message: 'There is no file.', code: 'not_found' });
      const opening = open(editor, { sample: 'photographs' });
      expect(told()).toBe(false);
      await Promise.resolve();
      expect(told()).toBe(true);
      await opening;
      expect(told()).toBe(false);
    }
  });
});
