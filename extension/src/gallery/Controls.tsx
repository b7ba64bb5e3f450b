/** The controls of an entry: a slider, a range with two ends, a choice or a switch for each argument. */
import { useId } from 'react';
import { Choice, Switch } from '../canvas/controls/fields';
import type { Value } from '../core/document';
import { asNumber, formatNumber, isOn } from '../core/values';
import type { Control, Overrides } from '../core/protocol.generated';
import { t } from '../core/language';
import './Controls.css';

export const keyOf = ({ node, name }: Control): string => `${node}.${name}`;

/** The value that a control shows: what was set, else what the entry has. */
export function valueOf(control: Control, overrides: Overrides): Value {
  return overrides[control.node]?.[control.name] ?? control.value;
}

/** The value of an argument for a number of its control: lists get it in every part. */
export function asValue(control: Control, number: number): Value {
  const value = control.integer ? Math.round(number) : Number(number.toPrecision(6));
  return control.length === null ? value : Array.from({ length: control.length }, () => value);
}

export const numberOf = (value: Value): number | null =>
  Array.isArray(value) ? asNumber(value[0] ?? null) : asNumber(value);

/** Evenly spaced values over the range of a control. */
export function spread(control: Control, count: number): Value[] {
  const low = control.minimum ?? 0;
  const high = control.maximum ?? 1;
  return Array.from({ length: count }, (_, index) =>
    asValue(control, low + ((high - low) * index) / (count - 1)),
  );
}

interface Properties {
  controls: readonly Control[];
  overrides: Overrides;
  onChange: (control: Control, value: Value) => void;
  onReset: () => void;
}

export function Controls({ controls, overrides, onChange, onReset }: Properties) {
  if (controls.length === 0)
    return <p className="muted">{t('This entry has no settings; its graph defines it.')}</p>;
  return (
    <div className="controls stack" data-testid="gallery-controls">
      {controls.map((control) => (
        <Row
          key={keyOf(control)}
          control={control}
          value={valueOf(control, overrides)}
          onChange={(value) => onChange(control, value)}
        />
      ))}
      <button
        type="button"
        className="link-button"
        disabled={Object.keys(overrides).length === 0}
        onClick={onReset}
      >
        {t('As it was')}
      </button>
    </div>
  );
}

function Row({
  control,
  value,
  onChange,
}: {
  control: Control;
  value: Value;
  onChange: (value: Value) => void;
}) {
  const id = useId();
  const { label, kind, doc, unit, name } = control;
  const common = { label, title: doc };
  return (
    <div className="control" data-argument={name} data-node={control.node} title={doc}>
      <label htmlFor={id}>{label}</label>
      {kind === 'switch' && <Switch {...common} value={isOn(value)} onChange={onChange} />}
      {kind === 'choice' && (
        <Choice
          {...common}
          value={typeof value === 'string' ? value : ''}
          choices={control.choices ?? []}
          onChange={onChange}
        />
      )}
      {kind === 'number' && <Slider id={id} control={control} value={numberOf(value)} onChange={onChange} />}
      {kind === 'range' && <Range control={control} value={value} onChange={onChange} />}
      {(kind === 'number' || kind === 'range') && (
        <output className="control-value muted">
          {kind === 'range' && Array.isArray(value)
            ? t(
                '%1 to %2',
                formatNumber(asNumber(value[0] ?? null) ?? 0),
                formatNumber(asNumber(value[1] ?? null) ?? 0),
              )
            : numberOf(value) === null
              ? t('not set')
              : formatNumber(numberOf(value) as number)}
          {unit ? ` ${unit}` : ''}
        </output>
      )}
    </div>
  );
}

const stepOf = ({ integer, minimum = 0, maximum = 1 }: Control): number =>
  integer ? 1 : Number(((maximum - minimum) / 200).toPrecision(1));

function Slider({
  id,
  control,
  value,
  onChange,
}: {
  id: string;
  control: Control;
  value: number | null;
  onChange: (value: Value) => void;
}) {
  return (
    <input
      id={id}
      type="range"
      min={control.minimum}
      max={control.maximum}
      step={stepOf(control)}
      value={value ?? control.minimum ?? 0}
      onChange={(event) => onChange(asValue(control, Number(event.target.value)))}
    />
  );
}

/** The range of a random argument: two sliders on one line. */
function Range({
  control,
  value,
  onChange,
}: {
  control: Control;
  value: Value;
  onChange: (value: Value) => void;
}) {
  const list = Array.isArray(value) ? value.map((part) => asNumber(part) ?? 0) : [];
  const low = list[0] ?? control.minimum ?? 0;
  const high = list[1] ?? control.maximum ?? 1;
  const { minimum = 0, maximum = 1 } = control;
  const part = (number: number): number =>
    Math.min(100, Math.max(0, ((number - minimum) / (maximum - minimum)) * 100));
  return (
    <span className="range">
      <span className="range-fill" style={{ left: `${part(low)}%`, right: `${100 - part(high)}%` }} />
      {[low, high].map((end, index) => (
        <input
          key={index}
          type="range"
          aria-label={index === 0 ? t('%1, lowest', control.label) : t('%1, highest', control.label)}
          min={minimum}
          max={maximum}
          step={stepOf(control)}
          value={end}
          onChange={(event) => {
            const moved = Number(event.target.value);
            onChange(index === 0 ? [Math.min(moved, high), high] : [low, Math.max(moved, low)]);
          }}
        />
      ))}
    </span>
  );
}
