/** The small form controls: choice, switch, text, path, colour. */
import { useEffect, useRef, useState, type KeyboardEvent } from 'react';
import { useEditor } from '../context';
import { Icon } from '../icons';
import { t } from '../../core/language';
import { IconButton } from './buttons';
import './fields.css';

interface Common {
  label: string;
  disabled?: boolean | undefined;
  title?: string | undefined;
}

export function Choice({
  label,
  value,
  choices,
  disabled,
  title,
  onChange,
}: Common & { value: string; choices: readonly string[]; onChange: (value: string) => void }) {
  const known = choices.includes(value);
  return (
    <span className="choice line nodrag">
      <select
        aria-label={label}
        value={value}
        disabled={disabled}
        title={title}
        onChange={(event) => onChange(event.target.value)}
      >
        {!known && <option value={value}>{value === '' ? t('not set') : value}</option>}
        {choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice.replace(/^INTERP_/, '').toLowerCase() === choice
              ? choice
              : choice.replace(/^INTERP_/, '')}
          </option>
        ))}
      </select>
      <Icon name="down" size={10} />
    </span>
  );
}

export function Switch({
  label,
  value,
  disabled,
  title,
  onChange,
}: Common & { value: boolean; onChange: (value: boolean) => void }) {
  return (
    <button
      type="button"
      role="switch"
      aria-checked={value}
      aria-label={label}
      title={title}
      disabled={disabled}
      className="switch nodrag"
      onClick={() => onChange(!value)}
      onKeyDown={(event) => {
        if (event.key === ' ' || event.key === 'Enter') event.stopPropagation();
      }}
    >
      <span />
    </button>
  );
}

/** Text that is committed on Enter or on leaving; what another tab changes meanwhile does not overwrite it. */
export function TextField({
  label,
  value,
  disabled,
  title,
  multiline,
  placeholder = t('not set'),
  short = (text) => text,
  onChange,
}: Common & {
  value: string;
  multiline?: boolean;
  placeholder?: string;
  /** The text as shown while nobody edits it. */
  short?: (text: string) => string;
  onChange: (value: string) => void;
}) {
  const [text, setText] = useState(value);
  const [focused, setFocused] = useState(false);
  const editing = useRef(false);
  /** Escape was pressed: the typed text is dropped. */
  const abandoned = useRef(false);
  useEffect(() => {
    if (!editing.current) setText(value);
  }, [value]);
  const shared = {
    'aria-label': label,
    title,
    disabled,
    placeholder,
    value: focused ? text : short(text),
    spellCheck: false,
    className: 'text nodrag',
    onFocus: () => {
      editing.current = true;
      setFocused(true);
    },
    onBlur: () => {
      editing.current = false;
      setFocused(false);
      if (text !== value && !abandoned.current) onChange(text);
      abandoned.current = false;
    },
  };
  const onEscape = (event: KeyboardEvent<HTMLElement>): void => {
    if (event.key !== 'Escape') return;
    abandoned.current = true;
    setText(value);
    // Where nobody takes the keys from here, they go to no field.
    event.currentTarget.blur();
  };
  if (multiline) {
    return (
      <textarea {...shared} rows={3} onChange={(event) => setText(event.target.value)} onKeyDown={onEscape} />
    );
  }
  return (
    <input
      {...shared}
      onChange={(event) => setText(event.target.value)}
      onKeyDown={(event) => {
        if (event.key === 'Enter' && text !== value) onChange(text);
        onEscape(event);
      }}
    />
  );
}

/** The end of a path tells more than its beginning. */
const lastOfPath = (path: string): string => path.replace(/^.*[\\/](?=[^\\/])/, '');

export function PathField({
  label,
  value,
  folder,
  disabled,
  title,
  compact,
  onChange,
}: Common & { value: string; folder: boolean; compact: boolean; onChange: (value: string) => void }) {
  const editor = useEditor();
  const browse = editor.session.get().capabilities.list_files;
  return (
    <span className="path">
      <TextField
        label={label}
        value={value}
        short={compact ? lastOfPath : undefined}
        disabled={disabled}
        title={[value, title].filter(Boolean).join('\n')}
        onChange={onChange}
      />
      {browse && (
        <IconButton
          icon="folder"
          label={t('Choose %1', label)}
          title={folder ? t('Choose a folder') : t('Choose a file')}
          large
          className="nodrag"
          disabled={disabled}
          onClick={() =>
            editor.prompts.patch({ picking: { folder, start: value || null, choose: onChange } })
          }
        />
      )}
    </span>
  );
}

const hex = (value: number): string =>
  Math.round(Math.min(255, Math.max(0, value)))
    .toString(16)
    .padStart(2, '0');

export function ColourSwatch({
  label,
  value,
  scale,
  disabled,
  onChange,
}: Common & { value: readonly number[]; scale: number; onChange: (value: number[]) => void }) {
  const [r = 0, g = r, b = r] = value;
  const colour = `#${hex((r / scale) * 255)}${hex((g / scale) * 255)}${hex((b / scale) * 255)}`;
  return (
    <input
      type="color"
      className="swatch nodrag"
      aria-label={t('%1 colour', label)}
      value={colour}
      disabled={disabled}
      onChange={(event) => {
        const number = parseInt(event.target.value.slice(1), 16);
        const parts = [number >> 16, (number >> 8) & 255, number & 255];
        onChange(parts.map((part) => (scale === 255 ? part : Number(((part / 255) * scale).toFixed(3)))));
      }}
    />
  );
}
