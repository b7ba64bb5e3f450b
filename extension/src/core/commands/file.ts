/** Commands that open, save and export the document. */
import * as files from '../files';
import { msg } from '../language';
import { inSection, opens } from './command';

export const FILE = inSection('File', [
  { id: 'new', label: msg('New graph'), run: (editor) => void files.createNew(editor) },
  {
    id: 'open',
    label: msg('Open…'),
    caption: msg('Open a graph, a sample or a gallery entry'),
    keys: ['Mod+O'],
    run: opens('open'),
  },
  {
    id: 'gallery',
    label: msg('Gallery'),
    caption: msg('Augmentations and recipes to look at, compare and take along'),
    enabled: (editor) => editor.session.get().capabilities.gallery_page === true,
    run: (editor) => editor.view.patch({ gallery: true }),
  },
  {
    id: 'save',
    label: msg('Save'),
    keys: ['Mod+S'],
    whileWriting: true,
    run: (editor) => {
      if (editor.host.save) editor.host.save();
      else if (editor.session.get().file) void files.save(editor);
      else editor.prompts.patch({ dialog: 'save' });
    },
  },
  {
    id: 'save-as',
    label: msg('Save as…'),
    keys: ['Mod+Shift+S'],
    whileWriting: true,
    run: (editor) => (editor.host.saveAs ? editor.host.saveAs() : editor.prompts.patch({ dialog: 'save' })),
  },
  {
    id: 'export',
    label: msg('Export…'),
    caption: msg('Programs that train, files and pictures of the graph, and a report of one page'),
    keys: ['Mod+E'],
    whileWriting: true,
    run: opens('export'),
  },
  {
    id: 'pipeline',
    label: msg('Pipeline settings…'),
    caption: msg('Batch size, threads, seed'),
    run: opens('pipeline'),
  },
]);
