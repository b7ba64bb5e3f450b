/** The check of a reader's dataset: its button, its progress and its findings, each of which leads to its sample. */
import { findingsOf, showFinding, startCheck } from '../core/checks';
import { end } from '../core/jobs';
import { download } from '../core/files';
import { t, tn } from '../core/language';
import type { CheckDone, CheckFinding, CheckKind } from '../core/protocol';
import { timeLeft } from '../core/values';
import { useEditor, useValue } from './context';
import { Button } from './controls/buttons';
import { Outdated } from './Outdated';
import './CheckReport.css';

export function CheckReport({ reader }: { reader: string }) {
  const editor = useEditor();
  const { check, lastCheck, run } = useValue(editor.jobs);
  return (
    <div className="check-report stack" data-testid="check-report">
      <Button data-testid="show-dataset" onClick={() => editor.prompts.patch({ dialog: 'dataset' })}>
        {t('Look through the dataset…')}
      </Button>
      {check ? (
        <>
          <progress max={check.total || 1} value={check.done} aria-label={t('Progress of the check')} />
          <p className="muted" aria-live="off">
            {check.total > 0
              ? t(
                  '%1 of %2 samples, %3 a second, %4',
                  check.done.toLocaleString(),
                  check.total.toLocaleString(),
                  Math.round(check.rate).toLocaleString(),
                  timeLeft(check.left),
                )
              : t('Looking for the samples…')}
          </p>
          <Button onClick={() => end(editor, 'check')}>{t('Stop the check')}</Button>
        </>
      ) : (
        <>
          <p className="muted hint">
            {t(
              'Goes through all samples: damaged files, samples that the pipeline refuses, unusual types, sizes and shapes, repeated content, labels without files.',
            )}
          </p>
          <Button disabled={run !== null} onClick={() => void startCheck(editor)}>
            {lastCheck ? t('Check again') : t('Check the dataset')}
          </Button>
        </>
      )}
      {!check && lastCheck && <Outdated run={lastCheck.run} />}
      {!check && lastCheck && <Findings check={lastCheck} reader={reader} />}
    </div>
  );
}

function Findings({ check, reader }: { check: CheckDone; reader: string }) {
  const kinds = findingsOf(check, reader);
  const graph = useEditor().session.get().title;
  const errors = kinds.some(({ severity }) => severity === 'error');
  return (
    <>
      <p className="muted" role="status">
        {tn('%1 sample checked', '%1 samples checked', check.samples ?? 0)}
        {kinds.length === 0 && ` · ${t('no problems found')}`}
      </p>
      {errors && (
        <Button
          title={t('The samples with errors, as a text file for the argument exclude_list of readers')}
          onClick={() => download(check.exclude ?? '', `${graph || 'graph'}-exclude.txt`)}
        >
          {t('Download the exclude list')}
        </Button>
      )}
      {kinds.map((kind) => (
        <Kind key={kind.kind} kind={kind} />
      ))}
    </>
  );
}

function Kind({ kind }: { kind: CheckKind }) {
  return (
    <details open={kind.severity === 'error'} className="check-kind">
      <summary>
        <span className={`check-count ${kind.severity}`}>{kind.count.toLocaleString()}</span> {t(kind.title)}
      </summary>
      <ul>
        {kind.findings.map((finding, index) => (
          <li key={index}>
            <Finding finding={finding} />
          </li>
        ))}
      </ul>
      {kind.count > kind.findings.length && (
        <p className="muted">{tn('and %1 more', 'and %1 more', kind.count - kind.findings.length)}</p>
      )}
    </details>
  );
}

function Finding({ finding }: { finding: CheckFinding }) {
  const editor = useEditor();
  const text = (
    <>
      {finding.sample && <code>{finding.sample}</code>}
      <span>{finding.message}</span>
    </>
  );
  if (finding.iteration === undefined) return <div className="check-finding">{text}</div>;
  return (
    <button
      type="button"
      className="check-finding"
      title={t('Show this sample')}
      onClick={() => showFinding(editor, finding)}
    >
      {text}
    </button>
  );
}
