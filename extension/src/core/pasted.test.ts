import { describe, expect, it } from 'vitest';
import { holdsGraph, sourceOf } from './pasted';

const PROGRAM = `from nvidia.dali import fn, pipeline_def

@pipeline_def(batch_size=4)
def pipe():
    return fn.readers.file(file_root="x")`;

describe('the program in a text that was pasted', () => {
  it('is the text itself where it is one', () => {
    const graph = '{"format": "dali-lab/graph",\n "view": "```\\nno\\n```"}';
    expect([sourceOf(PROGRAM), sourceOf(graph)]).toEqual([PROGRAM, graph]);
    expect([PROGRAM, graph, 'pipe = Pipeline(8)', 'a shopping list'].map(holdsGraph)).toEqual([
      true,
      true,
      true,
      false,
    ]);
  });

  it('is taken out of Markdown, indents, prompts and cells of notebooks', () => {
    const indented = PROGRAM.replace(/^(?=.)/gm, '    ');
    const prompted = PROGRAM.split('\n')
      .map((line, index) => `${index < 3 ? '>>>' : '...'} ${line}`)
      .join('\n');
    for (const written of [
      `Install it:\n\n\`\`\`bash\npip install x\n\`\`\`\n\nThen:\n\`\`\`python\n${PROGRAM}\n\`\`\`\nDone.`,
      indented,
      `${prompted}\n<Pipeline>`,
      PROGRAM.replace(/\n/g, '\r\n'),
      `\ufeff${PROGRAM}`,
    ])
      expect(sourceOf(written)).toBe(PROGRAM);
    expect(sourceOf(`!pip install x\n%matplotlib inline\n${PROGRAM}`)).toBe(
      `# !pip install x\n# %matplotlib inline\n${PROGRAM}`,
    );
  });
});
