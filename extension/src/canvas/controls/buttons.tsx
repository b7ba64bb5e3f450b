/** Buttons: with words, with an icon alone, one of several choices, tabs. */
import type { ComponentProps, KeyboardEvent, ReactNode } from 'react';
import { Icon } from '../icons';

type Properties = ComponentProps<'button'>;

export function Button({ className = '', ...rest }: Properties) {
  return <button type="button" className={`button ${className}`} {...rest} />;
}

interface IconButtonProperties extends Properties {
  icon?: string;
  label: string;
  large?: boolean;
}

/** A button without words; `label` is spoken, and shown as its title where that is not another. */
export function IconButton({
  icon,
  label,
  title = label,
  large = false,
  className = '',
  children,
  ...rest
}: IconButtonProperties) {
  const classes = `icon-button ${large ? '' : 'tiny'} ${className}`;
  return (
    <button type="button" className={classes} aria-label={label} title={title} {...rest}>
      {icon === undefined ? children : <Icon name={icon} size={large ? 14 : 12} />}
    </button>
  );
}

interface Choice<T> {
  value: T;
  text: ReactNode;
  title?: string | undefined;
}

interface ChoicesProperties<T> {
  label: string;
  value: T;
  choices: readonly Choice<T>[];
  className?: string;
  onChange: (value: T) => void;
}

/** Arrow keys, Home and End go to another button of a row, and take it. */
function onArrow(event: KeyboardEvent<HTMLElement>): void {
  const row = [...event.currentTarget.querySelectorAll('button')];
  const at = row.indexOf(event.target as HTMLButtonElement);
  const to = { ArrowLeft: at - 1, ArrowUp: at - 1, ArrowRight: at + 1, ArrowDown: at + 1, Home: 0, End: -1 }[
    event.key
  ];
  if (to === undefined || at < 0) return;
  const next = row.at(to % row.length);
  next?.focus();
  next?.click();
  event.preventDefault();
  event.stopPropagation();
}

/** Some choices side by side, of which one is taken. */
export function Choices<T extends string | number | boolean>({
  label,
  value,
  choices,
  className = '',
  onChange,
}: ChoicesProperties<T>) {
  const stop = choices.some((choice) => choice.value === value) ? value : choices[0]?.value;
  return (
    <div className={`segmented ${className}`} role="radiogroup" aria-label={label} onKeyDown={onArrow}>
      {choices.map(({ value: each, text, title }) => (
        <button
          key={String(each)}
          type="button"
          role="radio"
          data-mode={each}
          aria-checked={each === value}
          tabIndex={each === stop ? 0 : -1}
          title={title}
          onClick={() => onChange(each)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}

interface TabsProperties<T> {
  tabs: readonly Choice<T>[];
  value: T;
  onChange: (value: T) => void;
}

export function Tabs<T extends string>({ tabs, value, onChange }: TabsProperties<T>) {
  return (
    <div className="tabs" role="tablist" onKeyDown={onArrow}>
      {tabs.map(({ value: each, text, title }) => (
        <button
          key={each}
          type="button"
          role="tab"
          aria-selected={each === value}
          tabIndex={each === value ? 0 : -1}
          title={title}
          onClick={() => onChange(each)}
        >
          {text}
        </button>
      ))}
    </div>
  );
}
