import { describe, expect, it } from 'vitest';
import { hideScripts, type NotebookModel } from './savedWidgets';

const STATE = 'application/vnd.jupyter.widget-state+json';
const slider = {
  model_module: '@jupyter-widgets/controls',
  model_name: 'IntSliderModel',
  state: { value: 3 },
};
const saved = {
  [STATE]: {
    version_major: 2,
    state: {
      slider,
      script: { model_module: 'anywidget', state: { _esm: 'alert(1)' } },
      style: { model_module: 'anywidget', state: { _css: '@import "http://evil.example"' } },
      renamed: { model_module: 'other', state: { _esm: 'alert(1)' } },
      empty: { model_module: 'anywidget' },
    },
  },
};

function notebook(cells: [string, boolean?][], metadata: unknown = saved): NotebookModel {
  const model: NotebookModel = {
    cells: cells.map(([type, trusted]) => ({ type, ...(trusted === undefined ? {} : { trusted }) })),
    getMetadata: (key) => (key === 'widgets' ? metadata : key),
  };
  hideScripts(model);
  return model;
}

describe('saved widgets with scripts', () => {
  it.each([
    [
      'cells that are not trusted',
      [
        ['code', true],
        ['code', false],
      ],
    ],
    ['a cell of which nothing is known', [['code']]],
    ['no code', [['markdown', true]]],
    ['nothing', []],
  ] as [string, [string, boolean?][]][])('are hidden in a notebook with %s', (_, cells) => {
    const model = notebook(cells);
    expect(model.getMetadata('widgets')).toEqual({ [STATE]: { version_major: 2, state: { slider } } });
    expect(model.getMetadata('kernelspec')).toBe('kernelspec');
  });

  it('come back where the person trusts the notebook', () => {
    expect(notebook([['code', true], ['markdown']]).getMetadata('widgets')).toBe(saved);
  });

  it('may be anything', () => {
    for (const strange of [
      undefined,
      null,
      3,
      'text',
      {},
      { [STATE]: null },
      { [STATE]: { state: { a: null } } },
    ])
      expect(() => notebook([['code', false]], strange).getMetadata('widgets')).not.toThrow();
  });
});
