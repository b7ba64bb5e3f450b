import { describe, expect, inject, it } from 'vitest';
import { Catalogue, excludedArguments, outputsOf, type Operator } from './catalogue';

const reader: Operator = {
  name: 'readers.coco',
  family: 'readers',
  title: 'COCO reader',
  summary: '',
  devices: ['cpu'],
  inputs: [],
  outputs: [
    { name: 'images', kind: 'encoded' },
    { name: 'polygons', kind: 'tensor', when: ['polygon_masks', 'masks'] },
    { name: 'masks', kind: 'mask', when: ['pixelwise_masks'] },
    { name: 'ids', kind: 'tensor', when: ['image_ids'] },
  ],
  arguments: [
    { name: 'polygon_masks', type: 'bool', default: false },
    { name: 'image_ids', type: 'bool', default: true },
  ],
};

describe('outputsOf', () => {
  const names = (given: Record<string, unknown>): string[] =>
    outputsOf(reader, { arguments: given }).map(({ name }) => name);

  it('leaves out what the arguments do not ask for', () => {
    expect(names({})).toEqual(['images', 'ids']);
    expect(names({ pixelwise_masks: true })).toEqual(['images', 'masks', 'ids']);
    expect(names({ masks: true, image_ids: false })).toEqual(['images', 'polygons']);
  });

  it('repeats one for each name in a list', () => {
    const archive = { ...reader, outputs: [{ name: 'component', kind: 'any' as const, each: 'ext' }] };
    const called = (ext: unknown): string[] =>
      outputsOf(archive, { arguments: { ext } }).map(({ name }) => name);
    expect(called(['jpg;png', 'cls'])).toEqual(['jpg;png', 'cls']);
    expect(called(null)).toEqual(['component']);
  });

  it('has nothing to say of operators that are not known', () => {
    expect(outputsOf(undefined, undefined)).toEqual([]);
  });
});

describe('excludedArguments', () => {
  const resize = new Catalogue(inject('catalogue')).operator('resize');
  const names = (node: Parameters<typeof excludedArguments>[1]): string[] => [
    ...excludedArguments(resize, node),
  ];

  it('are the other ways to say what a set or connected argument says', () => {
    expect(names({})).toEqual([]);
    expect(names({ arguments: { size: [64, 64] } })).toContain('resize_x');
    expect(names({ connections: { resize_x: 'draw' } })).toContain('size');
    expect(names({ connections: { resize_x: 'draw' } })).not.toContain('resize_y');
  });
});
