/** Notes and groups: what people write around the nodes. Text is text. */
import { NodeResizer, type NodeProps } from '@xyflow/react';
import { memo, useEffect, useState } from 'react';
import { setGroup, setNote } from '../core/commands';
import { useEditor, useValue } from './context';
import { t } from '../core/language';

export const NoteNode = memo(function NoteNode({ id, selected }: NodeProps) {
  const editor = useEditor();
  const key = id.slice('note:'.length);
  const note = useValue(editor.document, (document) => document.view.notes.find((each) => each.id === key));
  const [text, setText] = useState(note?.text ?? '');
  useEffect(() => setText(note?.text ?? ''), [note?.text]);
  if (!note) return null;
  return (
    <div className={`note ${selected ? 'selected' : ''}`} data-testid="note">
      <NodeResizer
        isVisible={selected}
        minWidth={120}
        minHeight={48}
        onResizeEnd={(_, { x, y, width, height }) =>
          editor.edit(t('Resize note'), (document) =>
            setNote(document, key, {
              x: Math.round(x),
              y: Math.round(y),
              w: Math.round(width),
              h: Math.round(height),
            }),
          )
        }
      />
      <textarea
        className="nodrag nowheel"
        aria-label={t('Note')}
        placeholder={t('Write a note')}
        value={text}
        autoFocus={note.text === '' && selected}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={(event) => event.stopPropagation()}
        onBlur={() => editor.edit(t('Write note'), (document) => setNote(document, key, { text }))}
      />
    </div>
  );
});

export const GroupNode = memo(function GroupNode({ id, selected }: NodeProps) {
  const editor = useEditor();
  const key = id.slice('group:'.length);
  const group = useValue(editor.document, (document) => document.view.groups.find((each) => each.id === key));
  const [editing, setEditing] = useState(false);
  if (!group) return null;
  return (
    <div className={`group ${selected ? 'selected' : ''}`} data-testid="group">
      {editing ? (
        <input
          className="nodrag"
          aria-label={t('Title of the group')}
          defaultValue={group.title}
          autoFocus
          onFocus={(event) => event.target.select()}
          onKeyDown={(event) => {
            event.stopPropagation();
            if (event.key === 'Enter') event.currentTarget.blur();
            if (event.key === 'Escape') setEditing(false);
          }}
          onBlur={(event) => {
            const title = event.target.value;
            setEditing(false);
            editor.edit(t('Title of group'), (document) => setGroup(document, key, { title }));
          }}
        />
      ) : (
        <span
          className="group-title"
          onDoubleClick={(event) => {
            event.stopPropagation();
            setEditing(true);
          }}
        >
          {group.title}
        </span>
      )}
    </div>
  );
});
