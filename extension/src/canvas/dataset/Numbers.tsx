/** The tray's view of a node's numbers over many samples: a chart for sizes, means, draws, labels. */
import { useState } from 'react';
import { startDistribution } from '../../core/datasets';
import { end } from '../../core/jobs';
import { t, tn } from '../../core/language';
import type { Chart } from '../../core/protocol.generated';
import { secondsLeft } from '../../core/runs';
import { asNumber, formatNumber, timeLeft } from '../../core/values';
import { useEditor, useValue } from '../context';
import { Button } from '../controls/buttons';
import { Outdated } from '../Outdated';
import './Numbers.css';

const COUNTS = [100, 1000, 10000];

export function Numbers({ id, output }: { id: string; output: number }) {
  const editor = useEditor();
  const { distribution, lastDistribution, run, check } = useValue(editor.jobs);
  const [samples, setSamples] = useState(1000);
  const left = distribution && secondsLeft(distribution);
  const found = lastDistribution?.node === id && lastDistribution.output === output ? lastDistribution : null;
  return (
    <div className="numbers stack" data-testid="numbers">
      <div className="line numbers-head">
        <label className="line">
          <span className="muted">{t('Samples')}</span>
          <select value={samples} onChange={(event) => setSamples(Number(event.target.value))}>
            {COUNTS.map((count) => (
              <option key={count} value={count}>
                {count.toLocaleString('en')}
              </option>
            ))}
          </select>
        </label>
        {distribution ? (
          <>
            <progress max={distribution.total} value={distribution.done} aria-label={t('Samples counted')} />
            <span className="muted">
              {t(
                '%1 of %2 samples',
                distribution.done.toLocaleString('en'),
                distribution.total.toLocaleString('en'),
              )}
              {left !== null && ` · ${timeLeft(left)}`}
            </span>
            <Button onClick={() => end(editor, 'distribution')}>{t('Stop')}</Button>
          </>
        ) : (
          <Button
            data-testid="count-numbers"
            disabled={run !== null || check !== null}
            onClick={() => void startDistribution(editor, id, output, samples)}
          >
            {found ? t('Count again') : t('Count')}
          </Button>
        )}
        {found && !distribution && (
          <span className="muted" role="status">
            {tn('%1 sample', '%1 samples', found.samples)}
            {found.failed > 0 && ` · ${tn('%1 failed', '%1 failed', found.failed)}`}
          </span>
        )}
        {found && !distribution && <Outdated run={found.run} />}
        {!found && !distribution && (
          <span className="muted hint">
            {t('Runs the graph up to this node and shows how its sizes, means, draws or labels are spread.')}
          </span>
        )}
      </div>
      {found && (
        <div className="numbers-charts">
          {found.charts.map((chart) => (
            <ChartView key={chart.name} chart={chart} />
          ))}
          {found.charts.length === 0 && (
            <p className="muted hint">{t('There are no numbers to count here.')}</p>
          )}
        </div>
      )}
    </div>
  );
}

const WIDTH = 240;
const HEIGHT = 92;

function ChartView({ chart }: { chart: Chart }) {
  const { name, unit, counts, values } = chart;
  const most = Math.max(1, ...counts);
  const step = WIDTH / Math.max(1, counts.length);
  const number = (value: Chart['low']): string =>
    `${formatNumber(asNumber(value) ?? NaN)}${unit && ` ${unit}`}`;
  const range = t('%1 to %2', number(chart.low), number(chart.high));
  const about = t('mean %1, deviation %2', number(chart.mean), number(chart.deviation));
  return (
    <figure className="chart stack" data-chart={name}>
      <figcaption>
        <strong>{t(name)}</strong> <span className="muted">{range}</span>
      </figcaption>
      <svg width={WIDTH} height={HEIGHT} role="img" aria-label={`${name}: ${range}; ${about}`}>
        {counts.map((count, index) => {
          const height = (count / most) * (HEIGHT - (values ? 14 : 2));
          const floor = HEIGHT - (values ? 14 : 0);
          return (
            <g key={index}>
              <rect
                x={index * step + 0.5}
                y={floor - height}
                width={Math.max(1, step - 1)}
                height={height}
                className="chart-bar"
              >
                <title>
                  {values ? t('%1: %2 samples', values[index], count) : tn('%1 sample', '%1 samples', count)}
                </title>
              </rect>
              {values && step >= 7 * Math.max(...values.map(({ length }) => length)) && (
                <text x={index * step + step / 2} y={HEIGHT - 3} textAnchor="middle">
                  {values[index]}
                </text>
              )}
            </g>
          );
        })}
      </svg>
      <span className="muted chart-about">{about}</span>
    </figure>
  );
}
