/** States of widgets that a notebook file brings along: scripts among them are the author's, and run when restored. */

/** Key of a notebook's metadata that holds them. */
const SAVED = 'widgets';

/** A saved state that is data alone: no script is in it, nor anything else that anywidget would load. */
function plain(model: unknown): boolean {
  const { model_module: module, state } = (model ?? {}) as { model_module?: unknown; state?: object | null };
  return module !== 'anywidget' && !Object.keys(state ?? {}).some((key) => key === '_esm' || key === '_css');
}

/** The same metadata without the widgets that bring scripts. */
function withoutScripts(saved: unknown): unknown {
  if (typeof saved !== 'object' || saved === null) return saved;
  return Object.fromEntries(
    Object.entries(saved as Record<string, { state?: Record<string, unknown> } | null>).map(
      ([kind, content]) => {
        const models = Object.entries(content?.state ?? {}).filter(([, model]) => plain(model));
        return [kind, content && { ...content, state: Object.fromEntries(models) }];
      },
    ),
  );
}

/** The members of a notebook's model that are used here. */
export interface NotebookModel {
  readonly cells: Iterable<{ readonly type: string; readonly trusted?: boolean }>;
  getMetadata(key: string): unknown;
}

/**
 * Hides scripts of saved widgets from whatever restores them, as long as the person does not trust the notebook: they
 * would run in the page as it opens, and could have the notebook's cells run. The file keeps them.
 */
export function hideScripts(model: NotebookModel): void {
  const read = model.getMetadata.bind(model);
  model.getMetadata = (key) => (key === SAVED && !trusted(model) ? withoutScripts(read(key)) : read(key));
}

/** Jupyter notes trust on each code cell; a notebook without any is nobody's yet. */
function trusted({ cells }: NotebookModel): boolean {
  const code = [...cells].filter(({ type }) => type === 'code');
  return code.length > 0 && code.every((cell) => cell.trusted === true);
}
