import { describe, expect, it } from 'vitest';
import { blocksOf, spansOf } from './markdown';

describe('notes in Markdown', () => {
  it('have headings, paragraphs, lists and code', () => {
    expect(
      blocksOf('# Crop\nfirst line\nsecond\n\n- one\n- two\n1. three\n```\na = **1**\n```\nend'),
    ).toEqual([
      { kind: 'heading', level: 1, spans: [{ kind: 'text', text: 'Crop' }] },
      {
        kind: 'paragraph',
        lines: [[{ kind: 'text', text: 'first line' }], [{ kind: 'text', text: 'second' }]],
      },
      {
        kind: 'list',
        ordered: false,
        items: [[{ kind: 'text', text: 'one' }], [{ kind: 'text', text: 'two' }]],
      },
      { kind: 'list', ordered: true, items: [[{ kind: 'text', text: 'three' }]] },
      { kind: 'code', text: 'a = **1**' },
      { kind: 'paragraph', lines: [[{ kind: 'text', text: 'end' }]] },
    ]);
  });

  it('have emphasis within a line, and leave names of arguments alone', () => {
    expect(
      spansOf('use **size** and `max_size`, *not* resize_x_y or [the page](https://example.org)'),
    ).toEqual([
      { kind: 'text', text: 'use ' },
      { kind: 'strong', text: 'size' },
      { kind: 'text', text: ' and ' },
      { kind: 'code', text: 'max_size' },
      { kind: 'text', text: ', ' },
      { kind: 'emphasis', text: 'not' },
      { kind: 'text', text: ' resize_x_y or ' },
      { kind: 'text', text: 'the page' },
    ]);
    expect(spansOf('2 * 3 * 4 <b>')).toEqual([{ kind: 'text', text: '2 * 3 * 4 <b>' }]);
  });

  it('end with a fence that is not closed', () => {
    expect(blocksOf('```\nopen')).toEqual([{ kind: 'code', text: 'open' }]);
  });
});
