/** The control of one argument, drawn from its declaration. */
import { valueOf, widgetOf, type ArgumentDeclaration } from '../../core/catalogue';
import { setArgument } from '../../core/actions';
import type { Value } from '../../core/document';
import { asNumber, describeRange, formatValue, fromNumber, isOn, specialText } from '../../core/values';
import { useEditor, useValue } from '../context';
import { Choice, ColourSwatch, PathField, Switch, TextField } from './fields';
import { NumberField } from './NumberField';
import { t } from '../../core/language';
import { IconButton } from './buttons';
import './ArgumentControl.css';

interface Properties {
  node: string;
  argument: ArgumentDeclaration;
  values: Record<string, Value> | undefined;
  /** In a card there is little room: the label stands in the control. */
  compact: boolean;
}

let gestures = 0;

/** A control's tooltip: meaning, range, unit, default. */
export function argumentTitle(argument: ArgumentDeclaration): string {
  const range = describeRange(argument);
  const lines = [
    argument.doc,
    range ? t('Range: %1', argument.unit ? `${range} ${argument.unit}` : range) : null,
    argument.required ? t('Required') : t('Default: %1', formatValue(argument.default ?? null)),
  ];
  return lines.filter(Boolean).join('\n');
}

export function ArgumentControl({ node, argument, values, compact }: Properties) {
  const editor = useEditor();
  const readOnly = useValue(editor.session, (session) => session.readOnly);
  const value = valueOf(argument, values);
  const label = argument.name;
  const title = argumentTitle(argument);
  const widget = widgetOf(argument);
  const set = (next: Value | undefined, gesture?: string): void =>
    setArgument(editor, node, argument, next, gesture);
  const end = (): void => editor.history.endGesture();
  const labelled = (control: React.ReactNode): React.ReactNode =>
    compact ? (
      <>
        <span className="row-label ellipsis muted" title={title}>
          {label}
        </span>
        {control}
      </>
    ) : (
      control
    );

  const common = { label, title, disabled: readOnly };
  const special = specialText(value);
  if (special !== null) {
    const nameless =
      typeof value === 'object' && value !== null && '$python' in value && value['$python'] === null;
    return labelled(
      nameless ? (
        <TextField
          label={t('%1, as module:name', label)}
          title={`${special}\n${t('It has no name that it could be imported by. Name it as module:name.')}`}
          value=""
          disabled={readOnly}
          onChange={(text) => {
            if (text.trim() !== '') set({ $python: text.trim() });
          }}
        />
      ) : (
        <span className="special-value ellipsis" title={special} data-special>
          {special}
        </span>
      ),
    );
  }
  const isNumber = argument.type === 'float' || argument.type === 'int';
  // A list in the file where one number is declared, and the like, is shown as it is rather than bent.
  if (argument.list || widget === 'vector' || widget === 'colour' || Array.isArray(value)) {
    if (isNumber || widget === 'colour') {
      return labelled(
        <NumberList {...{ node, argument, value, label, title, readOnly, widget, set, end }} />,
      );
    }
    const items = Array.isArray(value)
      ? value.map(formatValue).join(', ')
      : value === null
        ? ''
        : formatValue(value);
    return labelled(
      <TextField
        {...common}
        value={items}
        onChange={(text) => set(text.trim() === '' ? undefined : splitList(text, argument))}
      />,
    );
  }
  switch (widget) {
    case 'switch':
      return labelled(
        <Switch
          {...common}
          value={isOn(value)}
          onChange={(next) => set(argument.type === 'int' ? Number(next) : next)}
        />,
      );
    case 'choice':
      return labelled(
        <Choice
          {...common}
          value={value === null ? '' : formatValue(value)}
          choices={argument.choices ?? []}
          onChange={(next) => set(next)}
        />,
      );
    case 'path':
    case 'folder':
      return labelled(
        <PathField
          {...common}
          folder={widget === 'folder'}
          compact={compact}
          value={value === null ? '' : formatValue(value)}
          onChange={(next) => set(next === '' ? undefined : next)}
        />,
      );
    case 'number':
    case 'slider':
      return (
        <NumberField
          {...common}
          argument={argument}
          value={asNumber(value)}
          showLabel={compact}
          placeholder={argument.required ? t('needed') : t('not set')}
          onChange={(next, gesture) => set(fromNumber(next), gesture)}
          onEnd={end}
          onReset={() => set(undefined)}
        />
      );
    default:
      return labelled(
        <TextField
          {...common}
          multiline={widget === 'multiline'}
          placeholder={argument.required ? t('needed') : t('not set')}
          value={value === null ? '' : formatValue(value)}
          onChange={(next) => set(next === '' && argument.default !== '' ? undefined : next)}
        />,
      );
  }
}

