/** Tooltip of the data on the link under the pointer: shape, dtype, layout, range and histogram. */
import { useEffect, useState } from 'react';
import { linkByKey } from '../core/actions';
import { formatEdge, isArgument } from '../core/document';
import { batchBytes, transferOf } from '../core/placement';
import { formatBytes } from '../core/values';
import { useEditor, useValue } from './context';
import { OutputFacts } from './Inspector';
import { t } from '../core/language';
import './LinkTip.css';

export function LinkTip({ frame }: { frame: () => DOMRect | undefined }) {
  const editor = useEditor();
  const hovered = useValue(editor.view, ({ hoveredLink }) => hoveredLink);
  const [shown, setShown] = useState(hovered);
  useEffect(() => {
    const timer = setTimeout(() => setShown(hovered), hovered ? 220 : 0);
    return () => clearTimeout(timer);
  }, [hovered]);
  useValue(editor.previews.version);
  const document = useValue(editor.document);
  const link = shown && linkByKey(document, shown.key);
  useEffect(() => {
    // A link that is removed under the pointer fires no leave event.
    if (hovered && !linkByKey(document, hovered.key)) editor.view.patch({ hoveredLink: null });
  }, [editor, document, hovered]);
  if (!shown || !hovered || !link) return null;
  const box = frame();
  if (!box) return null;
  const output = editor.previews.result(link.source.node)?.outputs[link.source.output];
  const transfer = transferOf(document, link.source, link.target);
  const to = isArgument(link.target) ? `${link.target.argument} of ${link.target.node}` : link.target.node;
  return (
    <div
      className="link-tip stack floating"
      role="tooltip"
      style={{
        left: Math.max(8, Math.min(shown.at.x - box.left + 12, box.width - 272)),
        top: Math.max(8, Math.min(shown.at.y - box.top + 12, box.height - 200)),
      }}
    >
      <strong>
        {formatEdge(link.source)} → {to}
      </strong>
      {transfer && (
        <p className="muted">
          {output
            ? t(
                'Copied to the %1, %2 in each batch.',
                transfer.toUpperCase(),
                formatBytes(batchBytes(output)),
              )
            : t('Copied to the %1.', transfer.toUpperCase())}
        </p>
      )}
      {output ? <OutputFacts output={output} /> : <p className="muted">{t('No preview yet.')}</p>}
    </div>
  );
}
