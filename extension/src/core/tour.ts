/** A tour of the editor: a few gestures, done by the person or shown in the graph at hand. Each can be undone. */
import { addOperator } from './actions';
import { bounds, outputsOf, type ArgumentDeclaration } from './catalogue';
import { links, lineage, parseEdge, type GraphDocument, type Link } from './document';
import type { Editor } from './editor';
import * as edits from './edits';
import { msg, t } from './language';
import { makeRandom } from './random';
import { asNumber } from './values';

/** State of the tour: its step, and the document at the step's beginning. */
export interface TourState {
  step: number;
  document: GraphDocument;
  iteration: number;
  done: number;
}

interface Step {
  id: string;
  title: string;
  text: string;
  /** Whether the person did it. */
  reached: (editor: Editor, since: TourState) => boolean;
  /** Does it. */
  show: (editor: Editor) => void;
  /** The node that it is about: selected as the step begins, as far away only the inspector has its numbers. */
  about?: (editor: Editor) => string | undefined;
}

interface Slider {
  node: string;
  argument: ArgumentDeclaration;
}

/** The node of the pipeline's output, whatever is selected. */
function lastNode(editor: Editor): string | null {
  const { outputs, nodes } = editor.history.document;
  return outputs.map((each) => parseEdge(each).node).find((node) => nodes[node]) ?? editor.trayNode;
}

/** A number with a range on the way to the pipeline's output. */
function slider(editor: Editor, free = false): Slider | null {
  const { document } = editor.history;
  const last = lastNode(editor);
  const way = last === null ? Object.keys(document.nodes) : lineage(document, last).reverse();
  for (const node of way) {
    const entry = document.nodes[node];
    const found = editor.catalogue
      .get()
      ?.operator(entry?.op)
      ?.arguments.find(
        (each) =>
          each.type === 'float' &&
          !each.list &&
          bounds(each).soft !== null &&
          (!free || each.tensor === true) &&
          entry?.arguments?.[each.name] !== undefined &&
          entry.connections?.[each.name] === undefined,
      );
    if (found) return { node, argument: found };
  }
  return null;
}

/** The link through which pictures come to the pipeline's output. */
function lastLink(editor: Editor): Link | null {
  const { document } = editor.history;
  const last = lastNode(editor);
  const way = last === null ? [] : lineage(document, last).reverse();
  const all = links(document).filter(({ target }) => 'input' in target && target.input === 0);
  for (const node of way) {
    const link = all.find(({ source, target }) => {
      const entry = document.nodes[source.node];
      const output = outputsOf(editor.catalogue.get()?.operator(entry?.op), entry)[source.output];
      const shown = editor.previews.result(source.node)?.outputs[source.output]?.kind ?? output?.kind;
      return target.node === node && shown === 'image';
    });
    if (link) return link;
  }
  return null;
}

const argumentsOf = (document: GraphDocument): string =>
  JSON.stringify(Object.entries(document.nodes).map(([id, { arguments: given }]) => [id, given]));
const connectionsOf = (document: GraphDocument): number =>
  links(document).filter(({ target }) => 'argument' in target).length;

export const TOUR: readonly Step[] = [
  {
    id: 'slider',
    title: msg('Drag a number'),
    text: msg(
      'The pictures of all nodes behind it follow. Arrow keys step, a double click takes the default back.',
    ),
    reached: ({ history }, { document }) => argumentsOf(history.document) !== argumentsOf(document),
    about: (editor) => slider(editor)?.node,
    show: (editor) => {
      const found = slider(editor);
      if (!found) return;
      const { node, argument } = found;
      const [low, high] = bounds(argument).soft ?? [0, 1];
      const now = asNumber(editor.history.document.nodes[node]?.arguments?.[argument.name] ?? null) ?? low;
      const next = now > (low + high) / 2 ? low + (high - low) / 4 : low + (3 * (high - low)) / 4;
      editor.select([node]);
      editor.edit(t('%1 of %2', argument.name, node), (document) =>
        edits.setArgument(document, node, argument.name, Math.round(100 * next) / 100),
      );
    },
  },
  {
    id: 'insert',
    title: msg('Put a node on a wire'),
    text: msg('Type “blur” into the palette and drag Gaussian blur onto a blue wire: it goes between.'),
    reached: ({ history }, { document }) =>
      Object.keys(history.document.nodes).some((id) => !document.nodes[id]),
    show: (editor) => {
      const into = lastLink(editor);
      if (into) addOperator(editor, 'gaussian_blur', { into });
    },
  },
  {
    id: 'random',
    title: msg('Draw it at random'),
    text: msg('The dice beside a number puts a random node before it: each sample has its own value.'),
    reached: ({ history }, { document }) => connectionsOf(history.document) > connectionsOf(document),
    about: (editor) => slider(editor, true)?.node,
    show: (editor) => {
      const found = slider(editor, true);
      if (!found) return;
      editor.select([found.node]);
      makeRandom(editor, found.node, found.argument, 'uniform');
    },
  },
  {
    id: 'batch',
    title: msg('See more of the data'),
    text: msg('Next batch, beside the seed, goes on through the data; the tray below shows all of a batch.'),
    reached: ({ batch }, { iteration }) => batch.get().iteration !== iteration,
    show: ({ batch }) => batch.patch({ iteration: batch.get().iteration + 1 }),
  },
  {
    id: 'undo',
    title: msg('Take it back'),
    text: msg('Undo is always one gesture, also after the page was loaded again.'),
    reached: ({ history }, { done }) => history.state.get().done < done,
    show: ({ history }) => {
      history.undo();
    },
  },
  {
    id: 'export',
    title: msg('Take it along'),
    text: msg('Export shows the program that trains with just these pictures.'),
    reached: ({ prompts }) => prompts.get().dialog === 'export',
    show: ({ prompts }) => prompts.patch({ dialog: 'export' }),
  },
];

/** Begins a step of the tour; after the last one it ends. */
export function goTo(editor: Editor, step: number): void {
  editor.tour.set(
    step >= TOUR.length
      ? null
      : {
          step,
          document: editor.history.document,
          iteration: editor.batch.get().iteration,
          done: editor.history.state.get().done,
        },
  );
  const node = TOUR[step]?.about?.(editor);
  if (node !== undefined) editor.select([node]);
}
