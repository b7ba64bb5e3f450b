/** Actions on a node's properties: its name, its arguments, its device, the pipeline's outputs. */
import type { ArgumentDeclaration } from '../catalogue';
import { orList } from '../connect';
import { formatEdge, nameProblem, type Device, type OutputRef, type Value } from '../document';
import type { Editor } from '../editor';
import * as edits from '../edits';
import { t } from '../language';

export function setArgument(
  editor: Editor,
  node: string,
  argument: ArgumentDeclaration,
  value: Value | undefined,
  gesture?: string,
): void {
  editor.edit(
    t('%1 of %2', argument.name, node),
    (document) => edits.setArgument(document, node, argument.name, value),
    gesture,
  );
}

/** Sets several arguments of a node in one step. */
export function setArguments(editor: Editor, node: string, values: Readonly<Record<string, Value>>): void {
  editor.edit(t('%1 of %2', Object.keys(values).join(', '), node), (document) =>
    Object.entries(values).reduce(
      (changed, [name, value]) => edits.setArgument(changed, node, name, value),
      document,
    ),
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
  if (!editor.edit(t('Rename %1 to %2', id, wanted), (document) => edits.renameNode(document, id, wanted)))
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
    editor.edit(t('Run on %1', words[device]), (start) => edits.setDevice(start, fitting, device));
  }
}

export function toggleOutput(editor: Editor, source: OutputRef): void {
  const reference = formatEdge(source);
  const present = edits.isOutput(editor.history.document, reference);
  editor.edit(present ? t('Remove output %1', reference) : t('Make %1 an output', reference), (document) =>
    edits.toggleOutput(document, reference),
  );
}
