/** The Markdown of notes: headings, lists, code, emphasis. A text becomes blocks; nothing in it is markup of the page. */

export interface Span {
  kind: 'text' | 'strong' | 'emphasis' | 'code';
  text: string;
}

export type Block =
  | { kind: 'heading'; level: number; spans: Span[] }
  | { kind: 'paragraph'; lines: Span[][] }
  | { kind: 'list'; ordered: boolean; items: Span[][] }
  | { kind: 'code'; text: string };

const SPAN = /`([^`]+)`|\*\*([^*]+)\*\*|__([^_]+)__|\*([^*\s][^*]*)\*|\b_([^_]+)_\b|\[([^\]]+)\]\([^)\s]*\)/g;
const ITEM = /^\s*(?:[-*+]|(\d+)[.)])\s+(.*)$/;
const HEADING = /^(#{1,3})\s+(.*)$/;

/** A line with its emphasis; of a link its words. */
export function spansOf(line: string): Span[] {
  const spans: Span[] = [];
  let at = 0;
  const add = (kind: Span['kind'], text: string): void => {
    if (text !== '') spans.push({ kind, text });
  };
  for (const match of line.matchAll(SPAN)) {
    add('text', line.slice(at, match.index));
    at = match.index + match[0].length;
    const [, code, strong, also, emphasis, under, link] = match;
    if (code !== undefined) add('code', code);
    else if (strong !== undefined || also !== undefined) add('strong', strong ?? also ?? '');
    else if (emphasis !== undefined || under !== undefined) add('emphasis', emphasis ?? under ?? '');
    else add('text', link ?? '');
  }
  add('text', line.slice(at));
  return spans;
}

export function blocksOf(text: string): Block[] {
  const blocks: Block[] = [];
  const lines = text.split('\n');
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? '';
    if (line.trim() === '') {
      blocks.push({ kind: 'paragraph', lines: [] });
      continue;
    }
    if (line.startsWith('```')) {
      const end = lines.findIndex((each, index) => index > at && each.startsWith('```'));
      blocks.push({ kind: 'code', text: lines.slice(at + 1, end < 0 ? undefined : end).join('\n') });
      if (end < 0) break;
      at = end;
      continue;
    }
    const heading = HEADING.exec(line);
    const item = ITEM.exec(line);
    const last = blocks[blocks.length - 1];
    if (heading) {
      blocks.push({ kind: 'heading', level: (heading[1] ?? '#').length, spans: spansOf(heading[2] ?? '') });
    } else if (item) {
      const ordered = item[1] !== undefined;
      const spans = spansOf(item[2] ?? '');
      if (last?.kind === 'list' && last.ordered === ordered) last.items.push(spans);
      else blocks.push({ kind: 'list', ordered, items: [spans] });
    } else if (last?.kind === 'paragraph' && last.lines.length > 0) last.lines.push(spansOf(line));
    else blocks.push({ kind: 'paragraph', lines: [spansOf(line)] });
  }
  return blocks.filter((block) => block.kind !== 'paragraph' || block.lines.length > 0);
}
