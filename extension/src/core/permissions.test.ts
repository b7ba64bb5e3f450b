import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StubSession } from '../../testing/session';
import { Editor } from './editor';
import { listFiles, save } from './files';
import type { Permission, SessionError } from './protocol';

const folder: Permission = { what: 'folder', name: '/data' };
const outside: SessionError = { message: 'Outside.', code: 'outside', permission: folder };
const asked = (number: string): SessionError => ({
  message: 'Not allowed.',
  code: 'consent',
  consent: { number, text: '/data' },
});

let session: StubSession;
let editor: Editor;

const settled = async (): Promise<void> => {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
};
const question = () => editor.permissions.question.get();

beforeEach(async () => {
  session = new StubSession();
  editor = new Editor(session, { make: () => 'picture', release: () => undefined });
  await settled();
  session.refused.set('list_files', outside);
  session.refused.set('allow', asked('n1'));
});

afterEach(() => editor.dispose());

describe('a request that lacks a permission', () => {
  it('asks the session and the person, and is sent again with no number of its own', async () => {
    const listing = listFiles(editor, '/data');
    await settled();
    expect(question()).toMatchObject({ permission: folder, consent: { number: 'n1', text: '/data' } });
    expect(session.last('allow')).toEqual({ permission: folder });
    session.refused.clear();
    question()?.answer(true);
    await listing;
    expect(session.last('allow')).toEqual({ permission: folder, consent: 'n1' });
    expect(question()).toBeNull();
  });

  it('fails where the person says no', async () => {
    const listing = listFiles(editor, '/data');
    await settled();
    question()?.answer(false);
    await expect(listing).rejects.toThrow('Outside.');
    expect(session.last('allow')).not.toHaveProperty('consent');
    expect(question()).toBeNull();
  });

  it('is asked about once, with others that lack the same', async () => {
    session.refused.set('save', outside);
    const both = Promise.allSettled([listFiles(editor, '/data'), save(editor, '/data/a')]);
    await settled();
    session.refused.clear();
    question()?.answer(true);
    await both;
    expect(session.requests.filter(({ method }) => method === 'allow')).toHaveLength(2);
  });

  it('is asked about anew where the number was not taken', async () => {
    const listing = listFiles(editor, '/data');
    await settled();
    session.refused.set('allow', asked('n2'));
    question()?.answer(true);
    await settled();
    expect(question()).toMatchObject({ consent: { number: 'n2' }, problem: 'Not allowed.' });
    editor.permissions.dismiss();
    await expect(listing).rejects.toThrow('Outside.');
  });
});
