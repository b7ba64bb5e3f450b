/** One argument from one end of its range to the other, on the same picture. */
import { useState } from 'react';
import { Choice } from '../canvas/controls/fields';
import type { Value } from '../core/document';
import { formatNumber } from '../core/values';
import { keyOf, numberOf, spread } from './Controls';
import { useDrawing } from './hooks';
import { Frame } from './Pictures';
import type { Control, Overrides } from '../core/protocol.generated';
import { t } from '../core/language';

const VALUES = 7;

interface Properties {
  name: string;
  controls: readonly Control[];
  overrides: Overrides;
  first: number;
  sample: number;
  seed: number;
  onPick: (control: Control, value: Value) => void;
}

export function ArgumentRange({ name, controls, overrides, first, sample, seed, onPick }: Properties) {
  const [chosen, setChosen] = useState(0);
  const control = controls[chosen];
  const values = control ? spread(control, VALUES) : [];
  const { drawn } = useDrawing(
    control
      ? {
          name,
          first,
          samples: sample + 1,
          size: 160,
          before: false,
          variants: values.map((value) => ({
            seed,
            overrides: {
              ...overrides,
              [control.node]: { ...overrides[control.node], [control.name]: value },
            },
          })),
        }
      : null,
  );
  if (!control) return null;
  const labels = controls.map(({ label }) => label);
  return (
    <>
      {controls.length > 1 && (
        <Choice
          label={t('Argument')}
          value={labels[chosen] ?? ''}
          choices={labels}
          onChange={(label) => setChosen(labels.indexOf(label))}
        />
      )}
      <div className="strip" data-testid="gallery-range" data-argument={keyOf(control)}>
        {values.map((value, index) => {
          const variant = drawn?.variants[index];
          const view = variant?.after[0];
          return (
            <button
              key={index}
              type="button"
              className="strip-item stack"
              title={variant?.problem ?? t('Set %1 to this', control.label)}
              onClick={() => onPick(control, value)}
            >
              <Frame
                picture={view?.images[sample]}
                overlay={view?.overlays[sample]}
                alt={`${control.label} ${formatNumber(numberOf(value) ?? 0)}`}
              />
              <span className="muted">
                {formatNumber(numberOf(value) ?? 0)}
                {control.unit ? ` ${control.unit}` : ''}
              </span>
            </button>
          );
        })}
      </div>
    </>
  );
}
