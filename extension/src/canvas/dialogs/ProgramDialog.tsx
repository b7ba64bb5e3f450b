/** A program that cannot be opened as it stands: which pipeline, with which arguments, and whether to run it. */
import { useCallback, useEffect, useRef, useState } from 'react';
import type { Program } from '../../core/editor';
import { askToRun, open, plainly, trace, type Failure, type Tracing } from '../../core/files';
import type { Consent } from '../../core/protocol';
import { useEditor, useValue } from '../context';
import { Dialog } from './Dialog';
import { Highlighted } from './Highlighted';
import { t } from '../../core/language';
import { Button } from '../controls/buttons';
import './ProgramDialog.css';

export function ProgramDialog() {
  const editor = useEditor();
  const program = useValue(editor.prompts, ({ program }) => program);
  // What a program answers when its turn is over concerns no other one.
  const close = (): void => {
    if (editor.prompts.get().program === program) editor.prompts.patch({ program: null });
  };
  return program && <Choice key={JSON.stringify(program.request)} program={program} onClose={close} />;
}

function Choice({ program, onClose }: { program: Program; onClose: () => void }) {
  const editor = useEditor();
  const { request, pipelines } = program;
  const [name, setName] = useState(pipelines[0]?.name ?? '');
  const [values, setValues] = useState<Record<string, string>>({});
  const [consent, setConsent] = useState<Consent | null>(null);
  /** The text that the person agreed to run. */
  const [agreed, setAgreed] = useState<string | null>(null);
  const [problem, setProblem] = useState<Failure | null>(null);
  const [running, setRunning] = useState(false);
  const work = useRef<Tracing | null>(null);
  const chosen = pipelines.find((each) => each.name === name);
  const file = 'path' in request ? request.path.replace(/^.*[/\\]/, '') : (request.name ?? t('This code'));
  const missing = chosen?.runs
    ? chosen.arguments.filter((each) => each.required && !(values[each.name] ?? '').trim())
    : [];

  const runs = chosen?.runs === true;
  const trusted = consent !== null && agreed === consent.text;

  const ask = useCallback(async (): Promise<void> => {
    const answer = await askToRun(editor, program);
    if ('number' in answer) setConsent(answer);
    else setProblem(answer);
  }, [editor, program]);
  useEffect(() => {
    if (runs) void ask();
  }, [runs, ask]);

  const close = (): void => {
    work.current?.stop();
    onClose();
  };
  const start = async (): Promise<void> => {
    if (!chosen) return;
    setProblem(null);
    if (!chosen.runs) {
      if (await open(editor, { ...request, pipeline: name })) onClose();
      return;
    }
    if (!consent) return;
    setRunning(true);
    work.current = trace(editor, program, name, values, consent.number);
    const failed = await work.current.done;
    work.current = null;
    setRunning(false);
    if (!failed) {
      onClose();
      return;
    }
    setProblem(failed);
    // The number is used up; another text than the one agreed to is agreed to anew.
    await ask();
  };

  return (
    <Dialog
      name="program"
      title={t('Open a pipeline of %1', file)}
      onClose={close}
      footer={
        <>
          {running && <span className="muted">{t('Running %1…', file)}</span>}
          <span className="spring" />
          <Button onClick={close}>{running ? t('Stop') : t('Cancel')}</Button>
          <Button
            className="primary"
            data-action="open-program"
            disabled={running || !chosen || missing.length > 0 || (runs && !trusted)}
            onClick={() => void start()}
          >
            {runs ? t('Run and open') : t('Open')}
          </Button>
        </>
      }
    >
      <div className="program-list" role="radiogroup" aria-label={t('Pipeline')}>
        {pipelines.map(({ name: each, line, summary, runs }) => (
          <button
            key={each}
            type="button"
            role="radio"
            aria-checked={each === name}
            className="program-entry"
            data-pipeline={each}
            onClick={() => setName(each)}
            onDoubleClick={() => !runs && void start()}
            onKeyDown={(event) => {
              // As in a list of files: the chosen one is opened; one that has to be run asks first.
              if (event.key !== 'Enter' || each !== name || runs) return;
              event.preventDefault();
              void start();
            }}
          >
            <strong>{each}</strong>
            <span className="muted">{runs ? t('line %1, has to be run', line) : t('line %1', line)}</span>
            {summary && <span>{summary}</span>}
          </button>
        ))}
      </div>
      {chosen?.runs && (
        <>
          {chosen.arguments.map(({ name: argument, required, default: usual }) => (
            <label key={argument} className="field stack">
              <span>{argument}</span>
              <input
                aria-label={argument}
                value={values[argument] ?? ''}
                placeholder={usual ?? (required ? t('needed') : '')}
                spellCheck={false}
                onChange={(event) => setValues({ ...values, [argument]: event.target.value })}
              />
            </label>
          ))}
          <p className="problem warning">
            {chosen.reason
              ? t('%1 has to be run to know its graph: %2.', file, chosen.reason)
              : t('%1 has to be run to know its graph.', file)}{' '}
            {t(
              'It runs in a process of its own, with your rights: it can read, write and send whatever you can. Run only what you trust.',
            )}
          </p>
          {consent && (
            <pre className="code program-text" data-testid="program-text" tabIndex={0} aria-label={file}>
              <Highlighted text={plainly(consent.text)} language="python" />
            </pre>
          )}
          <label className="check muted">
            <input
              type="checkbox"
              data-testid="consent"
              checked={trusted}
              disabled={!consent}
              onChange={(event) => setAgreed(event.target.checked && consent ? consent.text : null)}
            />
            {t('I trust this file. Run it.')}
          </label>
        </>
      )}
      {problem && (
        <div className="problem error" role="alert">
          {problem.message}
          {problem.detail && <pre className="sample-text">{problem.detail}</pre>}
        </div>
      )}
    </Dialog>
  );
}
