/** Open, save, and choose a path. */
import { useRef, useState } from 'react';
import { createNew, open, save, stopOpening } from '../../core/files';
import { goBack } from '../../core/kept';
import { useEditor, useValue } from '../context';
import { StartCard } from '../StartCard';
import { openFile } from '../openFile';
import { Dialog } from './Dialog';
import { FileBrowser } from './FileBrowser';
import { GalleryCards } from './GalleryCards';
import { t } from '../../core/language';
import { Button, Tabs } from '../controls/buttons';
import './FileDialogs.css';

/** File types that can hold a graph: graph files, programs, serialized pipelines, and pictures that carry one. */
const OPENABLE = /\.(json|py|ipynb|dali|pb|bin|serialized|png|html)$/i;

type Tab = 'start' | 'file' | 'paste';

export function OpenDialog({ onClose }: { onClose: () => void }) {
  const editor = useEditor();
  const { capabilities, dirty } = useValue(editor.session);
  const kept = useValue(editor.kept);
  const [text, setText] = useState('');
  const [tab, setTab] = useState<Tab>('start');
  const upload = useRef<HTMLInputElement>(null);
  const [opening, setOpening] = useState(false);
  const underway = useRef<number | null>(null);
  const wait = async (work: (run: number) => Promise<boolean>): Promise<void> => {
    const run = (underway.current = editor.previews.newRun());
    setOpening(true);
    const there = await work(run);
    if (underway.current !== run) return; // closed meanwhile, or something else was chosen
    underway.current = null;
    if (there) onClose();
    else setOpening(false);
  };
  const close = (): void => {
    if (underway.current !== null) stopOpening(editor, underway.current);
    underway.current = null;
    onClose();
  };
  const take = (request: Parameters<typeof open>[1]): Promise<void> =>
    wait((run) => open(editor, request, run));
  const tabs: { value: Tab; text: string }[] = [
    { value: 'start', text: t('Samples and gallery') },
    ...(capabilities.list_files ? [{ value: 'file' as const, text: t('Files') }] : []),
    { value: 'paste', text: t('Code or this computer') },
  ];
  const samples = capabilities.samples ?? [];
  const gallery = capabilities.gallery ?? [];
  return (
    <Dialog name="open" title={t('Open')} wide onClose={close}>
      <Tabs tabs={tabs} value={tab} onChange={setTab} />
      {opening && <progress className="opening" aria-label={t('Opening…')} title={t('Opening…')} />}
      {dirty && (
        <p className="problem warning">
          {t('The graph on the canvas has changes that are not saved; it is kept.')}
        </p>
      )}
      {tab === 'start' && (
        <div className="cards">
          <StartCard
            icon="new"
            title={t('Empty graph')}
            summary={t('Start from nothing.')}
            onClick={() => void wait(() => createNew(editor).then(() => true))}
          />
          {kept.map((graph) => (
            <StartCard
              key={graph.at}
              data-kept={graph.title}
              icon="history"
              title={graph.title}
              summary={t('Not saved; %1', new Date(graph.at).toLocaleString())}
              onClick={() => void wait(() => goBack(editor, graph).then(() => true))}
            />
          ))}
          {samples.map(({ name, title, summary }) => (
            <StartCard
              key={name}
              data-sample-name={name}
              icon="gallery"
              title={title}
              summary={summary}
              onClick={() => void take({ sample: name })}
            />
          ))}
          {gallery.map(({ name, title, summary }) => (
            <StartCard
              key={name}
              data-gallery-name={name}
              icon="arrange"
              title={title}
              summary={summary}
              onClick={() => void take({ gallery: name })}
            />
          ))}
        </div>
      )}
      {tab === 'start' && capabilities.gallery_page && (
        <GalleryCards onChoose={(name) => void take({ gallery: name })} />
      )}
      {tab === 'file' && (
        <FileBrowser
          start={null}
          kinds={['folder', 'graph', 'any']}
          names={OPENABLE}
          onFile={(path) => void take({ path })}
        />
      )}
      {tab === 'paste' && (
        <div className="paste stack">
          <textarea
            aria-label={t('Graph or Python code')}
            placeholder={t('Paste a graph (JSON) or Python code with a pipeline')}
            value={text}
            spellCheck={false}
            onChange={(event) => setText(event.target.value)}
          />
          <div className="row">
            <Button className="primary" disabled={text.trim() === ''} onClick={() => void take({ text })}>
              {t('Open this')}
            </Button>
            <Button onClick={() => upload.current?.click()}>{t('Choose a file on this computer…')}</Button>
            <input
              ref={upload}
              type="file"
              hidden
              accept=".json,.py,.txt,.html,.png"
              data-testid="upload"
              onChange={(event) => {
                const file = event.target.files?.[0];
                event.target.value = ''; // the same file can be chosen again
                if (file) void wait((run) => openFile(editor, file, run));
              }}
            />
          </div>
        </div>
      )}
    </Dialog>
  );
}

