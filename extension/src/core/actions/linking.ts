/** Links that a person draws, cuts or puts a node into; refusals say what would fit. */
import { outputsOf } from '../catalogue';
import { canConnect, kindOf, type Remedy } from '../connect';
import {
  isArgument,
  links,
  targetKey,
  type GraphDocument,
  type Link,
  type OutputRef,
  type Target,
} from '../document';
import type { Editor } from '../editor';
import * as edits from '../edits';
import type { Point } from '../edits';
import { t } from '../language';
import { placeOf } from '../layout';
import { makeRoom } from '../room';
import { addOperator } from './adding';

/** The points that a link passes through. */
export function setRoute(editor: Editor, target: Target, points: readonly Point[], gesture?: string): void {
  editor.edit(t('Route link'), (document) => edits.setRoute(document, target, points), gesture);
}

/** One more point for a link to pass through, where it is nearest to the others. */
export function addRoutePoint(editor: Editor, target: Target, point: Point): void {
  editor.edit(t('Route link'), (document) => withPoint(document, target, point));
}

function withPoint(document: GraphDocument, target: Target, point: Point): GraphDocument {
  const route = edits.routeOf(document, target).map(([x, y]) => ({ x, y }));
  const at = route.findIndex(({ x }) => x > point.x);
  const place = at < 0 ? route.length : at;
  return edits.setRoute(document, target, [...route.slice(0, place), point, ...route.slice(place)]);
}

/** A point in the middle of each selected link, or of the rest of one that has points, for a person to drag. */
export function addPointToSelection(editor: Editor): void {
  const { links: chosen } = editor.selection.get();
  const found = links(editor.history.document).filter(({ target }) => chosen.has(targetKey(target)));
  if (found.length === 0) {
    editor.notify('info', t('Select a link first, or double-click it where the point belongs.'));
    return;
  }
  editor.edit(t('Route link'), (document) =>
    found.reduce((result, { source, target }) => {
      const from = placeOf(document, source.node);
      const to = placeOf(document, target.node);
      const last = edits.routeOf(document, target).at(-1);
      const [x, y] = last ?? [
        from.x + editor.sizeOf(source.node).width,
        from.y + editor.sizeOf(source.node).height / 2,
      ];
      const middle = { x: (x + to.x) / 2, y: (y + to.y + editor.sizeOf(target.node).height / 2) / 2 };
      return withPoint(result, target, middle);
    }, document),
  );
}

/** Adds by keyboard, or by a double-click in the palette: continues what is selected, or says why that does not fit. */
export function appendOperator(editor: Editor, name: string, options: { at?: Point } = {}): string | null {
  const facts = editor.facts;
  const operator = facts?.catalogue.operator(name);
  const selected = editor.selection.get().nodes;
  const last = editor.focusNode;
  if (!facts || !operator || selected.size !== 1 || last === null) return addOperator(editor, name, options);
  const before = facts.document.nodes[last];
  const outputs = outputsOf(facts.catalogue.operator(before?.op), before).length;
  const input = operator.inputs[0];
  if (outputs === 0 || !input) return addOperator(editor, name, options);
  const from = { node: last, output: 0 };
  const trial = edits.addNode(facts.document, { op: name }, { x: 0, y: 0 });
  const fits = canConnect({ ...facts, document: trial.document }, from, { node: trial.id, input: 0 });
  const id = addOperator(editor, name, fits.ok ? { ...options, from } : options);
  if (id !== null && !fits.ok) tryConnect(editor, from, { node: id, input: 0 });
  return id;
}

