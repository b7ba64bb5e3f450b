/** "Does it help?": trains a small network with and without the chosen steps, and shows the curves. */
import { useMemo, useState } from 'react';
import { t, tn } from '../../core/language';
import {
  lastAccuracy,
  percent,
  outdatedProbe,
  probed,
  randomSteps,
  startProbe,
  verdict,
} from '../../core/probes';
import { end } from '../../core/jobs';
import type { ProbeCurve, ProbeDone } from '../../core/protocol.generated';
import { timeLeft } from '../../core/values';
import { useEditor, useValue } from '../context';
import { Button } from '../controls/buttons';
import { Dialog } from './Dialog';
import './ProbeDialog.css';

const SEEDS = [1, 3, 5, 10];
const EPOCHS = [4, 8, 16, 32];
const SAMPLES = [200, 600, 2000, 10000];

export function ProbeDialog({ onClose }: { onClose: () => void }) {
  const editor = useEditor();
  const { probe, probeSettings: settings, lastProbe, run, check, distribution } = useValue(editor.jobs);
  const output = useMemo(() => probed(editor), [editor]);
  const steps = useMemo(() => (output ? randomSteps(editor, output.node) : []), [editor, output]);
  const selected = useMemo(() => steps.filter((id) => editor.selection.get().nodes.has(id)), [editor, steps]);
  const { seeds, epochs, samples } = settings;
  const choose = (part: Partial<typeof settings>): void =>
    editor.jobs.patch({ probeSettings: { ...settings, ...part } });
  const [nodes, setNodes] = useState<readonly string[]>(() => {
    const before = steps.filter((id) => settings.nodes?.includes(id));
    const chosen = probe === null && selected.length > 0 ? selected : before;
    return chosen.length > 0 ? chosen : steps;
  });
  const busy = run !== null || check !== null || distribution !== null;
  const curves = probe?.curves ?? lastProbe?.curves ?? [];
  const outdated = probe ? null : outdatedProbe(editor);
  return (
    <Dialog
      name="probe"
      title={t('Does it help?')}
      wide
      onClose={onClose}
      footer={
        probe ? (
          <>
            <progress max={probe.total} value={probe.done} aria-label={t('Progress of the probe')} />
            <span className="muted" data-testid="probe-progress">
              {probe.left === null
                ? t('Reading the pictures…')
                : t('epoch %1 of %2, %3', probe.done, probe.total, timeLeft(probe.left))}
            </span>
            <span className="spring" />
            <Button onClick={() => end(editor, 'probe')}>{t('Stop')}</Button>
            <Button onClick={onClose}>{t('Go on in the background')}</Button>
          </>
        ) : (
          <>
            <span className="spring" />
            <Button
              className="primary"
              data-testid="start-probe"
              disabled={busy || nodes.length === 0}
              onClick={() => {
                choose({ nodes });
                void startProbe(editor);
              }}
            >
              {lastProbe ? t('Train again') : t('Train')}
            </Button>
          </>
        )
      }
    >
      <div className="probe stack">
        <p className="muted hint">
          {t(
            'A small network learns the labels of your folder twice from the same start: with these steps and without them. Both are measured on pictures that neither has seen.',
          )}
        </p>
        {steps.length === 0 ? (
          <p role="status">
            {t('No step depends on chance yet. Make an argument random, or add a random operator.')}
          </p>
        ) : (
          <div className="probe-form line">
            <fieldset disabled={probe !== null}>
              <legend>{t('Steps')}</legend>
              {steps.map((id) => (
                <label key={id} className="line">
                  <input
                    type="checkbox"
                    checked={nodes.includes(id)}
                    onChange={({ target }) =>
                      setNodes(steps.filter((each) => (each === id ? target.checked : nodes.includes(each))))
                    }
                  />
                  <span className="ellipsis">{id}</span>
                </label>
              ))}
            </fieldset>
            <div className="probe-settings">
              <Amount
                label={t('Seeds')}
                value={seeds}
                values={SEEDS}
                onChange={(seeds) => choose({ seeds })}
              />
              <Amount
                label={t('Epochs')}
                value={epochs}
                values={EPOCHS}
                onChange={(epochs) => choose({ epochs })}
              />
              <Amount
                label={t('Pictures at most')}
                value={samples}
                values={SAMPLES}
                onChange={(samples) => choose({ samples })}
              />
            </div>
          </div>
        )}
        {outdated && (
          <div className="problem warning" role="status">
            {t("This is what came out for '%1', before the graph was changed.", outdated.folder)}
          </div>
        )}
        {curves.length > 0 && <Curves curves={curves} least={probe ? epochs : 1} />}
        {!probe && lastProbe?.error && (
          <div className="problem error" role="alert">
            {lastProbe.error.message}
            {lastProbe.error.file && <span className="muted">{lastProbe.error.file}</span>}
          </div>
        )}
        {!probe && lastProbe && !lastProbe.error && (
          <Outcome done={lastProbe} folder={lastProbe.of?.folder} />
        )}
      </div>
    </Dialog>
  );
}