function splitList(text: string, argument: ArgumentDeclaration): Value[] {
  return text.split(',').map((part) => {
    const word = part.trim();
    if (argument.type === 'bool') return word === 'true' || word === 'on' || word === '1';
    return word;
  });
}

interface ListProperties {
  argument: ArgumentDeclaration;
  value: Value;
  label: string;
  title: string;
  readOnly: boolean;
  widget: string;
  set: (value: Value | undefined, gesture?: string) => void;
  end: () => void;
}

/** Numbers side by side; their count is fixed or can grow. */
function NumberList({ argument, value, label, title, readOnly, widget, set, end }: ListProperties) {
  const given = (Array.isArray(value) ? value : value === null ? [] : [value]).map(
    (item) => asNumber(item) ?? 0,
  );
  const length = argument.length ?? null;
  const colour = widget === 'colour';
  const channels = colour && given.length < 2 ? [given[0] ?? 0, given[0] ?? 0, given[0] ?? 0] : given;
  const shown: (number | null)[] = colour
    ? channels
    : length !== null
      ? Array.from(
          { length },
          (_, index) => given[index] ?? (given.length === 1 ? (given[0] as number) : null),
        )
      : given.length > 0
        ? given
        : [null];
  const scale = (argument.maximum ?? 255) <= 1 ? 1 : 255;
  const names = colour ? ['r', 'g', 'b', 'a'] : ['x', 'y', 'z', 'w'];
  const change = (index: number, next: number, gesture: string): void => {
    const numbers = shown.map((item) => item ?? argument.minimum ?? 0);
    numbers[index] = next;
    set(numbers.map(fromNumber), gesture);
  };
  return (
    <span className="vector line" role="group" aria-label={label} title={title}>
      {colour && (
        <ColourSwatch
          label={label}
          value={channels}
          scale={scale}
          disabled={readOnly}
          onChange={(next) => set(next, `colour:${label}`)}
        />
      )}
      {shown.map((item, index) => (
        <NumberField
          key={index}
          label={`${label} ${names[index] ?? index}`}
          argument={argument}
          value={item}
          disabled={readOnly}
          showLabel={false}
          placeholder={shown.length === 1 ? (argument.required ? t('needed') : t('not set')) : '–'}
          onChange={(next, gesture) => change(index, next, `${gesture}:${index}`)}
          onEnd={end}
          onReset={() => set(undefined)}
          onList={(numbers) =>
            set(numbers.slice(0, length ?? undefined).map(fromNumber), `list:${++gestures}`)
          }
        />
      ))}
      {length === null && !colour && !readOnly && given.length > 0 && (
        <span className="vector-buttons">
          <IconButton
            label={t('Add a number to %1', label)}
            title={t('Add a number')}
            className="nodrag"
            onClick={() =>
              set([...given, given[given.length - 1] ?? 0].map(fromNumber), `length:${++gestures}`)
            }
          >
            +
          </IconButton>
          <IconButton
            label={t('Remove the last number of %1', label)}
            title={t('Remove the last number')}
            className="nodrag"
            onClick={() =>
              set(given.length > 1 ? given.slice(0, -1).map(fromNumber) : undefined, `length:${++gestures}`)
            }
          >
            −
          </IconButton>
        </span>
      )}
    </span>
  );
}
