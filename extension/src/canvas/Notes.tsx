/** Notes and groups: what people write around the nodes. A note is Markdown. */
import { NodeResizer, type NodeProps } from '@xyflow/react';
import { memo, useEffect, useState } from 'react';
import { closeGroup } from '../core/actions';
import { setNote } from '../core/edits';
import { useEditor, useValue } from './context';
import { Button } from './controls/buttons';
import { itemOf } from './flow';
import { GroupTitle } from './GroupTitle';
import { Markdown } from './Markdown';
import { t } from '../core/language';
import './Notes.css';

/** Pixels above and below the text of a note; height up to which notes grow with it. */
const [MARGIN, HIGHEST] = [24, 480];

export const NoteNode = memo(function NoteNode({ id, selected }: NodeProps) {
  const editor = useEditor();
  const key = itemOf(id);
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
      <Markdown text={text} />
      <textarea
        className="nodrag nowheel"
        aria-label={t('Note')}
        placeholder={t('Write a note')}
        value={text}
        autoFocus={note.text === '' && selected}
        onChange={(event) => setText(event.target.value)}
        onBlur={({ currentTarget: { scrollHeight } }) => {
          // As high as its text, which stands there a little lower than it is written.
          const h = text === note.text ? note.h : Math.max(note.h, Math.min(scrollHeight + MARGIN, HIGHEST));
          editor.edit(t('Write note'), (document) => setNote(document, key, { text, h }));
        }}
      />
    </div>
  );
});

/** What lies behind the members of an open group. */
export const GroupFrame = memo(function GroupFrame({ selected }: NodeProps) {
  return <div className={`group ${selected ? 'selected' : ''}`} data-testid="group" />;
});

/** The top of an open group's frame; a node of its own, as links lie between it and the frame. */
export const GroupHead = memo(function GroupHead({ id }: NodeProps) {
  const editor = useEditor();
  const key = itemOf(id);
  const group = useValue(editor.document, (document) => document.view.groups.find((each) => each.id === key));
  if (!group) return null;
  return (
    <div className="group-head">
      <GroupTitle group={group} className="group-title" />
      {group.subgraph && (
        <Button
          className="group-close nodrag"
          data-action="close-subgraph"
          title={t('All its uses follow what is in it now')}
          onClick={() => closeGroup(editor, key)}
        >
          {t('Close')}
        </Button>
      )}
    </div>
  );
});