function Amount({
  label,
  value,
  values,
  onChange,
}: {
  label: string;
  value: number;
  values: readonly number[];
  onChange: (value: number) => void;
}) {
  const editor = useEditor();
  const going = useValue(editor.jobs, ({ probe }) => probe !== null);
  return (
    <label className="line">
      <span className="muted">{label}</span>
      <select value={value} disabled={going} onChange={({ target }) => onChange(Number(target.value))}>
        {values.map((each) => (
          <option key={each} value={each}>
            {each.toLocaleString('en')}
          </option>
        ))}
      </select>
    </label>
  );
}

const WIDTH = 560;
const HEIGHT = 190;
const LEFT = 40;
const BOTTOM = 20;

/** Accuracy by epoch: a line for each seed, thin, and their means, thick. */
function Curves({ curves, least }: { curves: readonly ProbeCurve[]; least: number }) {
  const epochs = Math.max(least, ...curves.map(({ accuracies }) => accuracies.length));
  const all = curves.flatMap(({ accuracies }) => accuracies);
  const low = Math.max(0, Math.floor(Math.min(0.9, ...all) * 10) / 10);
  const x = (epoch: number): number =>
    LEFT + (epochs === 1 ? 0.5 : epoch / (epochs - 1)) * (WIDTH - LEFT - 10);
  const y = (share: number): number => 6 + ((1 - share) / (1 - low || 1)) * (HEIGHT - BOTTOM - 10);
  const points = (accuracies: readonly number[]): string =>
    accuracies.map((share, epoch) => `${x(epoch).toFixed(1)},${y(share).toFixed(1)}`).join(' ');
  const ticks = [low, (low + 1) / 2, 1];
  return (
    <figure className="probe-curves" data-testid="probe-curves">
      <svg
        width={WIDTH}
        height={HEIGHT}
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        role="img"
        aria-label={t('Right answers by epoch')}
      >
        {ticks.map((tick) => (
          <g key={tick}>
            <line className="grid" x1={LEFT} x2={WIDTH - 10} y1={y(tick)} y2={y(tick)} />
            <text x={LEFT - 6} y={y(tick) + 4} textAnchor="end">
              {`${Math.round(100 * tick)} %`}
            </text>
          </g>
        ))}
        {[...new Set([1, epochs])].map((epoch) => (
          <text key={epoch} x={x(epoch - 1)} y={HEIGHT - 4} textAnchor="middle">
            {epoch}
          </text>
        ))}
        {[false, true].map((augmented) => {
          const some = curves.filter((curve) => curve.augmented === augmented && curve.accuracies.length > 0);
          const whole = Math.min(...some.map(({ accuracies }) => accuracies.length));
          const mean =
            some.length === 0
              ? []
              : Array.from({ length: whole }, (_, epoch) =>
                  some.reduce((sum, { accuracies }) => sum + (accuracies[epoch] ?? 0) / some.length, 0),
                );
          return (
            <g key={String(augmented)} className={augmented ? 'with' : 'without'}>
              {some.map(({ seed, accuracies }) => (
                <polyline key={seed} className="seed" points={points(accuracies)} />
              ))}
              <polyline className="mean" points={points(mean)} />
            </g>
          );
        })}
      </svg>
      <figcaption className="line muted">
        <span className="probe-key with">{t('with the steps')}</span>
        <span className="probe-key without">{t('without')}</span>
        <span>{t('right answers on pictures held back, by epoch; thin lines are seeds')}</span>
      </figcaption>
    </figure>
  );
}

function Outcome({ done, folder }: { done: ProbeDone; folder: string | undefined }) {
  const curves = done.curves ?? [];
  const [augmented, plain] = [lastAccuracy(curves, true), lastAccuracy(curves, false)];
  const apart = 100 * (done.difference ?? 0);
  const seeds = new Set(curves.map(({ seed }) => seed)).size;
  if (augmented === null || plain === null) return null;
  return (
    <div className="probe-outcome" role="status" data-testid="probe-outcome">
      <strong>{verdict(done)}</strong>
      <p>
        {t('With %1, without %2; difference %3', percent(augmented), percent(plain), signed(apart))}
        {done.spread !== undefined && ` ± ${(100 * done.spread).toFixed(1)} ${t('from seed to seed')}`}
      </p>
      <p className="muted">
        {tn('%1 seed', '%1 seeds', seeds)} ·{' '}
        {tn('%1 picture to learn from', '%1 pictures to learn from', done.training ?? 0)} ·{' '}
        {tn('%1 held back', '%1 held back', done.measured ?? 0)} ·{' '}
        {tn('%1 class', '%1 classes', done.classes ?? 0)} · {t('%1 s', Math.round(done.seconds ?? 0))} ·{' '}
        {(done.nodes ?? []).join(', ')}
        {folder && ` · ${folder}`}
      </p>
      {done.broken && (
        <p className="muted" title={done.broken.join('\n')}>
          {tn(
            '%1 picture cannot be read, and another is in its place: %2',
            '%1 pictures cannot be read, and others are in their places: %2',
            done.broken.length,
            listed(done.broken),
          )}
        </p>
      )}
    </div>
  );
}

/** The first names of files, and how many there are besides. */
function listed(files: readonly string[]): string {
  const more = files.length - 3;
  return `${files.slice(0, 3).join(', ')}${more > 0 ? ` ${t('and %1 more', more)}` : ''}`;
}

const signed = (points: number): string =>
  `${points > 0 ? '+' : points < 0 ? '−' : ''}${Math.abs(points).toFixed(1)}`;
