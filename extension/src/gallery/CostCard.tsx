/** The cost of an entry on this machine: images a second, beside reading and decoding alone. */
import { useState } from 'react';
import { useGallery } from './hooks';
import type { Cost, Overrides } from '../core/protocol.generated';
import { t } from '../core/language';
import { Button } from '../canvas/controls/buttons';
import './CostCard.css';

const rate = (value: number): string =>
  value >= 100 ? Math.round(value).toLocaleString('en') : value.toFixed(1);

export function CostCard({ name, overrides }: { name: string; overrides: Overrides }) {
  const model = useGallery();
  const [cost, setCost] = useState<{ cost: Cost; overrides: Overrides } | null>(null);
  const [state, setState] = useState<'idle' | 'measuring'>('idle');
  const [problem, setProblem] = useState<string | null>(null);
  async function measure(): Promise<void> {
    setState('measuring');
    try {
      setCost({ cost: await model.cost(name, overrides), overrides });
      setProblem(null);
    } catch (error) {
      setProblem((error as Error).message);
    }
    setState('idle');
  }
  const found = cost?.cost;
  const most = Math.max(found?.images_per_second ?? 1, found?.decoding_images_per_second ?? 1);
  const rows: [string, number][] = found
    ? [
        [t('With this'), found.images_per_second],
        ...(found.decoding_images_per_second === null
          ? []
          : ([[t('Decoding alone'), found.decoding_images_per_second]] as [string, number][])),
      ]
    : [];
  return (
    <div className="cost stack" data-testid="gallery-cost" data-state={state}>
      {rows.map(([title, value]) => (
        <div key={title} className="cost-row">
          <span>{title}</span>
          <span className="cost-bar">
            <span style={{ width: `${(value / most) * 100}%` }} />
          </span>
          <strong>{rate(value)}</strong>
        </div>
      ))}
      {found && (
        <p className="muted">
          {t('Images a second on this machine, in batches of %1.', found.batch_size)}{' '}
          {cost.overrides === overrides ? '' : t('Measured before the last change.')}
        </p>
      )}
      {problem !== null && <p className="problem error">{problem}</p>}
      <Button data-action="measure" disabled={state === 'measuring'} onClick={() => void measure()}>
        {state === 'measuring' ? t('Measuring…') : found ? t('Measure again') : t('Measure on this machine')}
      </Button>
    </div>
  );
}
