/** The graph as the text of a file, and back, with a sentence about a text that holds no graph. */
import type { GraphDocument } from './editor';

const FORMAT = 'dali-lab/graph';
const VERSION = 1;
const WIDTH = 110;

export type Read = { document: GraphDocument } | { problem: string };

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export function emptyGraph(): GraphDocument {
  return {
    format: FORMAT,
    version: VERSION,
    pipeline: { batch_size: 8, num_threads: 2, device_id: null, seed: 42, prefetch_queue_depth: 2 },
    nodes: {},
    outputs: [],
    view: { nodes: {}, notes: [], groups: [] },
  };
}

/** Reads a file's text; an empty one is a new graph. */
export function readGraph(text: string): Read {
  if (text.trim() === '') return { document: emptyGraph() };
  let data: unknown;
  try {
    data = JSON.parse(text);
  } catch (error) {
    return { problem: `This text is not JSON: ${(error as Error).message}` };
  }
  if (!isObject(data)) return { problem: 'This file holds no graph: it should be a JSON object.' };
  const { format, version, nodes, view, pipeline, outputs } = data;
  if (format !== undefined && format !== FORMAT)
    return { problem: `This file says that it is ${JSON.stringify(format)}, not "${FORMAT}".` };
  if (typeof version === 'number' && version > VERSION) {
    const needed = `This file was written by a newer version of DALI Lab (format ${version}; this one reads ${VERSION}).`;
    return { problem: `${needed} Nothing was changed; update dali-lab to open it.` };
  }
  if (!isObject(nodes)) return { problem: 'This file holds no graph: it has no "nodes".' };
  const wrong = Object.entries(nodes).find(([, node]) => !isObject(node) || typeof node['op'] !== 'string');
  if (wrong) return { problem: `The node "${wrong[0]}" names no operator.` };
  if ((view !== undefined && !isObject(view)) || (pipeline !== undefined && !isObject(pipeline)))
    return { problem: '"pipeline" and "view" should be objects.' };
  const empty = emptyGraph();
  return {
    document: {
      ...data,
      format: FORMAT,
      version: VERSION,
      pipeline: pipeline ?? empty.pipeline,
      nodes,
      outputs: Array.isArray(outputs) ? (outputs as string[]) : [],
      view: { ...empty.view, ...view },
    } as GraphDocument,
  };
}

/** JSON on one line, spaced as the Python side writes it. */
function compact(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(compact).join(', ')}]`;
  if (!isObject(value)) return JSON.stringify(value ?? null);
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}: ${compact(item)}`).join(', ')}}`;
}

function pretty(value: unknown, indent: number, used: number, opened?: readonly string[]): string {
  const isList = Array.isArray(value);
  if ((!isList && !isObject(value)) || Object.keys(value).length === 0) return compact(value);
  if (!opened) {
    const line = compact(value);
    if (used + line.length <= WIDTH) return line;
  }
  const inner = ' '.repeat(indent + 2);
  const outer = ' '.repeat(indent);
  if (isList) {
    const parts = value.map((item) => inner + pretty(item, indent + 2, inner.length + 1));
    return `[\n${parts.join(',\n')}\n${outer}]`;
  }
  const parts = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .map(([key, item]) => {
      const label = `${inner}${JSON.stringify(key)}: `;
      return label + pretty(item, indent + 2, label.length + 1, opened?.includes(key) ? [] : undefined);
    });
  return `{\n${parts.join(',\n')}\n${outer}}`;
}

/** The text of a file: what fits on a line stands on one, so that a change of an argument changes one line. */
export function writeGraph(document: GraphDocument): string {
  return `${pretty(document, 0, 0, ['nodes', 'view'])}\n`;
}
