/** The menus on a node and on the canvas, from the table of commands. */
import { closeGroup, makeSubgraphOfSelection, setDevice, toggleGroup, toggleOutput } from '../core/actions';
import { command, execute, isChecked, isEnabled } from '../core/commands';
import { outputsOf } from '../core/catalogue';
import { hintOf } from '../core/keys';
import { definitionName } from '../core/definitions';
import { isOutput } from '../core/edits';
import { formatEdge, type Device } from '../core/document';
import { saveToGallery } from '../entries/saving';
import type { Editor } from '../core/editor';
import type { MenuItem } from './Menu';
import { groupKey } from '../core/subgraphs';
import { msg, t } from '../core/language';

const DEVICES: Record<Device, string> = {
  cpu: msg('Run on the CPU'),
  gpu: msg('Run on the GPU'),
  mixed: msg('Run on both (mixed)'),
};

export function item(editor: Editor, id: string, separator = false): MenuItem {
  const checked = isChecked(editor, id);
  return {
    id,
    label: t(command(id)?.label ?? id),
    hint: hintOf(editor, id),
    ...(checked === undefined ? {} : { checked }),
    disabled: !isEnabled(editor, id),
    separator,
    run: () => execute(editor, id),
  };
}

export function nodeMenu(editor: Editor, id: string): MenuItem[] {
  const document = editor.history.document;
  const node = document.nodes[id];
  const operator = editor.catalogue.get()?.operator(node?.op);
  const declared = outputsOf(operator, node);
  const outputs = declared.map((output, index): MenuItem => {
    const source = { node: id, output: index };
    return {
      id: `output-${index}`,
      label: declared.length > 1 ? t('Pipeline output %1', output.name) : t('Pipeline output'),
      checked: isOutput(document, formatEdge(source)),
      separator: index === 0,
      run: () => toggleOutput(editor, source),
    };
  });
  const devices = (operator?.devices.length ?? 0) > 1 ? (operator?.devices ?? []) : [];
  return [
    ...(definitionName(node?.op) === null
      ? []
      : [
          { ...item(editor, 'open-subgraph'), label: t('Open the sub-graph') },
          {
            id: 'save-to-gallery',
            label: t('Save to the gallery'),
            run: () => void saveToGallery(editor, id),
          },
        ]),
    item(editor, 'rename'),
    item(editor, 'replace'),
    item(editor, 'connect'),
    item(editor, 'bypass'),
    item(editor, 'disable'),
    item(editor, 'collapse'),
    ...outputs,
    ...devices.map((device, index): MenuItem => ({
      id: `device-${device}`,
      label: t(DEVICES[device]),
      checked: (node?.device ?? 'cpu') === device,
      separator: index === 0,
      run: () => setDevice(editor, [...editor.selection.get().nodes], device),
    })),
    item(editor, 'copy', true),
    item(editor, 'duplicate'),
    item(editor, 'group'),
    item(editor, 'subgraph'),
    item(editor, 'delete', true),
  ];
}

export function groupMenu(editor: Editor, id: string): MenuItem[] {
  const group = editor.history.document.view.groups.find((each) => each.id === id);
  if (!group) return [];
  if (group.subgraph)
    return [
      { id: 'close-subgraph', label: t('Close the sub-graph'), run: () => closeGroup(editor, id) },
      { id: 'members', label: t('Select its nodes'), run: () => editor.select(group.nodes) },
      { ...item(editor, 'ungroup', true), label: t('Leave the nodes as they are'), disabled: false },
    ];
  return [
    {
      id: 'subgraph',
      label: t('Make a sub-graph'),
      hint: hintOf(editor, 'subgraph'),
      run: () => makeSubgraphOfSelection(editor),
    },
    {
      id: 'collapse',
      label: group.collapsed ? t('Open the group') : t('Show as one node'),
      run: () => toggleGroup(editor, id),
    },
    {
      ...item(editor, 'rename'),
      disabled: false,
      run: () => editor.prompts.patch({ renaming: groupKey(id) }),
    },
    { id: 'members', label: t('Select its nodes'), run: () => editor.select(group.nodes) },
    { ...item(editor, 'ungroup', true), disabled: false },
    ...(group.collapsed ? [item(editor, 'delete')] : []),
  ];
}

/** Commands on several selected items. */
export function selectionMenu(editor: Editor): MenuItem[] {
  return [
    item(editor, 'bypass'),
    item(editor, 'disable'),
    item(editor, 'collapse'),
    item(editor, 'group'),
    item(editor, 'subgraph'),
    item(editor, 'arrange', true),
    item(editor, 'align-left'),
    item(editor, 'align-top'),
    item(editor, 'copy', true),
    item(editor, 'duplicate'),
    item(editor, 'delete', true),
  ];
}

export function noteMenu(editor: Editor): MenuItem[] {
  return [item(editor, 'delete')];
}

export function paneMenu(editor: Editor): MenuItem[] {
  return [
    item(editor, 'search'),
    item(editor, 'note'),
    item(editor, 'paste'),
    item(editor, 'select-all', true),
    item(editor, 'arrange'),
    item(editor, 'fit'),
  ];
}