/** Connects, or says why not and offers what would fit. */
export function tryConnect(
  editor: Editor,
  source: OutputRef,
  target: Target,
  at?: Point,
  replaces?: Target,
): boolean {
  const facts = editor.facts;
  if (!facts) return false;
  const base = replaces ? edits.disconnect(facts.document, replaces) : facts.document;
  const verdict = canConnect({ ...facts, document: base }, source, target);
  if (!verdict.ok) {
    refuse(editor, verdict.reason, verdict.remedies, source, target, at);
    return false;
  }
  const what = isArgument(target) ? target.argument : target.node;
  editor.edit(t('Connect %1 to %2', source.node, what), (document) => {
    let next = replaces ? edits.disconnect(document, replaces) : document;
    next = edits.connectAndExtend(next, source, target);
    return verdict.device ? edits.setDevice(next, [target.node], verdict.device) : next;
  });
  if (verdict.device) editor.notify('info', t('%1 now runs on the GPU, where its input is.', target.node));
  return true;
}

function refuse(
  editor: Editor,
  reason: string,
  remedies: Remedy[],
  source: OutputRef,
  target: Target,
  at?: Point,
): void {
  const actions = remedies.map((remedy) => ({
    title: remedy.title,
    run: () => applyRemedy(editor, remedy, source, target),
  }));
  editor.notify('warning', reason, { actions, ...(at ? { at } : {}) });
}

export function applyRemedy(editor: Editor, remedy: Remedy, source: OutputRef, target: Target): void {
  switch (remedy.kind) {
    case 'insert': {
      const document = editor.history.document;
      const from = placeOf(document, source.node);
      const to = placeOf(document, target.node);
      const at = { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 };
      addOperator(editor, remedy.op, { at, into: { source, target }, arguments: remedy.arguments });
      return;
    }
    case 'device':
      editor.edit(remedy.title, (document) =>
        edits.connectAndExtend(edits.setDevice(document, [remedy.node], remedy.device), source, target),
      );
      return;
    case 'target':
      tryConnect(editor, source, remedy.target);
  }
}

export function disconnect(editor: Editor, targets: readonly Target[]): void {
  editor.edit(targets.length > 1 ? t('Remove links') : t('Remove link'), (document) =>
    targets.reduce((result, target) => edits.disconnect(result, target), document),
  );
}

/** Puts a lone node into a link it was dropped on. */
export function dropOnLink(
  editor: Editor,
  id: string,
  link: Link,
  positions: Record<string, Point>,
): boolean {
  const facts = editor.facts;
  if (!facts) return false;
  const { source, target } = link;
  if (source.node === id || target.node === id) return false;
  const into = canConnect(facts, source, { node: id, input: 0 });
  const out = canConnect(
    { ...facts, document: edits.disconnect(facts.document, target) },
    { node: id, output: 0 },
    target,
  );
  const operator = facts.catalogue.operator(facts.document.nodes[id]?.op);
  if (!into.ok || !out.ok || (operator?.inputs.length ?? 0) === 0) return false;
  return editor.edit(t('Insert %1', id), (document) =>
    makeRoom(
      edits.moveNodes(edits.insertInto(document, id, source, target), positions),
      id,
      link,
      editor.sizeOf,
    ),
  );
}

/** Whether a node may be put into a link: fresh, with an input and an output that fit. */
export function fitsLink(editor: Editor, op: string, link: Link): boolean {
  const facts = editor.facts;
  const operator = facts?.catalogue.operator(op);
  if (!facts || !operator?.inputs[0] || isArgument(link.target)) return false;
  const trial = edits.addNode(facts.document, { op }, { x: 0, y: 0 });
  const after = { ...facts, document: trial.document };
  if (!canConnect(after, link.source, { node: trial.id, input: 0 }).ok) return false;
  const joined = {
    ...facts,
    document: edits.connect(trial.document, link.source, { node: trial.id, input: 0 }),
  };
  const kind = kindOf(joined, { node: trial.id, output: 0 });
  return kind === 'any' || canConnect(joined, { node: trial.id, output: 0 }, link.target).ok;
}

export function linkByKey(document: GraphDocument, key: string): Link | undefined {
  return links(document).find(({ target }) => targetKey(target) === key);
}
