/** Operators that come onto the canvas: from the palette, from a search, into a link. */
import { outputsOf } from '../catalogue';
import { canConnect, targetsOn, type Facts } from '../connect';
import type { Device, GraphDocument, Link, OutputRef, Target, Value } from '../document';
import type { Editor } from '../editor';
import * as edits from '../edits';
import type { Point } from '../edits';
import { t } from '../language';
import { NODE_SIZE, placeOf, type Size } from '../layout';
import { makeRoom } from '../room';

export interface AddOptions {
  /** The upper left corner; without it, beside what is selected. */
  at?: Point;
  from?: OutputRef;
  to?: Target;
  /** A link that the node goes into. */
  into?: Link;
  name?: string;
  arguments?: Record<string, Value>;
  device?: Device;
  keepSelection?: boolean;
}

/** Default place of a new node: right of the node that it continues, else in the middle of the view. */
function defaultPlace(editor: Editor, options: AddOptions): Point {
  const document = editor.history.document;
  const beside = options.from?.node ?? editor.focusNode;
  if (options.to) {
    const place = placeOf(document, options.to.node);
    return { x: place.x - NODE_SIZE.width - 44, y: place.y + 48 };
  }
  if (beside !== null) {
    const place = placeOf(document, beside);
    const size = editor.sizeOf(beside);
    return { x: place.x + size.width + 44, y: place.y };
  }
  const centre = editor.canvas?.centre() ?? { x: 0, y: 0 };
  return { x: centre.x - NODE_SIZE.width / 2, y: centre.y - 80 };
}

export function addOperator(editor: Editor, name: string, options: AddOptions = {}): string | null {
  const facts = editor.facts;
  const operator = facts?.catalogue.operator(name);
  if (!facts || !operator) return null;
  const place = options.at ?? defaultPlace(editor, options);
  let added = '';
  const done = editor.edit(t('Add %1', name), (document) => {
    const source = options.into?.source ?? options.from;
    const gpu =
      source !== undefined && ['gpu', 'mixed'].includes(document.nodes[source.node]?.device ?? 'cpu');
    const natural: Device = operator.devices.includes('cpu') ? 'cpu' : (operator.devices[0] ?? 'cpu');
    const device: Device = options.device ?? (gpu && operator.devices.includes('gpu') ? 'gpu' : natural);
    const result = edits.addNode(
      document,
      {
        op: name,
        device,
        arguments: { ...operator.start, ...options.arguments },
        ...(options.name === undefined ? {} : { name: options.name }),
      },
      place,
    );
    added = result.id;
    return linkNew(facts, result.document, result.id, options, editor.sizeOf);
  });
  if (!done) return null;
  if (!options.keepSelection) editor.select([added]);
  return added;
}

function linkNew(
  facts: Facts,
  start: GraphDocument,
  id: string,
  options: AddOptions,
  sizeOf: (id: string) => Size,
): GraphDocument {
  let document = start;
  if (options.into) {
    const { source, target } = options.into;
    return makeRoom(edits.insertInto(document, id, source, target), id, options.into, sizeOf);
  }
  if (options.from) {
    const target = targetsOn({ ...facts, document }, options.from, id)[0];
    if (target) document = edits.connectAndExtend(document, options.from, target);
  }
  if (options.to) {
    const node = document.nodes[id];
    const output = outputsOf(facts.catalogue.operator(node?.op), node).findIndex(
      (_, index) => canConnect({ ...facts, document }, { node: id, output: index }, options.to as Target).ok,
    );
    if (output >= 0) {
      document = edits.connect(document, { node: id, output }, options.to);
    }
  }
  return document;
}
