/** Notices: refusals stand near the pointer, others in the corner; each may offer what would fit. */
import { useCallback, useRef, type CSSProperties } from 'react';
import type { Notice } from '../core/editor';
import { useEditor, useValue } from './context';
import { Icon } from './icons';
import { usePressOutside } from './usePressOutside';
import { t } from '../core/language';
import { Button, IconButton } from './controls/buttons';
import './Notices.css';

export function Notices({ frame }: { frame: () => DOMRect | undefined }) {
  const editor = useEditor();
  const notices = useValue(editor.notices);
  const near = notices.filter(({ at }) => at);
  const layer = useRef<HTMLDivElement>(null);
  // A notice at the pointer closes with the next press elsewhere.
  usePressOutside(
    layer,
    useCallback(() => {
      for (const { id, at } of editor.notices.get()) if (at) editor.dismiss(id);
    }, [editor]),
  );
  const rest = notices.filter(({ at }) => !at);
  return (
    <div ref={layer} className="notice-layer">
      {near.map((notice) => {
        const box = frame();
        const at = notice.at;
        if (!box || !at) return null;
        const style: CSSProperties = {
          left: Math.max(8, Math.min(at.x - box.left + 12, box.width - 336)),
          top: Math.max(8, Math.min(at.y - box.top + 12, box.height - 140)),
        };
        return <Toast key={notice.id} notice={notice} style={style} className="near" />;
      })}
      <div className="notices stack">
        {rest.map((notice) => (
          <Toast key={notice.id} notice={notice} />
        ))}
      </div>
    </div>
  );
}

function Toast({
  notice,
  style,
  className = '',
}: {
  notice: Notice;
  style?: CSSProperties;
  className?: string;
}) {
  const editor = useEditor();
  return (
    <div
      className={`notice floating ${notice.level} ${className}`}
      role={notice.level === 'info' ? 'status' : 'alert'}
      style={style}
    >
      <Icon name={notice.level === 'info' ? 'info' : 'warning'} size={14} />
      <div className="notice-text">
        <p>{notice.message}</p>
        {notice.detail && (
          <details>
            <summary>{t('Details')}</summary>
            <pre>{notice.detail}</pre>
          </details>
        )}
        {notice.actions.length > 0 && (
          <div className="notice-actions">
            {notice.actions.map((action) => (
              <Button
                key={action.title}
                onClick={() => {
                  editor.dismiss(notice.id);
                  action.run();
                }}
              >
                {action.title}
              </Button>
            ))}
          </div>
        )}
      </div>
      <IconButton icon="close" label={t('Close')} onClick={() => editor.dismiss(notice.id)} />
    </div>
  );
}