/** The folder a dialog's browser was last asked for; nothing where it cannot be listed, which the browser says. */
function chosenFolder(folder: Promise<string> | null): Promise<string | null | undefined> {
  return Promise.resolve(folder).catch(() => undefined);
}

export function SaveDialog({ onClose }: { onClose: () => void }) {
  const editor = useEditor();
  const { capabilities, file, title } = useValue(editor.session);
  const folder = useRef<Promise<string> | null>(null);
  const [name, setName] = useState(
    file?.name ??
      `${(title || 'pipeline').replace(/\.dali\.json$/, '').replace(/[^\p{L}\p{M}\p{N}_.-]+/gu, '-')}.dali.json`,
  );
  /** The path at which there is a file already: only this one is overwritten. */
  const [taken, setTaken] = useState<string | null>(null);
  const start = file ? file.path.replace(/[/\\][^/\\]*$/, '') : null;
  const withEnding = /\.json$/.test(name) ? name : `${name}.dali.json`;
  const exists = taken !== null && `/${taken}`.endsWith(`/${withEnding}`);
  const store = async (): Promise<void> => {
    const chosen = await chosenFolder(folder.current);
    if (chosen === undefined) return;
    const whole = chosen === null || /^([/\\~]|[a-z]:[/\\])/i.test(withEnding);
    const path = whole ? withEnding : `${chosen.replace(/[/\\]$/, '')}/${withEnding}`;
    const result = await save(editor, path, path === taken);
    if (result === 'saved') onClose();
    setTaken(result === 'exists' ? path : null);
  };
  return (
    <Dialog
      name="save"
      title={t('Save the graph')}
      onClose={onClose}
      footer={
        <>
          {exists && <span className="problem warning">{t('A file of this name exists.')}</span>}
          <span className="spring" />
          <Button onClick={onClose}>{t('Cancel')}</Button>
          <Button
            className="primary"
            data-action="save"
            disabled={name.trim() === ''}
            onClick={() => void store()}
          >
            {exists ? t('Overwrite') : t('Save')}
          </Button>
        </>
      }
    >
      <label className="field stack">
        <span>{t('Name')}</span>
        <input
          data-autofocus
          aria-label={t('File name')}
          value={name}
          spellCheck={false}
          onChange={(event) => {
            setName(event.target.value);
            setTaken(null);
          }}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && name.trim() !== '') void store();
          }}
        />
      </label>
      {capabilities.list_files && (
        <FileBrowser
          start={start}
          kinds={['folder', 'graph']}
          onFolder={(path) => {
            folder.current = path;
            setTaken(null);
          }}
          onFile={(path) => setName(path.replace(/^.*[/\\]/, ''))}
        />
      )}
    </Dialog>
  );
}

export function PathDialog() {
  const editor = useEditor();
  const picking = useValue(editor.prompts, ({ picking }) => picking);
  const folder = useRef<Promise<string> | null>(null);
  if (!picking) return null;
  const close = (): void => editor.prompts.patch({ picking: null });
  const choose = (path: string): void => {
    if (editor.prompts.get().picking !== picking) return; // closed before the folder was found
    close();
    picking.choose(path);
  };
  return (
    <Dialog
      name="path"
      title={picking.folder ? t('Choose a folder') : t('Choose a file')}
      onClose={close}
      footer={
        picking.folder && (
          <>
            <span className="spring" />
            <Button
              className="primary"
              onClick={() =>
                void chosenFolder(folder.current).then((path) => {
                  if (path) choose(path);
                })
              }
            >
              {t('Choose this folder')}
            </Button>
          </>
        )
      }
    >
      <FileBrowser
        start={picking.start}
        kinds={picking.folder ? ['folder', 'image'] : ['folder', 'any']}
        onFolder={(path) => (folder.current = path)}
        {...(picking.folder ? {} : { onFile: choose })}
      />
    </Dialog>
  );
}
