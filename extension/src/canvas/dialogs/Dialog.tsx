/** The frame of a dialog: in the middle of the editor, keyboard kept inside, Escape closes. */
import { useContext, useEffect, useRef, type ReactNode } from 'react';
import { createPortal } from 'react-dom';
import { OverlayContext } from '../overlay';
import { t } from '../../core/language';
import { IconButton } from '../controls/buttons';
import './Dialog.css';

interface Properties {
  name: string;
  title: string;
  wide?: boolean;
  onClose: () => void;
  children: ReactNode;
  footer?: ReactNode;
}

const FOCUSABLE = 'input, select, textarea, button:not(:disabled), [tabindex="0"]';

export function Dialog({ name, title, wide, onClose, children, footer }: Properties) {
  const overlay = useContext(OverlayContext);
  const frame = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const root = frame.current?.getRootNode() as ShadowRoot | undefined;
    const before = root?.activeElement;
    const outside = (): boolean => !frame.current?.contains(root?.activeElement ?? null);
    if (outside()) {
      (
        frame.current?.querySelector<HTMLElement>('[data-autofocus]') ??
        frame.current?.querySelector<HTMLElement>(`.dialog-body :is(${FOCUSABLE})`)
      )?.focus();
    }
    // Disabled fields take no focus: keys belong to the dialog all the same.
    if (outside()) frame.current?.focus();
    return () => {
      // The focus stays in a dialog that has opened over this one.
      if (!root?.activeElement?.closest('[role="dialog"]')) (before as HTMLElement | null)?.focus();
    };
  }, []);
  if (!overlay) return null;
  return createPortal(
    <div
      className="backdrop fill"
      onPointerDown={(event) => {
        if (event.target === event.currentTarget) onClose();
      }}
    >
      <div
        ref={frame}
        className={`dialog stack floating ${wide ? 'wide' : ''}`}
        role="dialog"
        aria-modal="true"
        tabIndex={-1}
        aria-label={title}
        data-dialog={name}
        onKeyDown={(event) => {
          event.stopPropagation();
          if (event.key === 'Escape') onClose();
          if (event.key !== 'Tab') return;
          const all = [...(frame.current?.querySelectorAll<HTMLElement>(FOCUSABLE) ?? [])].filter(
            (each) => each.offsetParent !== null && each.tabIndex >= 0,
          );
          const root = frame.current?.getRootNode() as ShadowRoot;
          const edge = event.shiftKey ? all[0] : all[all.length - 1];
          if (root.activeElement === edge) {
            event.preventDefault();
            (event.shiftKey ? all[all.length - 1] : all[0])?.focus();
          }
        }}
      >
        <div className="dialog-head line">
          <h2>{title}</h2>
          <IconButton icon="close" label={t('Close')} large onClick={onClose} />
        </div>
        <div className="dialog-body stack">{children}</div>
        {footer && <div className="dialog-foot line">{footer}</div>}
      </div>
    </div>,
    overlay,
  );
}
