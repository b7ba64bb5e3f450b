/** What a person does to a graph: each function is one gesture, one step of undo. */
import { bounds, type ArgumentDeclaration, type Operator } from './catalogue';
import * as commands from './commands';
import type { Point } from './commands';
import { canConnect, kindOf, targetsOn, type Facts, type Remedy, orList } from './connect';
import {
  formatEdge,
  isArgument,
  links,
  nameProblem,
  targetKey,
  type Device,
  type GraphDocument,
  type Link,
  type OutputRef,
  type Target,
  type Value,
} from './document';
import type { Editor } from './editor';
import {
  align,
  autoLayout,
  clearPlace,
  freePlace,
  NODE_SIZE,
  placeOf,
  type Alignment,
  type Box,
  type Size,
} from './layout';
import { makeRoom } from './room';
import { groupKey } from './subgraphs';
import { tidy } from './values';
import { t } from './language';

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

const sizesOf =
  (editor: Editor) =>
  (id: string): Size =>
    editor.canvas?.sizeOf(id) ?? NODE_SIZE;

export function boxes(editor: Editor, except: ReadonlySet<string> = new Set()): Box[] {
  const document = editor.history.document;
  return Object.keys(document.nodes)
    .filter((id) => !except.has(id))
    .map((id) => ({ ...placeOf(document, id), ...(editor.canvas?.sizeOf(id) ?? NODE_SIZE) }));
}

/** Where a new node goes when nobody says: right of what it continues, else in the middle of what is seen. */
function defaultPlace(editor: Editor, options: AddOptions): Point {
  const document = editor.history.document;
  const beside = options.from?.node ?? editor.focusNode;
  if (options.to) {
    const place = placeOf(document, options.to.node);
    return freePlace({ x: place.x - NODE_SIZE.width - 44, y: place.y + 48 }, NODE_SIZE, boxes(editor));
  }
  if (beside !== null) {
    const place = placeOf(document, beside);
    const size = editor.canvas?.sizeOf(beside) ?? NODE_SIZE;
    return freePlace({ x: place.x + size.width + 44, y: place.y }, NODE_SIZE, boxes(editor));
  }
  const centre = editor.canvas?.centre() ?? { x: 0, y: 0 };
  return freePlace({ x: centre.x - NODE_SIZE.width / 2, y: centre.y - 80 }, NODE_SIZE, boxes(editor));
}

/** Arguments without which an operator cannot start, filled with what a person would begin with. */
function startArguments(operator: Operator): Record<string, Value> {
  const values: Record<string, Value> = {};
  for (const argument of operator.arguments) {
    if (!argument.required) continue;
    const first = argument.choices?.[0];
    const { soft } = bounds(argument);
    if (argument.default != null) continue;
    if (first !== undefined) values[argument.name] = argument.list ? [first] : first;
    else if ((argument.type === 'float' || argument.type === 'int') && !argument.list) {
      values[argument.name] = soft ? tidy((soft[0] + soft[1]) / 2, 1) : 1;
    }
  }
  return values;
}

