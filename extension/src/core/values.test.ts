import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Value } from './document';
import {
  cutMiddle,
  evaluate,
  fit,
  formatNumber,
  formatShape,
  formatTime,
  formatValue,
  halves,
  isOn,
  specialText,
  tidy,
  describeBatch,
  describeType,
} from './values';

describe('evaluate', () => {
  it('reckons as people write', () => {
    expect(evaluate('0.485*255')).toBeCloseTo(123.675);
    expect(evaluate('2**8 - 1')).toBe(255);
    expect(evaluate('-2**2')).toBe(-4);
    expect(evaluate('2**3**2')).toBe(512);
    expect(evaluate('(1 + 2) * 3 % 4')).toBe(1);
    expect(evaluate('1e-3')).toBe(0.001);
    expect(evaluate('.5')).toBe(0.5);
    expect(evaluate('pi / 2')).toBeCloseTo(Math.PI / 2);
    expect(evaluate('sqrt(2)')).toBeCloseTo(Math.SQRT2);
    expect(evaluate('-inf')).toBe(-Infinity);
  });

  it('takes nothing else', () => {
    for (const text of ['', 'abc', '1 +', '(1', '1 2', 'alert(1)', '1;2', '--', 'constructor', 'x=1']) {
      expect(evaluate(text)).toBeNull();
    }
  });

  it('agrees with the numbers it is given', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(evaluate(String(value)) === value).toBe(true);
      }),
    );
  });
});

describe('formats', () => {
  it('shows no more digits than tell something', () => {
    expect(formatNumber(0.1 + 0.2)).toBe('0.3');
    expect(formatNumber(255)).toBe('255');
    expect(formatNumber(1.23456e-7)).toBe('1.23e-7');
    expect(formatNumber(-Infinity)).toBe('-inf');
    expect(formatTime(0.0123)).toBe('12 µs');
    expect(formatTime(12.3)).toBe('12 ms');
    expect(formatTime(1234)).toBe('1.2 s');
  });

  it('shows shapes with ranges where samples differ', () => {
    expect(formatShape([[224, 224, 3]], 8)).toBe('8 × 224×224×3');
    expect(
      formatShape(
        [
          [100, 80, 3],
          [120, 80, 3],
        ],
        8,
      ),
    ).toBe('8 × 100–120×80×3');
    expect(formatShape([[]], 8)).toBe('8 × scalar');
  });

  it('cuts names in the middle', () => {
    expect(cutMiddle('brightness_contrast', 11)).toBe('brigh…trast');
    expect(cutMiddle('short', 11)).toBe('short');
  });
});

describe('values that JSON has no word for', () => {
  it('are shown as text', () => {
    const shown: [object, string][] = [
      [{ $float: 'nan' }, 'nan'],
      [{ $enum: 'DALIDataType.FLOAT' }, 'FLOAT'],
      [{ $array: { dtype: 'FLOAT', shape: [3, 4], data: [] } }, 'float32[3×4]'],
      [{ $number: { dtype: 'INT64', value: 7 } }, 'int64 7'],
      [{ $bytes: 'aGVsbG8=' }, '5 bytes'],
      [{ $dict: [['a', 1]] }, 'dict of 1'],
      [{ $python: 'module:name' }, 'module:name'],
      [{ $python: null, text: '<lambda>' }, '<lambda>'],
    ];
    for (const [value, text] of shown) expect(formatValue(value as Value)).toBe(text);
    expect(specialText({ a: 1 })).toBeNull();
  });
});

describe('numbers of an argument', () => {
  it('stay in range and whole where that is asked', () => {
    expect(fit(300, { name: 'x', type: 'int', maximum: 255 })).toBe(255);
    expect(fit(3.6, { name: 'x', type: 'int' })).toBe(4);
    expect(fit(-1, { name: 'x', type: 'float', minimum: 0 })).toBe(0);
    expect(tidy(0.30000000000000004, 0.01)).toBe(0.3);
  });
});

describe('describeType', () => {
  it('leaves axes without a name open', () => {
    expect(describeType({ dtype: 'float32', layout: 'F**' })).toBe('float32 F…');
    expect(describeType({ dtype: 'float32', layout: '**' })).toBe('float32');
    expect(describeType({ dtype: 'uint8', layout: 'HWC' })).toBe('uint8 HWC');
  });
});

describe('describeBatch', () => {
  const pictures = { kind: 'image', layout: 'HWC', batch: 8 } as const;
  it('says how many, of what and how large', () => {
    expect(
      describeBatch({
        ...pictures,
        shapes: [
          [300, 451, 3],
          [512, 384, 3],
        ],
      }),
    ).toBe('8 pictures, 384–451 × 300–512');
    expect(describeBatch({ ...pictures, layout: 'CHW', batch: 1, shapes: [[3, 24, 32]] })).toBe(
      '1 picture, 32 × 24',
    );
    expect(describeBatch({ ...pictures, layout: 'FHWC', batch: 2, shapes: [[16, 24, 32, 3]] })).toBe(
      '2 clips of 16 frames, 32 × 24',
    );
    expect(describeBatch({ ...pictures, layout: 'CFHW', batch: 2, shapes: [[3, 16, 24, 32]] })).toBe(
      '2 clips of 16 frames, 32 × 24',
    );
    expect(describeBatch({ kind: 'encoded', layout: '', batch: 2, shapes: [[38702], [76407]] })).toBe(
      '2 files, 39 kB–76 kB',
    );
    expect(describeBatch({ kind: 'tensor', layout: '', batch: 8, shapes: [[]] })).toBe('8 numbers');
    expect(describeBatch({ kind: 'tensor', layout: '', batch: 8, shapes: [[4, 2]] })).toBe('8 × 4×2');
  });

  it('leaves out what failed, and says so', () => {
    const lost = { ...pictures, batch: 2, shapes: [[300, 451, 3], []], lost: [null, 'damaged'] };
    expect(describeBatch(lost)).toBe('1 picture, 451 × 300 (1 failed)');
    expect(describeBatch({ ...lost, shapes: [[], []], lost: ['a', 'b'] })).toBe('0 samples (2 failed)');
  });
});

describe('a name in two parts', () => {
  it('is divided between words, near its middle', () => {
    expect(['brightness_contrast', 'crop_mirror_normalize', 'flip_0_13', 'reader', '_'].map(halves)).toEqual([
      ['brightness_', 'contrast'],
      ['crop_mirror_', 'normalize'],
      ['flip_', '0_13'],
      ['reader', ''],
      ['_', ''],
    ]);
  });
});

describe('isOn', () => {
  it('takes the numbers of arguments like horizontal=1', () => {
    expect([true, 1, 2].map(isOn)).toEqual([true, true, true]);
    expect([false, 0, null, undefined, 'true'].map(isOn)).toEqual([false, false, false, false, false]);
  });
});
