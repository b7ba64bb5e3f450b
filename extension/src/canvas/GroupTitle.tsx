/** The title of a group, open or shown as one node: text, or a field while it is written. */
import { setGroup } from '../core/edits';
import type { Group } from '../core/document';
import { groupKey } from '../core/subgraphs';
import { useEditor, useValue } from './context';
import { t } from '../core/language';

export function GroupTitle({ group, className }: { group: Group; className: string }) {
  const editor = useEditor();
  const key = groupKey(group.id);
  const renaming = useValue(editor.prompts, ({ renaming: current }) => current === key);
  if (!renaming) {
    return (
      <span
        className={className}
        title={group.title}
        onDoubleClick={(event) => {
          event.stopPropagation();
          editor.prompts.patch({ renaming: key });
        }}
      >
        {group.title}
      </span>
    );
  }
  return (
    <input
      className="title-input nodrag"
      aria-label={t('Title of the group')}
      defaultValue={group.title}
      autoFocus
      spellCheck={false}
      onFocus={(event) => event.target.select()}
      onKeyDown={(event) => {
        event.stopPropagation();
        if (event.key === 'Escape') editor.prompts.patch({ renaming: null });
        if (event.key === 'Enter') event.currentTarget.blur();
        if (event.key === 'Escape' || event.key === 'Enter') editor.canvas?.focus();
      }}
      onBlur={(event) => {
        if (editor.prompts.get().renaming !== key) return;
        editor.prompts.patch({ renaming: null });
        const title = event.target.value.trim();
        if (title === '' || title === group.title) return;
        editor.edit(t('Title of group'), (document) => setGroup(document, group.id, { title }));
      }}
    />
  );
}
