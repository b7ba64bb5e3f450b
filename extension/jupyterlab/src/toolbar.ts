/** Parts of the document's toolbar that are no buttons: the number of the batch, and the seed. */
import type { TranslationBundle } from '@jupyterlab/translation';
import { Widget } from '@lumino/widgets';
import type { GraphPanel } from './panel';

function field(): Widget {
  const widget = new Widget();
  widget.addClass('dali-toolbar-field');
  return widget;
}

/** Says which batch is shown. */
export function batchNumber(panel: GraphPanel, trans: TranslationBundle): Widget {
  const widget = field();
  const update = (): void => {
    const batch = (panel.handle?.editor.batch.get().iteration ?? 0) + 1;
    const run = panel.handle?.editor.jobs.get().run;
    widget.node.textContent = run ? trans.__('run %1/%2', run.done, run.total) : trans.__('batch %1', batch);
    widget.node.title = trans.__('The batch that is shown');
  };
  update();
  panel.changed.connect(update);
  widget.disposed.connect(() => panel.changed.disconnect(update));
  return widget;
}

/** Shows the seed in use and sets it; empty leaves it to the session. */
export function seedField(panel: GraphPanel, trans: TranslationBundle): Widget {
  const widget = field();
  const label = document.createElement('label');
  const input = document.createElement('input');
  input.type = 'text';
  input.inputMode = 'numeric';
  input.setAttribute('aria-label', trans.__('Seed'));
  label.append(trans.__('seed'), ' ', input);
  widget.node.append(label);
  const update = (): void => {
    const editor = panel.handle?.editor;
    const pinned = editor?.history.document.pipeline['seed'];
    const isPinned = typeof pinned === 'number' && pinned >= 0;
    const drawn = editor?.previews.status.get().seed ?? editor?.session.get().seed ?? null;
    input.disabled = !editor || editor.readOnly || editor.session.get().id === null;
    input.toggleAttribute('data-drawn', !isPinned);
    label.title = isPinned
      ? trans.__('The seed is part of the graph; empty it to draw one for each session')
      : trans.__('The seed was drawn for this session; type it to keep it');
    const shown = isPinned ? String(pinned) : drawn === null ? '' : String(drawn);
    if (document.activeElement !== input) input.value = shown;
  };
  input.addEventListener('change', () => {
    const text = input.value.trim();
    const seed = text === '' ? null : Number(text);
    if (seed === null || (Number.isSafeInteger(seed) && seed >= 0))
      panel.handle?.editor.edit(trans.__('Seed'), (graph) => ({
        ...graph,
        pipeline: { ...graph.pipeline, seed },
      }));
    input.blur();
    update();
  });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter') input.blur();
    event.stopPropagation();
  });
  update();
  panel.changed.connect(update);
  widget.disposed.connect(() => panel.changed.disconnect(update));
  return widget;
}
