/** A number that drags, types, steps and takes an expression; with a range it fills like a slider. */
import { useEffect, useId, useRef, useState, type KeyboardEvent, type PointerEvent } from 'react';
import { bounds, stepOf, type ArgumentDeclaration } from '../../core/catalogue';
import { describeRange, evaluate, fit, formatNumber, tidy } from '../../core/values';
import { t } from '../../core/language';
import './NumberField.css';

interface Properties {
  label: string;
  value: number | null;
  argument: ArgumentDeclaration;
  /** Shown where there is no value. */
  placeholder?: string;
  title?: string;
  disabled?: boolean;
  showLabel?: boolean;
  onChange: (value: number, gesture: string) => void;
  onEnd: () => void;
  onReset?: () => void;
  /** Takes several numbers that were typed with commas between. */
  onList?: (values: number[]) => void;
}

let gestures = 0;

export function NumberField(properties: Properties) {
  const {
    label,
    value,
    argument,
    placeholder = t('not set'),
    title,
    disabled,
    showLabel = true,
  } = properties;
  const { onChange, onEnd, onReset, onList } = properties;
  const [editing, setEditing] = useState<string | null>(null);
  const [refused, setRefused] = useState(false);
  const drag = useRef<{ x: number; value: number; moved: boolean; gesture: string; width: number } | null>(
    null,
  );
  const keys = useRef<{ gesture: string; time: number } | null>(null);
  const field = useRef<HTMLDivElement>(null);
  /** Escape was pressed: the typed text is dropped. */
  const abandoned = useRef(false);
  const hint = useId();
  const { soft } = bounds(argument);
  const step = stepOf(argument);
  const start = value ?? argument.minimum ?? 0;

  function set(next: number, gesture: string): void {
    onChange(fit(tidy(next, step / 10), argument), gesture);
  }

  function onPointerDown(event: PointerEvent<HTMLDivElement>): void {
    if (event.button !== 0 || disabled || editing !== null) return;
    event.currentTarget.setPointerCapture(event.pointerId);
    drag.current = {
      x: event.clientX,
      value: start,
      moved: false,
      gesture: `drag:${++gestures}`,
      width: Math.max(80, event.currentTarget.getBoundingClientRect().width),
    };
  }

  function onPointerMove(event: PointerEvent<HTMLDivElement>): void {
    const state = drag.current;
    if (!state) return;
    const moved = event.clientX - state.x;
    if (!state.moved && Math.abs(moved) < 3) return;
    state.moved = true;
    const factor = event.shiftKey ? 10 : event.altKey ? 0.1 : 1;
    const perPixel = soft ? (soft[1] - soft[0]) / state.width : argument.type === 'int' ? 0.5 : step / 2;
    const raw = state.value + moved * perPixel * factor;
    const snapped = event.altKey ? raw : Math.round(raw / step) * step;
    // A drag stays in the range that is worth playing with, unless it started outside.
    const inside = soft && state.value >= soft[0] && state.value <= soft[1];
    set(inside ? Math.min(soft[1], Math.max(soft[0], snapped)) : snapped, state.gesture);
  }

  function onPointerUp(event: PointerEvent<HTMLDivElement>): void {
    const state = drag.current;
    drag.current = null;
    if (!state) return;
    if (state.moved) onEnd();
    else if ((event.target as HTMLElement).closest('.number-value'))
      setEditing(value === null ? '' : formatNumber(value, 8));
  }

  function onKeyDown(event: KeyboardEvent<HTMLDivElement>): void {
    if (editing !== null || disabled) return;
    const factor = event.shiftKey ? 10 : event.altKey && argument.type !== 'int' ? 0.1 : 1;
    const direction = { ArrowUp: 1, ArrowRight: 1, ArrowDown: -1, ArrowLeft: -1, PageUp: 10, PageDown: -10 }[
      event.key
    ];
    if (direction !== undefined) {
      // Key presses that follow each other quickly are one gesture.
      const now = Date.now();
      if (!keys.current || now - keys.current.time > 800)
        keys.current = { gesture: `keys:${++gestures}`, time: now };
      keys.current.time = now;
      set(start + direction * step * factor, keys.current.gesture);
    } else if (event.key === 'Home' && soft) set(soft[0], `home:${++gestures}`);
    else if (event.key === 'End' && soft) set(soft[1], `end:${++gestures}`);
    else if (event.key === 'Enter' || event.key === 'F2')
      setEditing(value === null ? '' : formatNumber(value, 8));
    else if (/^[-\d.(]$/.test(event.key) && !event.ctrlKey && !event.metaKey) setEditing(event.key);
    else if ((event.key === 'Backspace' || event.key === 'Delete') && onReset) onReset();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  function commit(text: string): boolean {
    if (onList && text.includes(',')) {
      const parts = text
        .replace(/^\s*[[(]|[\])]\s*$/g, '')
        .split(',')
        .filter((part) => part.trim() !== '');
      const numbers = parts.map(evaluate).filter((number) => number !== null);
      if (numbers.length !== parts.length || numbers.length === 0) return false;
      onList(numbers.map((number) => fit(number, argument)));
      return true;
    }
    const result = evaluate(text);
    if (result === null) return false;
    onChange(fit(result, argument), `type:${++gestures}`);
    onEnd();
    return true;
  }

  useEffect(() => {
    if (editing === null) setRefused(false);
  }, [editing]);

  const percent =
    soft && value !== null ? Math.min(1, Math.max(0, (value - soft[0]) / (soft[1] - soft[0]))) * 100 : null;
  const range = describeRange(argument);
  const text = value === null ? placeholder : formatNumber(value);

  return (
    <div
      ref={field}
      className={`number line nodrag nopan ${disabled ? 'disabled' : ''} ${refused ? 'refused' : ''} ${value === null ? 'unset' : ''}`}
      role={soft ? 'slider' : 'spinbutton'}
      tabIndex={disabled ? -1 : 0}
      aria-label={label}
      aria-valuenow={value ?? undefined}
      aria-valuetext={argument.unit && value !== null ? `${text} ${argument.unit}` : text}
      aria-valuemin={argument.minimum ?? soft?.[0]}
      aria-valuemax={argument.maximum ?? soft?.[1]}
      aria-disabled={disabled}
      aria-describedby={hint}
      title={title}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={onPointerUp}
      onPointerCancel={() => {
        drag.current = null;
        onEnd();
      }}
      onDoubleClick={(event) => {
        event.stopPropagation();
        if (onReset && !(event.target as HTMLElement).closest('input')) {
          setEditing(null);
          onReset();
        }
      }}
      onKeyDown={onKeyDown}
    >
      {percent !== null && <span className="number-fill" style={{ width: `${percent}%` }} />}
      {showLabel && <span className="number-label ellipsis muted">{label}</span>}
      {editing === null ? (
        <span className="number-value">
          {text}
          {argument.unit && value !== null && <span className="unit muted">{argument.unit}</span>}
        </span>
      ) : (
        <input
          className="number-input"
          autoFocus
          aria-label={label}
          aria-invalid={refused}
          value={editing}
          onChange={(event) => {
            setEditing(event.target.value);
            setRefused(false);
          }}
          onFocus={(event) => {
            if (event.target.value.length > 1) event.target.select();
          }}
          onBlur={() => {
            if (editing.trim() !== '' && !abandoned.current) commit(editing);
            abandoned.current = false;
            setEditing(null);
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && !event.ctrlKey && !event.metaKey) {
              if (editing.trim() === '' || commit(editing)) {
                setEditing(null);
                field.current?.focus();
              } else setRefused(true);
            } else if (event.key === 'Escape') {
              abandoned.current = true;
              setEditing(null);
              field.current?.focus();
              event.preventDefault();
            }
          }}
        />
      )}
      <span id={hint} hidden>
        {range ? t('Range %1.', range) : ''}{' '}
        {argument.default != null ? t('Default %1.', JSON.stringify(argument.default)) : ''}
      </span>
    </div>
  );
}
