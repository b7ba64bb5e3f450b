/** The editor's commands that JupyterLab's palette and menus offer, in its own words: id, label and caption. */
import type { TranslationBundle } from '@jupyterlab/translation';

/** Commands that JupyterLab has itself: files, the gallery's tab, its theme. */
export const JUPYTERLABS_OWN = ['new', 'open', 'save', 'save-as', 'gallery', 'theme'];

/** Commands that switch something on and off. */
export const SWITCHES = [
  'bypass',
  'disable',
  'collapse',
  'output',
  'collapse-all',
  'focus',
  'toggle-palette',
  'toggle-inspector',
  'toggle-tray',
  'toggle-minimap',
];

export function editorCommands(
  trans: Pick<TranslationBundle, '__'>,
): [id: string, label: string, caption: string][] {
  return [
    ['run', trans.__('Run Batches'), trans.__('Measure the speed of a real run')],
    [
      'run-on-cluster',
      trans.__('Run on Ray'),
      trans.__('Run an epoch on the Ray cluster, or with Ray on this machine'),
    ],
    ['stop', trans.__('Stop'), trans.__('Stop the run and the previews')],
    ['preview', trans.__('Preview Again'), trans.__('Compute the pictures once more')],
    ['probe', trans.__('Does It Help?'), trans.__('Train a small network with and without augmentations')],
    ['step', trans.__('Next Batch'), trans.__('Show the next batch')],
    ['step-back', trans.__('Previous Batch'), trans.__('Show the batch before')],
    ['undo', trans.__('Undo'), trans.__('Undo the last gesture')],
    ['redo', trans.__('Redo'), trans.__('Do again what was undone')],
    ['history', trans.__('History'), trans.__('All steps, to go back to any')],
    ['cut', trans.__('Cut Nodes'), trans.__('Move the selected nodes to the clipboard')],
    ['copy', trans.__('Copy Nodes'), trans.__('Copy the selected nodes')],
    ['paste', trans.__('Paste Nodes'), trans.__('Place the nodes of the clipboard')],
    ['duplicate', trans.__('Duplicate Nodes'), trans.__('Place copies of the selected nodes')],
    ['delete', trans.__('Delete Nodes'), trans.__('Delete; wires through stay where they can')],
    ['select-all', trans.__('Select All Nodes'), trans.__('Select the whole graph')],
    [
      'select-before',
      trans.__('Select All That Feeds This'),
      trans.__('Select all nodes before the selected ones'),
    ],
    [
      'select-after',
      trans.__('Select All That This Feeds'),
      trans.__('Select all nodes after the selected ones'),
    ],
    ['search', trans.__('Add Operator…'), trans.__('Search for an operator and place it')],
    ['connect', trans.__('Connect…'), trans.__('Choose by name what the selected node feeds')],
    ['replace', trans.__('Replace Operator…'), trans.__('Another operator in its place, links kept')],
    ['rename', trans.__('Rename Node'), trans.__('Give the selected node another name')],
    ['arguments', trans.__('Edit Arguments'), trans.__('Go to the first argument in the inspector')],
    ['bypass', trans.__('Bypass Nodes'), trans.__('Pass the input of the selected nodes through')],
    [
      'disable',
      trans.__('Disable Nodes'),
      trans.__('Compute neither the selected nodes nor what needs them'),
    ],
    ['collapse', trans.__('Collapse Nodes'), trans.__('Show the selected nodes without pictures')],
    ['collapse-all', trans.__('Pictures and Names Only'), trans.__('Reduce all nodes to picture and name')],
    ['output', trans.__('Pipeline Output'), trans.__('Add or remove the first output of this node')],
    ['group', trans.__('Group Nodes'), trans.__('Put a frame with a title around the selected nodes')],
    ['ungroup', trans.__('Ungroup'), trans.__('Take the frame away')],
    ['note', trans.__('Add Note'), trans.__('Place a note at the pointer')],
    ['arrange', trans.__('Arrange'), trans.__('Lay the graph out')],
    ['align-left', trans.__('Align Left Edges'), trans.__('Move the selected nodes')],
    ['align-centre', trans.__('Align Centres'), trans.__('Move the selected nodes')],
    ['align-right', trans.__('Align Right Edges'), trans.__('Move the selected nodes')],
    ['align-top', trans.__('Align Tops'), trans.__('Move the selected nodes')],
    ['align-middle', trans.__('Align Middles'), trans.__('Move the selected nodes')],
    ['align-bottom', trans.__('Align Bottoms'), trans.__('Move the selected nodes')],
    ['align-across', trans.__('Spread Across'), trans.__('Leave equal room between the selected nodes')],
    ['align-down', trans.__('Spread Down'), trans.__('Leave equal room between the selected nodes')],
    ['go-left', trans.__('Go to What Feeds This'), trans.__('Select the node before')],
    ['go-right', trans.__('Go to What This Feeds'), trans.__('Select the node after')],
    ['go-up', trans.__('Go to the Node Above'), trans.__('Select the node above')],
    ['go-down', trans.__('Go to the Node Below'), trans.__('Select the node below')],
    ['fit', trans.__('Fit'), trans.__('Show the whole graph')],
    ['fit-selection', trans.__('Fit Selection'), trans.__('Show the selected nodes')],
    [
      'dataset',
      trans.__('Dataset'),
      trans.__('All samples of the reader: search, filter, and choose some to preview'),
    ],
    ['focus', trans.__('Canvas Alone'), trans.__('The canvas with the batch tray beside it')],
    ['zoom-in', trans.__('Zoom In'), trans.__('Zoom in')],
    ['zoom-out', trans.__('Zoom Out'), trans.__('Zoom out')],
    ['export', trans.__('Export…'), trans.__('Show the graph as code')],
    ['pipeline', trans.__('Pipeline Settings…'), trans.__('Batch size, threads, seed')],
    ['next-problem', trans.__('Go to Next Problem'), trans.__('Select the next node that has a problem')],
    [
      'commands',
      trans.__('Find Command or Node…'),
      trans.__('Search the commands and the nodes of this graph'),
    ],
    ['toggle-palette', trans.__('Palette'), trans.__('Show or hide the operators')],
    ['toggle-inspector', trans.__('Inspector'), trans.__('Show or hide the arguments')],
    ['toggle-tray', trans.__('Batch Tray'), trans.__('Show or hide the batch')],
    ['toggle-minimap', trans.__('Minimap'), trans.__('Show or hide the map of the graph')],
    ['shortcuts', trans.__('Keyboard Shortcuts of the Editor'), trans.__('List the keys of the canvas')],
  ];
}
