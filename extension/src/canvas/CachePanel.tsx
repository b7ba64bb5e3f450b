/** The work that never changes between epochs, cost and gain of a cache for it, and the cache's switch. */
import { cachePlace, keepIn, startCacheMeasurement } from '../core/caches';
import { end } from '../core/jobs';
import { t, tn } from '../core/language';
import type { CacheDone } from '../core/protocol';
import { cutMiddle, formatBytes } from '../core/values';
import { useEditor, useValue } from './context';
import { Button } from './controls/buttons';

export function CachePanel() {
  const editor = useEditor();
  const unchanging = useValue(editor.unchanging);
  const place = useValue(editor.document, ({ pipeline }) => cachePlace(pipeline));
  const { cache, lastCache, run, check, distribution } = useValue(editor.jobs);
  if (unchanging.size < 2) return null;
  const chooseFolder = (): void =>
    editor.prompts.patch({
      picking: { folder: true, start: null, choose: (path) => keepIn(editor, path) },
    });
  return (
    <section className="cache-panel stack" data-testid="cache-panel">
      <h3>{t('Work done once')}</h3>
      <p className="muted">
        {tn(
          '%1 node gives the same in every epoch.',
          '%1 nodes give the same in every epoch.',
          unchanging.size,
        )}
      </p>
      {place !== null ? (
        <>
          <p className="muted" role="status" title={place}>
            {place === 'memory'
              ? t('Their results are kept in memory.')
              : t('Their results are kept in %1.', cutMiddle(place, 40))}
          </p>
          <Button onClick={() => keepIn(editor, null)}>{t('Switch the cache off')}</Button>
        </>
      ) : (
        <>
          {lastCache && <Gain gain={lastCache} />}
          {cache !== null ? (
            <>
              <progress aria-label={t('Runs with and without a cache')} />
              <Button onClick={() => end(editor, 'cache')}>{t('Stop')}</Button>
            </>
          ) : (
            <Button
              data-testid="measure-cache"
              disabled={run !== null || check !== null || distribution !== null}
              onClick={() => void startCacheMeasurement(editor)}
            >
              {t('Measure what a cache gives')}
            </Button>
          )}
          <div className="button-grid">
            <Button onClick={() => keepIn(editor, 'memory')}>{t('Keep in memory')}</Button>
            <Button onClick={chooseFolder}>{t('Keep in a folder…')}</Button>
          </div>
        </>
      )}
    </section>
  );
}

function Gain({ gain }: { gain: CacheDone }) {
  const { rate = 0, cached_rate: cached = 0, bytes = 0, samples = 0 } = gain;
  const faster = rate > 0 ? cached / rate : 0;
  return (
    <p role="status" data-testid="cache-gain">
      {t('%1, epochs %2 times as fast', formatBytes(bytes * samples), faster.toFixed(1))}
    </p>
  );
}
