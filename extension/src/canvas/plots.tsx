/** Small plots: the distribution of a random argument with what was drawn, and a histogram. */
import { memo } from 'react';
import type { Value } from '../core/document';
import { t } from '../core/language';
import { asNumber, formatNumber } from '../core/values';
import './plots.css';

interface DistributionProperties {
  op: string | undefined;
  values: Record<string, Value> | undefined;
  drawn: (number[] | null)[] | undefined;
  width: number;
}

const list = (value: Value | undefined): number[] =>
  (Array.isArray(value) ? value : []).map((item) => asNumber(item)).filter((item) => item !== null);

/** The distribution of a random node as a line, with ticks for the samples shown. */
export const DistributionPlot = memo(function DistributionPlot({
  op,
  values,
  drawn,
  width,
}: DistributionProperties) {
  const height = 16;
  const points = (drawn ?? []).flatMap((numbers) => (numbers ? numbers.slice(0, 1) : []));
  let low = Math.min(...points);
  let high = Math.max(...points);
  let curve: [number, number][] = [];
  let bars: number[] = [];
  if (op === 'random.uniform') {
    const choices = list(values?.['values']);
    const range = values?.['range'] === undefined ? [-1, 1] : list(values['range']);
    if (choices.length > 0) {
      low = Math.min(...choices);
      high = Math.max(...choices);
      bars = choices;
    } else if (range.length === 2) {
      [low, high] = range as [number, number];
      curve = [
        [low, 0],
        [low, 1],
        [high, 1],
        [high, 0],
      ];
    }
  } else if (op === 'random.normal') {
    const mean = asNumber(values?.['mean'] ?? 0) ?? 0;
    const deviation = Math.abs(asNumber(values?.['stddev'] ?? 1) ?? 1) || 1e-9;
    low = mean - 3 * deviation;
    high = mean + 3 * deviation;
    curve = Array.from({ length: 25 }, (_, index) => {
      const z = (index - 12) / 4;
      return [mean + z * deviation, Math.exp((-z * z) / 2)];
    });
  } else if (op === 'random.coin_flip') {
    low = 0;
    high = 1;
    bars = [0, 1];
  }
  if (!Number.isFinite(low) || !Number.isFinite(high)) return null;
  const margin = (high - low || 1) * 0.06;
  const x = (value: number): number => ((value - low + margin) / (high - low + 2 * margin)) * width;
  const y = (value: number): number => height - 4 - value * (height - 6);
  const drawnNumbers = points.map((point) => formatNumber(point)).join(', ');
  const label =
    points.length > 0
      ? t('%1 to %2; drawn %3', formatNumber(low), formatNumber(high), drawnNumbers)
      : t('%1 to %2', formatNumber(low), formatNumber(high));
  return (
    <svg className="distribution" width={width} height={height} role="img" aria-label={label}>
      <title>{label}</title>
      <line className="axis" x1={0} x2={width} y1={height - 3.5} y2={height - 3.5} />
      {curve.length > 0 && (
        <polyline
          className="curve"
          points={curve.map(([px, py]) => `${x(px).toFixed(1)},${y(py).toFixed(1)}`).join(' ')}
        />
      )}
      {bars.map((value, index) => (
        <line key={index} className="curve" x1={x(value)} x2={x(value)} y1={y(0)} y2={y(1)} />
      ))}
      {points.map((value, index) => (
        <line key={index} className="drawn" x1={x(value)} x2={x(value)} y1={height} y2={height - 6} />
      ))}
    </svg>
  );
});

export const Histogram = memo(function Histogram({
  counts,
  width,
  height,
}: {
  counts: readonly number[];
  width: number;
  height: number;
}) {
  const most = Math.max(...counts, 1);
  const step = width / counts.length;
  // Square roots, so that one crowded bin does not flatten the rest.
  const bars = counts.map((count, index) => {
    const size = Math.sqrt(count / most) * height;
    return `M${(index * step).toFixed(2)} ${height}v${(-size).toFixed(2)}h${(step * 0.86).toFixed(2)}V${height}z`;
  });
  return (
    <svg className="histogram" width={width} height={height} aria-hidden="true">
      <path d={bars.join('')} />
    </svg>
  );
});