export function addOperator(editor: Editor, name: string, options: AddOptions = {}): string | null {
  const facts = editor.facts;
  const operator = facts?.catalogue.operator(name);
  if (!facts || !operator) return null;
  const wanted = options.at ?? defaultPlace(editor, options);
  const place = options.into ? wanted : clearPlace(wanted, NODE_SIZE, boxes(editor));
  let added = '';
  const done = editor.edit(t('Add %1', name), (document) => {
    const source = options.into?.source ?? options.from;
    const gpu =
      source !== undefined && ['gpu', 'mixed'].includes(document.nodes[source.node]?.device ?? 'cpu');
    const natural: Device = operator.devices.includes('cpu') ? 'cpu' : (operator.devices[0] ?? 'cpu');
    const device: Device = options.device ?? (gpu && operator.devices.includes('gpu') ? 'gpu' : natural);
    const result = commands.addNode(
      document,
      {
        op: name,
        device,
        arguments: { ...startArguments(operator), ...options.arguments },
        ...(options.name === undefined ? {} : { name: options.name }),
      },
      place,
    );
    added = result.id;
    return linkNew(facts, result.document, result.id, options, sizesOf(editor));
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
    return makeRoom(commands.insertInto(document, id, source, target), id, options.into, sizeOf);
  }
  if (options.from) {
    const target = targetsOn({ ...facts, document }, options.from, id)[0];
    if (target) document = commands.connectAndExtend(document, options.from, target);
  }
  if (options.to) {
    const operator = facts.catalogue.operator(document.nodes[id]?.op);
    const output = operator?.outputs.findIndex(
      (_, index) => canConnect({ ...facts, document }, { node: id, output: index }, options.to as Target).ok,
    );
    if (output !== undefined && output >= 0) {
      document = commands.connect(document, { node: id, output }, options.to);
    }
  }
  return document;
}

/** Adds from the palette by keyboard or double-click: continues what is selected, where that fits. */
export function appendOperator(editor: Editor, name: string): string | null {
  const facts = editor.facts;
  const operator = facts?.catalogue.operator(name);
  const selected = editor.selection.get().nodes;
  const last = editor.focusNode;
  if (!facts || !operator || selected.size !== 1 || last === null) return addOperator(editor, name);
  const outputs = facts.catalogue.operator(facts.document.nodes[last]?.op)?.outputs.length ?? 0;
  const input = operator.inputs[0];
  if (outputs === 0 || !input) return addOperator(editor, name);
  const from = { node: last, output: 0 };
  const trial = commands.addNode(facts.document, { op: name }, { x: 0, y: 0 });
  const fits = canConnect({ ...facts, document: trial.document }, from, { node: trial.id, input: 0 });
  return addOperator(editor, name, fits.ok ? { from } : {});
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
  const base = replaces ? commands.disconnect(facts.document, replaces) : facts.document;
  const verdict = canConnect({ ...facts, document: base }, source, target);
  if (!verdict.ok) {
    refuse(editor, verdict.reason, verdict.remedies, source, target, at);
    return false;
  }
  const what = isArgument(target) ? target.argument : target.node;
  editor.edit(t('Connect %1 to %2', source.node, what), (document) => {
    let next = replaces ? commands.disconnect(document, replaces) : document;
    next = commands.connectAndExtend(next, source, target);
    return verdict.device ? commands.setDevice(next, [target.node], verdict.device) : next;
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
      const at = freePlace({ x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 }, NODE_SIZE, boxes(editor));
      addOperator(editor, remedy.op, { at, into: { source, target }, arguments: remedy.arguments });
      return;
    }
    case 'device':
      editor.edit(remedy.title, (document) =>
        commands.connectAndExtend(commands.setDevice(document, [remedy.node], remedy.device), source, target),
      );
      return;
    case 'target':
      tryConnect(editor, source, remedy.target);
  }
}

export function disconnect(editor: Editor, targets: readonly Target[]): void {
  editor.edit(targets.length > 1 ? t('Remove links') : t('Remove link'), (document) =>
    targets.reduce((result, target) => commands.disconnect(result, target), document),
  );
}

/** Removes what is selected; wires through removed nodes stay where they can. */
export function removeSelection(editor: Editor): void {
  const { nodes, links: chosen, item } = editor.selection.get();
  const facts = editor.facts;
  if (nodes.size === 0 && chosen.size === 0 && item === null) return;
  // A group that is shown as one node goes with all that is in it; a frame goes alone.
  const inside = editor.history.document.view.groups.find(({ id, collapsed }) => id === item && collapsed);
  const ids = [...nodes, ...(inside?.nodes ?? [])];
  const label =
    ids.length === 1
      ? t('Delete %1', ids[0])
      : ids.length > 1
        ? t('Delete %1 nodes', ids.length)
        : t('Delete');
  editor.edit(label, (document) => {
    const gone = new Set(ids);
    // A link of a node that goes is what a wire through it is made of.
    const targets = links(document).filter(
      ({ source, target }) =>
        chosen.has(targetKey(target)) && !gone.has(source.node) && !gone.has(target.node),
    );
    let next = targets.reduce((result, { target }) => commands.disconnect(result, target), document);
    const start = next;
    next = commands.removeNodes(next, ids, (source, target) => {
      if (target === null || !facts) return true;
      return canConnect({ ...facts, document: start }, source, target).ok;
    });
    if (item !== null) {
      next = commands.setNote(next, item, null);
      next = commands.setGroup(next, item, null);
    }
    return next;
  });
  editor.select([]);
}

export function setArgument(
  editor: Editor,
  node: string,
  argument: ArgumentDeclaration,
  value: Value | undefined,
  gesture?: string,
): void {
  editor.edit(
    t('%1 of %2', argument.name, node),
    (document) => commands.setArgument(document, node, argument.name, value),
    gesture,
  );
}

export function rename(editor: Editor, id: string, name: string): boolean {
  const wanted = name.trim();
  if (wanted === id) return true;
  const problem = nameProblem(editor.history.document, wanted, id);
  if (problem !== null) {
    editor.notify('warning', problem);
    return false;
  }
  const selected = editor.selection.get();
  if (!editor.edit(t('Rename %1 to %2', id, wanted), (document) => commands.renameNode(document, id, wanted)))
    return false;
  if (selected.nodes.has(id)) {
    editor.select([...selected.nodes].map((each) => (each === id ? wanted : each)));
  }
  return true;
}

/** The device of nodes; where an operator has no kernel there, the reason is said. */
export function setDevice(editor: Editor, ids: readonly string[], device: Device): void {
  const catalogue = editor.catalogue.get();
  const document = editor.history.document;
  const fitting = ids.filter((id) => {
    const operator = catalogue?.operator(document.nodes[id]?.op);
    return !operator || operator.devices.includes(device);
  });
  const words: Record<Device, string> = { cpu: 'CPU', gpu: 'GPU', mixed: t('CPU and GPU (mixed)') };
  const first = ids.find((id) => !fitting.includes(id));
  if (first !== undefined) {
    const operator = catalogue?.operator(document.nodes[first]?.op);
    const runs = (operator?.devices ?? []).map((each) => words[each]);
    editor.notify('warning', t('%1 runs on the %2 only.', operator?.name ?? first, orList(runs)));
  }
  if (fitting.length > 0) {
    editor.edit(t('Run on %1', words[device]), (start) => commands.setDevice(start, fitting, device));
  }
}

export function toggleOutput(editor: Editor, source: OutputRef): void {
  const reference = formatEdge(source);
  const present = commands.isOutput(editor.history.document, reference);
  editor.edit(present ? t('Remove output %1', reference) : t('Make %1 an output', reference), (document) =>
    commands.toggleOutput(document, reference),
  );
}

export function toggleView(
  editor: Editor,
  key: 'bypass' | 'disabled' | 'collapsed',
  ids = [...editor.selection.get().nodes],
): void {
  const { item } = editor.selection.get();
  if (ids.length === 0 && item !== null && key === 'collapsed') toggleGroup(editor, item);
  if (ids.length === 0) return;
  const document = editor.history.document;
  const on = !ids.every((id) => document.view.nodes[id]?.[key]);
  const words = {
    bypass: [t('Bypass'), t('Use again')],
    disabled: [t('Disable'), t('Enable')],
    collapsed: [t('Collapse'), t('Expand')],
  }[key];
  editor.edit((on ? words[0] : words[1]) as string, (start) => commands.setView(start, ids, { [key]: on }));
}

export function arrange(editor: Editor): void {
  const document = editor.history.document;
  const selected = [...editor.selection.get().nodes];
  const ids = selected.length > 1 ? selected : Object.keys(document.nodes);
  if (ids.length === 0) return;
  const positions = autoLayout(document, (id) => editor.canvas?.sizeOf(id) ?? NODE_SIZE, ids);
  editor.edit(t('Arrange'), (start) => commands.moveNodes(start, positions));
  if (selected.length <= 1) editor.canvas?.fit();
}

export function alignSelection(editor: Editor, how: Alignment): void {
  const ids = [...editor.selection.get().nodes];
  if (ids.length < 2) return;
  const document = editor.history.document;
  const all = Object.fromEntries(
    ids.map((id) => [id, { ...placeOf(document, id), ...(editor.canvas?.sizeOf(id) ?? NODE_SIZE) }]),
  );
  editor.edit(t('Align'), (start) => commands.moveNodes(start, align(all, how)));
}

export function groupSelection(editor: Editor): void {
  const ids = [...editor.selection.get().nodes];
  if (ids.length === 0) return;
  if (!editor.edit(t('Group'), (document) => commands.addGroup(document, ids, t('Group')))) return;
  const group = editor.history.document.view.groups.at(-1);
  // Its title is asked for at once; who goes on with something else keeps the first one.
  if (group) editor.renaming.set(groupKey(group.id));
}

/** Shows a group as one node, or opens it again. */
export function toggleGroup(editor: Editor, id: string): void {
  const group = editor.history.document.view.groups.find((each) => each.id === id);
  if (!group) return;
  const collapsed = !group.collapsed;
  editor.edit(collapsed ? t('Show group as one node') : t('Open group'), (document) =>
    commands.setGroup(document, id, { collapsed }),
  );
  editor.select([], [], id);
}

export function ungroupSelection(editor: Editor): void {
  const { nodes, item } = editor.selection.get();
  editor.edit(t('Ungroup'), (document) =>
    document.view.groups
      .filter((group) => group.id === item || group.nodes.some((id) => nodes.has(id)))
      .reduce((result, group) => commands.setGroup(result, group.id, null), document),
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
    { ...facts, document: commands.disconnect(facts.document, target) },
    { node: id, output: 0 },
    target,
  );
  const operator = facts.catalogue.operator(facts.document.nodes[id]?.op);
  if (!into.ok || !out.ok || (operator?.inputs.length ?? 0) === 0) return false;
  return editor.edit(t('Insert %1', id), (document) =>
    makeRoom(
      commands.moveNodes(commands.insertInto(document, id, source, target), positions),
      id,
      link,
      sizesOf(editor),
    ),
  );
}

/** Whether a node may be put into a link: fresh, with an input and an output that fit. */
export function fitsLink(editor: Editor, op: string, link: Link): boolean {
  const facts = editor.facts;
  const operator = facts?.catalogue.operator(op);
  if (!facts || !operator?.inputs[0] || isArgument(link.target)) return false;
  const trial = commands.addNode(facts.document, { op }, { x: 0, y: 0 });
  const after = { ...facts, document: trial.document };
  if (!canConnect(after, link.source, { node: trial.id, input: 0 }).ok) return false;
  const joined = {
    ...facts,
    document: commands.connect(trial.document, link.source, { node: trial.id, input: 0 }),
  };
  const kind = kindOf(joined, { node: trial.id, output: 0 });
  return kind === 'any' || canConnect(joined, { node: trial.id, output: 0 }, link.target).ok;
}

export function linkByKey(document: GraphDocument, key: string): Link | undefined {
  return links(document).find(({ target }) => targetKey(target) === key);
}

/** Selects all that feeds a node, or all that it feeds. */
export function selectConnected(editor: Editor, direction: 'before' | 'after'): void {
  const document = editor.history.document;
  const all = links(document);
  const found = new Set(editor.selection.get().nodes);
  for (let grew = true; grew;) {
    grew = false;
    for (const { source, target } of all) {
      const [here, there] = direction === 'before' ? [target.node, source.node] : [source.node, target.node];
      if (found.has(here) && !found.has(there)) {
        found.add(there);
        grew = true;
      }
    }
  }
  editor.select(found);
}
