import { describe, expect, it } from 'vitest';
import { distance, search, type Searchable } from './search';

const items: Searchable[] = [
  { names: ['color_twist'], terms: ['ColorJitter', 'Farben verändern'], summary: 'Hue and contrast.' },
  { names: ['gaussian_blur'], terms: ['Weichzeichner', 'flou', '模糊', 'ぼかし'] },
  { names: ['crop_mirror_normalize'], terms: ['ToTensor', 'to tensor'] },
  { names: ['tensor_resize'] },
  { names: ['experimental.remap', 'remap'], terms: ['elastic'], rest: ['border'] },
];
const found = (query: string): string[] =>
  search(query, items, (item) => item).map(({ names }) => names[0] ?? '');

describe('search', () => {
  it('finds names, parts of names and letters in order', () => {
    expect(found('blur')[0]).toBe('gaussian_blur');
    expect(found('tensor resize')[0]).toBe('tensor_resize');
    expect(found('gblur')).toEqual(['gaussian_blur']);
    expect(found('remap')[0]).toBe('experimental.remap');
  });

  it('finds other names however they are written', () => {
    for (const query of ['ColorJitter', 'color jitter', 'colorjitter', 'color_jitter', 'jitter']) {
      expect(found(query)[0]).toBe('color_twist');
    }
    expect(found('totensor')[0]).toBe('crop_mirror_normalize');
    expect(found('ELASTIC')).toEqual(['experimental.remap']);
  });

  it('finds words of other languages, with or without accents', () => {
    expect(found('weichzeichner')).toEqual(['gaussian_blur']);
    expect(found('verandern')).toEqual(['color_twist']);
    expect(found('模糊')).toEqual(['gaussian_blur']);
    expect(found('ぼか')).toEqual(['gaussian_blur']);
  });

  it('finds what some words of a wish name, where nothing answers to all of them', () => {
    expect(found('I want pictures with elastic borders')).toEqual(['experimental.remap']);
    expect(found('Bilder weichzeichner')).toEqual(['gaussian_blur']);
    expect(found('make it less blurry')).toEqual(['gaussian_blur']);
    expect(found('the pictures')).toEqual([]);
  });

  it('forgives slips of the keyboard where nothing else answers', () => {
    expect(found('gausian')).toEqual(['gaussian_blur']);
    expect(found('elsatic')).toEqual(['experimental.remap']);
    expect(found('wiechzeichnr')).toEqual(['gaussian_blur']);
    expect(found('xyz')).toEqual([]);
  });

  it('puts common items before others that answer as well, and slips before letters in order', () => {
    const blurs: Searchable[] = [
      { names: ['median_blur'], terms: ['blur'] },
      { names: ['audio', 'decoders.audio'] },
      { names: ['image', 'decoders.image'], common: true },
      { names: ['gaussian_blur'], terms: ['blur'], common: true },
      { names: ['preemphasis_filter'] },
      { names: ['resize'] },
    ];
    const first = (query: string) => search(query, blurs, (item) => item)[0]?.names[0];
    expect(first('blur')).toBe('gaussian_blur');
    expect(first('resise')).toBe('resize');
    expect(first('decode')).toBe('image');
  });

  it('finds words of descriptions at their beginnings', () => {
    const items: Searchable[] = [
      { names: ['noise'], summary: 'Adds the grain of film.', rest: ['training'] },
    ];
    expect(search('grain', items, (item) => item)).toHaveLength(1);
    expect(search('rain', items, (item) => item)).toHaveLength(0);
  });

  it('wants every word where it can, and gives all in their order for none', () => {
    expect(found('gaussian blur')).toEqual(['gaussian_blur']);
    expect(found('gaussian contrast')).toEqual(['gaussian_blur', 'color_twist']);
    expect(found('  ')).toHaveLength(items.length);
  });
});

describe('distance', () => {
  it('counts letters left out, put in, replaced and swapped', () => {
    expect(distance('blur', 'blr', 2)).toBe(1);
    expect(distance('blur', 'bulr', 2)).toBe(1);
    expect(distance('blur', 'clue', 2)).toBe(2);
    expect(distance('blur', 'crop', 2)).toBe(Infinity);
  });
});
