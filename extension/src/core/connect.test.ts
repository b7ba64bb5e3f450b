import { describe, expect, inject, it } from 'vitest';
import { photographs, trouble } from '../../testing/graphs';
import { Catalogue } from './catalogue';
import {
  canConnect,
  kindOf,
  layoutOf,
  operatorsBefore,
  operatorsFor,
  targetsOn,
  type Facts,
  type KnownOutput,
} from './connect';
import * as edits from './edits';
import type { OutputRef } from './document';

const data = inject('catalogue');
const catalogue = new Catalogue(data);

function facts(document = photographs(), known: Record<string, KnownOutput> = {}): Facts {
  return { document, catalogue, known: (source: OutputRef) => known[`${source.node}:${source.output}`] };
}

const out = (node: string, output = 0): OutputRef => ({ node, output });

describe('canConnect', () => {
  it('takes what fits', () => {
    expect(canConnect(facts(), out('decode'), { node: 'rotate', input: 0 })).toEqual({ ok: true });
    expect(canConnect(facts(), out('random_angle'), { node: 'rotate', argument: 'angle' })).toEqual({
      ok: true,
    });
  });

  it('refuses a loop and says which', () => {
    const verdict = canConnect(facts(), out('rotate'), { node: 'decode', input: 0 });
    expect(verdict).toMatchObject({
      ok: false,
      reason: 'That would make a loop: decode already feeds rotate.',
    });
    expect(canConnect(facts(), out('rotate'), { node: 'rotate', input: 0 })).toMatchObject({ ok: false });
  });

  it('says what to put between', () => {
    const verdict = canConnect(facts(), out('reader'), { node: 'resize', input: 0 });
    expect(verdict).toMatchObject({
      ok: false,
      reason: 'reader gives encoded files; resize takes images. Put decoders.image between them.',
    });
    expect(verdict.ok ? [] : verdict.remedies[0]).toMatchObject({ kind: 'insert', op: 'decoders.image' });
  });

  it('refuses another layout and offers a transpose with the right order', () => {
    let document = photographs();
    document = edits.addNode(document, { op: 'hsv' }, { x: 0, y: 0 }).document;
    const known = { 'normalize:0': { kind: 'image' as const, layout: 'CHW', dtype: 'FLOAT', dimensions: 3 } };
    const verdict = canConnect(facts(document, known), out('normalize'), { node: 'hsv', input: 0 });
    expect(verdict).toMatchObject({
      ok: false,
      reason:
        'normalize gives CHW float32; hsv takes HWC or DHWC. Put hsv before normalize, or add transpose.',
    });
    expect(verdict.ok ? [] : verdict.remedies).toEqual([
      { kind: 'insert', title: 'Add transpose', op: 'transpose', arguments: { perm: [1, 2, 0] } },
    ]);
  });

  it('knows the layout without a preview, from the argument', () => {
    expect(layoutOf(facts(), out('normalize'))).toBe('CHW');
    const changed = edits.setArgument(photographs(), 'normalize', 'output_layout', 'HWC');
    expect(layoutOf(facts(changed), out('normalize'))).toBe('HWC');
  });

  it('refuses labels for an image by their dimensions', () => {
    const verdict = canConnect(
      facts(photographs(), { 'reader:1': { dimensions: 1, layout: '', dtype: 'INT32' } }),
      out('reader', 1),
      {
        node: 'resize',
        input: 0,
      },
    );
    expect(verdict).toMatchObject({
      ok: false,
      reason: 'labels of reader gives 1 dimension; resize takes images or video.',
    });
  });

  it('refuses an argument that is one value for the run, and names those that are not', () => {
    const verdict = canConnect(facts(), out('random_angle'), { node: 'rotate', argument: 'keep_size' });
    expect(verdict).toMatchObject({ ok: false });
    expect(verdict.ok ? '' : verdict.reason).toContain('These can be connected: angle');
  });

  it('refuses pictures for a number', () => {
    const verdict = canConnect(facts(), out('decode'), { node: 'rotate', argument: 'angle' });
    expect(verdict.ok ? '' : verdict.reason).toContain('gives images; angle takes one number per sample');
  });

  it('moves a node to the GPU after its input, and refuses where it has no kernel there', () => {
    const gpu = edits.setDevice(photographs(), ['decode'], 'mixed');
    expect(canConnect(facts(gpu), out('decode'), { node: 'rotate', input: 0 })).toEqual({
      ok: true,
      device: 'gpu',
    });
    const only: Facts = {
      ...facts(gpu),
      catalogue: new Catalogue({
        ...data,
        operators: data.operators.map((each) =>
          each.name === 'rotate' ? { ...each, devices: ['cpu'] } : each,
        ),
      }),
    };
    const verdict = canConnect(only, out('decode'), { node: 'rotate', input: 0 });
    expect(verdict.ok ? '' : verdict.reason).toBe('decode is on the GPU; rotate runs on the CPU only.');
    expect(verdict.ok ? [] : verdict.remedies[0]).toMatchObject({
      kind: 'device',
      node: 'decode',
      device: 'cpu',
    });
  });

  it('refuses an argument from the GPU', () => {
    const document = edits.setDevice(photographs(), ['random_angle'], 'gpu');
    const verdict = canConnect(facts(document), out('random_angle'), { node: 'rotate', argument: 'angle' });
    expect(verdict.ok ? '' : verdict.reason).toContain('arguments are read on the CPU');
  });

  it('leaves operators that are not known here to the session', () => {
    const document = trouble();
    expect(canConnect(facts(document), out('resize'), { node: 'mine', input: 0 })).toEqual({ ok: true });
  });

  it('refuses a second input where there is one', () => {
    const verdict = canConnect(facts(), out('decode'), { node: 'rotate', input: 1 });
    expect(verdict.ok ? '' : verdict.reason).toBe('rotate takes 1 input.');
    const none = canConnect(facts(), out('random_angle'), { node: 'reader', input: 0 });
    expect(none.ok ? '' : none.reason).toBe('readers.file takes no input: it makes its own data.');
  });
});

