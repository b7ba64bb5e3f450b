/** The title of a group, open or shown as one node: text, or a field while it is written. */
import { setGroup } from '../core/edits';
import type { Group } from '../core/document';
import { groupKey } from '../core/subgraphs';
import { useEditor, useValue } from './context';
import { TitleField } from './TitleField';
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
  const commit = (text: string): boolean => {
    const title = text.trim();
    if (title !== '' && title !== group.title)
      editor.edit(t('Title of group'), (document) => setGroup(document, group.id, { title }));
    return true;
  };
  return <TitleField of={key} label={t('Title of the group')} value={group.title} commit={commit} />;
}
