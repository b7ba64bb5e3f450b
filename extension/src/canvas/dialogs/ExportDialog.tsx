/** The graph as code or a file: shown, copied, downloaded. */
import { Button, Tabs } from '../controls/buttons';
import { useEffect, useRef, useState } from 'react';
import { download, exportFile, exportGraph } from '../../core/files';
import type { Exported } from '../../core/protocol';
import { useEditor, useValue } from '../context';
import { pictureOf } from '../reportPicture';
import { Dialog } from './Dialog';
import { Highlighted } from './Highlighted';
import { msg, t } from '../../core/language';

/** The report is drawn by the browser. */
const REPORT_PICTURE = {
  to: 'report-picture',
  title: msg('Report (PNG)'),
  summary: msg('The same as a picture, which opens as the graph again.'),
};

export function ExportDialog({ onClose }: { onClose: () => void }) {
  const editor = useEditor();
  const formats = useValue(editor.session, (session) => session.capabilities.export) ?? [
    { to: 'json', title: t('Graph file') },
  ];
  const offered = useValue(editor.session, (session) => session.capabilities.export_files) ?? [];
  const files = offered.flatMap((file) =>
    file.to === 'report'
      ? [file, { ...REPORT_PICTURE, title: t(REPORT_PICTURE.title), summary: t(REPORT_PICTURE.summary) }]
      : [file],
  );
  const [to, setTo] = useState(formats[0]?.to ?? 'json');
  const [result, setResult] = useState<Exported | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [copied, setCopied] = useState(false);
  /** The form that was asked for last: what is copied at once is this one, not the one that is still shown. */
  const asked = useRef<Promise<Exported> | null>(null);

  useEffect(() => {
    let current = true;
    asked.current = exportGraph(editor, to);
    asked.current.then(
      (exported) => {
        if (!current) return;
        setResult(exported);
        setProblem(null);
      },
      (error: unknown) => {
        if (!current) return;
        setResult(null);
        setProblem((error as Error).message);
      },
    );
    return () => {
      current = false;
    };
  }, [editor, to]);

  async function copy(): Promise<void> {
    // Why it cannot be written stands in the dialog.
    const wanted = await asked.current?.catch(() => null);
    if (!wanted) return;
    try {
      await navigator.clipboard.writeText(wanted.text);
      setCopied(true);
      setTimeout(() => setCopied(false), 1500);
    } catch {
      editor.notify('warning', t('The browser does not allow copying here. Select the text and copy it.'));
    }
  }

  return (
    <Dialog
      name="export"
      title={t('Export')}
      wide
      onClose={onClose}
      footer={
        <>
          <span className="muted">{result?.filename}</span>
          <span className="spring" />
          {files.length > 0 && (
            <select
              aria-label={t('Other forms')}
              data-testid="export-file"
              value=""
              onChange={(event) => {
                const form = event.target.value;
                const done =
                  form === REPORT_PICTURE.to
                    ? exportFile(editor, 'report', { ending: '.png', make: pictureOf })
                    : exportFile(editor, form);
                done.then(
                  (warnings) => setProblem(warnings.length > 0 ? warnings.join(' ') : null),
                  (error: unknown) => setProblem((error as Error).message),
                );
              }}
            >
              <option value="">{t('Download as…')}</option>
              {files.map(({ to: form, title, summary }) => (
                <option key={form} value={form} title={summary}>
                  {title}
                </option>
              ))}
            </select>
          )}
          <Button
            data-action="download"
            disabled={!result}
            onClick={() =>
              void asked.current?.then(
                ({ text, filename, mime }) => download(text, filename, mime),
                () => undefined,
              )
            }
          >
            {t('Download')}
          </Button>
          <Button className="primary" data-action="copy" disabled={!result} onClick={() => void copy()}>
            {copied ? t('Copied') : t('Copy')}
          </Button>
        </>
      }
    >
      <Tabs
        tabs={formats.map((format) => ({
          value: format.to,
          text: format.title,
          title: 'summary' in format ? format.summary : undefined,
        }))}
        value={to}
        onChange={setTo}
      />
      {problem !== null && <p className="problem error">{problem}</p>}
      {result?.warnings?.map((warning) => (
        <p key={warning} className="problem warning">
          {warning}
        </p>
      ))}
      {result && (
        <pre className="code" data-testid="export-text" tabIndex={0} aria-label={result.filename}>
          <Highlighted text={result.text} language={result.language} />
        </pre>
      )}
    </Dialog>
  );
}
