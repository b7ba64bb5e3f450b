/** A menu at a place: arrow keys, Escape, and gone on a press elsewhere. It stays inside the editor. */
import { useContext, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { createPortal } from 'react-dom';
import { useEditor } from './context';
import { OverlayContext } from './overlay';
import { Icon } from './icons';
import { graphName } from '../core/flowNames';
import { usePressOutside } from './usePressOutside';
import './Menu.css';

export interface MenuItem {
  id: string;
  label: string;
  hint?: string | undefined;
  icon?: string;
  checked?: boolean;
  disabled?: boolean;
  separator?: boolean;
  run: () => void;
}

interface Properties {
  anchor: { left: number; top: number; bottom: number };
  label: string;
  items: readonly MenuItem[];
  onClose: () => void;
}

export function Menu({ anchor, label, items, onClose }: Properties) {
  const editor = useEditor();
  const overlay = useContext(OverlayContext);
  const menu = useRef<HTMLDivElement>(null);
  const [place, setPlace] = useState({ left: 0, top: 0 });
  const before = useRef<Element | null>(null);

  useLayoutEffect(() => {
    const element = menu.current;
    if (!element || !overlay) return;
    const frame = overlay.getBoundingClientRect();
    const { width, height } = element.getBoundingClientRect();
    const below = anchor.bottom + height + 4 <= frame.bottom;
    setPlace({
      left: Math.max(4, Math.min(anchor.left - frame.left, frame.width - width - 4)),
      top: Math.max(4, below ? anchor.bottom - frame.top + 2 : anchor.top - frame.top - height - 2),
    });
  }, [anchor, overlay]);

  useEffect(() => {
    const root = menu.current?.getRootNode() as ShadowRoot | Document | undefined;
    before.current = root?.activeElement ?? null;
    menu.current?.querySelector<HTMLElement>('[role^=menuitem]:not(:disabled)')?.focus();
    return () => {
      // The command may have removed the node that had the focus.
      const element = before.current as HTMLElement | null;
      const node = element?.closest<HTMLElement>('.react-flow__node-operator')?.dataset['id'];
      if (node !== undefined && !editor.history.document.nodes[graphName(node)]) editor.canvas?.focus();
      else element?.focus();
    };
  }, [editor]);
  usePressOutside(menu, onClose);

  if (!overlay) return null;
  return createPortal(
    <div
      ref={menu}
      className="menu floating stack"
      role="menu"
      aria-label={label}
      style={place}
      onKeyDown={(event) => {
        event.stopPropagation();
        const all = [
          ...(menu.current?.querySelectorAll<HTMLElement>('[role^=menuitem]:not(:disabled)') ?? []),
        ];
        const at = all.findIndex((item) => item === (event.target as HTMLElement));
        if (event.key === 'ArrowDown') all[(at + 1) % all.length]?.focus();
        else if (event.key === 'ArrowUp') all[(at - 1 + all.length) % all.length]?.focus();
        else if (event.key === 'Escape' || event.key === 'Tab') onClose();
        else return;
        event.preventDefault();
      }}
    >
      {items.map((item) => (
        <button
          key={item.id}
          type="button"
          role={item.checked === undefined ? 'menuitem' : 'menuitemcheckbox'}
          aria-checked={item.checked}
          className={item.separator ? 'separated' : ''}
          disabled={item.disabled}
          data-item={item.id}
          onClick={() => {
            onClose();
            item.run();
          }}
        >
          <span className="menu-mark">
            {item.checked ? (
              <Icon name="check" size={12} />
            ) : item.icon ? (
              <Icon name={item.icon} size={14} />
            ) : null}
          </span>
          <span>{item.label}</span>
          {item.hint && <kbd>{item.hint}</kbd>}
        </button>
      ))}
    </div>,
    overlay,
  );
}
