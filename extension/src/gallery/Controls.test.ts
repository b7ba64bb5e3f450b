import { describe, expect, test } from 'vitest';
import { asValue, spread } from './Controls';
import type { Control } from '../core/protocol.generated';

const control: Control = {
  node: 'crop',
  name: 'crop',
  op: 'crop',
  label: 'crop',
  kind: 'number',
  value: [64, 64],
  minimum: 32,
  maximum: 96,
  unit: null,
  doc: '',
  integer: true,
  length: 2,
};

describe('controls', () => {
  test('set all parts of a list, and keep whole numbers whole', () => {
    expect(asValue(control, 40.4)).toEqual([40, 40]);
    expect(asValue({ ...control, length: null, integer: false }, 0.1 + 0.2)).toBe(0.3);
    expect(spread(control, 3)).toEqual([
      [32, 32],
      [64, 64],
      [96, 96],
    ]);
  });
});
