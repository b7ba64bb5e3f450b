/** The name of a node or a group while it is written. */
import { useEditor } from './context';

interface Properties {
  /** Key of the node or group being renamed, as in `prompts.renaming`. */
  of: string;
  label: string;
  value: string;
  /** Accepts the name; false where it is refused. */
  commit: (text: string) => boolean;
}

export function TitleField({ of, label, value, commit }: Properties) {
  const editor = useEditor();
  const close = (): void => editor.prompts.patch({ renaming: null });
  return (
    <input
      className="title-input nodrag"
      aria-label={label}
      defaultValue={value}
      autoFocus
      spellCheck={false}
      onFocus={(event) => event.target.select()}
      onBlur={(event) => {
        if (editor.prompts.get().renaming !== of) return;
        close();
        commit(event.target.value);
      }}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === 'Escape' || (event.key === 'Enter' && commit(event.currentTarget.value))) {
          close();
          editor.canvas?.focus();
        }
      }}
    />
  );
}
