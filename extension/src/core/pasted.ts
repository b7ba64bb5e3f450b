/** Code as people copy it: out of a page with Markdown, out of a Python prompt, indented, with commands of notebooks. */

const FENCE = /^[ \t]*(```|~~~)[^\n]*\n([\s\S]*?)\n[ \t]*\1[ \t]*$/gm;
const GRAPH = /"dali-lab\/graph"|pipeline_def|\bPipeline\(|define_graph/;
const PROMPT = /^\s*(>>>|\.\.\.)( |$)/;

/** Whether a text looks like a graph, or like a program with a pipeline. */
export function holdsGraph(text: string): boolean {
  return GRAPH.test(text);
}

/** The graph or the program in a text that was pasted. */
export function sourceOf(text: string): string {
  const plain = text.replace(/^\ufeff/, '').replace(/\r\n?/g, '\n');
  const blocks = [...plain.matchAll(FENCE)].map((match) => match[2] ?? '');
  const block = blocks.find(holdsGraph) ?? blocks[0] ?? plain;
  if (block.trimStart().startsWith('{')) return block;
  let lines = block.split('\n');
  // Printed output is no part of the program.
  if (PROMPT.test(lines.find((line) => line.trim() !== '') ?? ''))
    lines = lines.filter((line) => PROMPT.test(line)).map((line) => line.replace(PROMPT, ''));
  const indents = lines.filter((line) => line.trim() !== '').map((line) => /^[ \t]*/.exec(line)?.[0] ?? '');
  const least = indents.reduce((a, b) => (b.length < a.length ? b : a), indents[0] ?? '');
  if (indents.every((indent) => indent.startsWith(least)))
    lines = lines.map((line) => line.slice(least.length));
  return lines.map((line) => line.replace(/^([%!])(?=[%\w])/, '# $1')).join('\n');
}
