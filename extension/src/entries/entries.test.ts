import { describe, expect, test } from 'vitest';
import { emptyDocument, type GraphDocument } from '../core/document';
import { byFamily, shown, tagsOf } from './filtering';
import { insertFragment } from './fragment';
import type { EntryLine, GalleryList } from '../core/protocol.generated';

const line = (name: string, family: string, tags: string[], operators: string[]): EntryLine => ({
  name,
  title: `Title of ${name}`,
  family,
  helps: '',
  hurts: '',
  tags,
  operators,
  own: false,
  folder: '',
  views: 1,
  pictures: true,
  annotated: false,
});

const list: GalleryList = {
  families: [
    { name: 'colour', title: 'Colour' },
    { name: 'geometry', title: 'Geometry' },
  ],
  entries: [
    line('turn', 'geometry', ['random', 'angle'], ['random.uniform', 'rotate']),
    line('hue', 'colour', ['random'], ['hue']),
    line('flip', 'geometry', [], ['flip']),
  ],
  broken: [],
};
const everything = { text: '', family: null, tag: null };
const names = (entries: readonly EntryLine[]): string[] => entries.map(({ name }) => name);

describe('the wall', () => {
  test('shows what has the family, the tag and every word', () => {
    expect(names(shown(list, everything))).toEqual(['turn', 'hue', 'flip']);
    expect(names(shown(list, { ...everything, family: 'geometry', tag: 'random' }))).toEqual(['turn']);
    expect(names(shown(list, { ...everything, text: 'rotate uniform' }))).toEqual(['turn']);
    expect(names(shown(list, { ...everything, text: 'geometry' }))).toEqual(['turn', 'flip']);
    expect(shown(list, { ...everything, text: 'none of it' })).toEqual([]);
  });

  test('groups by family in the order of families, and counts tags', () => {
    expect(byFamily(list.entries, list.families).map(({ family }) => family.name)).toEqual([
      'colour',
      'geometry',
    ]);
    expect(tagsOf(list.entries)).toEqual([
      ['random', 2],
      ['angle', 1],
    ]);
  });
});

describe('inserting', () => {
  const graph = (nodes: GraphDocument['nodes'], outputs: string[]): GraphDocument => ({
    ...emptyDocument(),
    nodes,
    outputs,
  });
  const mine = graph(
    {
      decode: { op: 'decoders.image' },
      angle: { op: 'random.uniform' },
      resize: { op: 'resize', inputs: ['decode'] },
    },
    ['resize', 'decode'],
  );
  const source = graph(
    {
      reader: { op: 'readers.file' },
      photo: { op: 'resize', inputs: ['reader'] },
      angle: { op: 'random.uniform' },
      rotate: { op: 'rotate', inputs: ['photo'], connections: { angle: 'angle' } },
    },
    ['rotate'],
  );

  test('puts the augmentation between a picture and what takes it, under free names', () => {
    const ids = ['angle', 'rotate'];
    const { document } = insertFragment(mine, source, ids, 'photo', 'decode', 'rotate', { x: 8, y: 16 });
    expect(Object.keys(document.nodes)).toEqual(['decode', 'angle', 'resize', 'angle_2', 'rotate']);
    expect(document.nodes['rotate']).toMatchObject({ inputs: ['decode'], connections: { angle: 'angle_2' } });
    expect(document.nodes['resize']?.inputs).toEqual(['rotate']);
    expect(document.outputs).toEqual(['resize', 'rotate']);
    expect(mine.nodes['resize']?.inputs).toEqual(['decode']);
  });

  test('stands alone where there is nothing to take a picture from', () => {
    const { nodes, outputs, pipeline, format, version } = source;
    const bare = { nodes, outputs, pipeline, format, version };
    const { document } = insertFragment(
      emptyDocument(),
      bare as GraphDocument,
      ['angle', 'rotate'],
      'photo',
      null,
      'rotate',
      { x: 0, y: 0 },
    );
    expect(document.nodes['rotate']?.inputs ?? []).toEqual([]);
    expect(document.nodes['rotate']?.connections).toEqual({ angle: 'angle' });
  });
});