describe('what fits', () => {
  it('offers no decoder after pictures, and decoders after files', () => {
    const after = operatorsFor(facts(), out('decode')).map(({ operator }) => operator.name);
    expect(after).toContain('rotate');
    expect(after).not.toContain('decoders.image');
    expect(operatorsFor(facts(), out('reader'))[0]?.operator.name).toMatch(/^decoders/);
  });

  it('offers random numbers first for an argument', () => {
    expect(operatorsBefore(facts(), { node: 'rotate', argument: 'angle' })[0]?.operator.random).toBe(true);
    const before = operatorsBefore(facts(), { node: 'decode', input: 0 }).map(
      ({ operator }) => operator.name,
    );
    expect(before).toContain('readers.file');
    expect(catalogue.operator(before[0])?.outputs[0]?.kind).toBe('encoded');
  });

  it('finds the place on a node: a free input first, then arguments', () => {
    const document = edits.addNode(photographs(), { op: 'rotate' }, { x: 0, y: 0 }).document;
    expect(targetsOn(facts(document), out('decode'), 'rotate_2')).toEqual([{ node: 'rotate_2', input: 0 }]);
    expect(targetsOn(facts(document), out('random_angle'), 'rotate_2')).toContainEqual({
      node: 'rotate_2',
      argument: 'angle',
    });
  });

  it('follows the kind through operators that take anything', () => {
    let document = edits.addNode(photographs(), { op: 'cast' }, { x: 0, y: 0 }).document;
    document = edits.connect(document, out('decode'), { node: 'cast', input: 0 });
    expect(kindOf(facts(document), out('cast'))).toBe('image');
  });
});

describe('search', () => {
  it('finds by name, family and description, best first', () => {
    const names = (query: string): string[] => catalogue.search(query).map(({ name }) => name);
    expect(names('rotate')[0]).toBe('rotate');
    expect(names('bright').slice(0, 2)).toEqual(['brightness', 'brightness_contrast']);
    expect(names('colour')).toEqual(expect.arrayContaining(['hsv', 'color_twist']));
    expect(names('gblur')).toContain('gaussian_blur');
    expect(names('image random crop')[0]).toBe('decoders.image_random_crop');
    expect(names('zzzz')).toEqual([]);
  });
});
