/** The session's folders and files, to choose a path from. */
import { useEffect, useRef, useState } from 'react';
import { listFiles } from '../../core/files';
import type { Listing } from '../../core/protocol';
import { cutMiddle } from '../../core/values';
import { useEditor, useValue } from '../context';
import { noteFolder, recentFolders } from '../storage';
import { Icon } from '../icons';
import { t, tn } from '../../core/language';
import { IconButton } from '../controls/buttons';
import './FileBrowser.css';

interface Properties {
  start: string | null;
  kinds: readonly string[];
  /** Files are shown whose names match. */
  names?: RegExp;
  /** The folder that is shown, or asked for; rejected where it cannot be listed. */
  onFolder?: (path: Promise<string>) => void;
  onFile?: (path: string) => void;
}

function sizeWords(bytes: number): string {
  return bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1000))} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

export function FileBrowser({ start, kinds, names, onFolder, onFile }: Properties) {
  const editor = useEditor();
  const asked = useRef(0);
  const [listing, setListing] = useState<Listing | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [typed, setTyped] = useState<string | null>(null);
  const recent = useValue(recentFolders);
  const wanted = kinds.join();
  /** The folder that is asked for is reported at once, as a promise: who chooses it need not wait to see its files. */
  const show = (path: string | null, instead?: (error: Error) => void): void => {
    const turn = ++asked.current;
    const listed = listFiles(editor, path, wanted.split(','));
    const folder = listed.then((found) => found.path);
    folder.catch(() => undefined); // said below; nobody may choose it
    onFolder?.(folder);
    listed.then(
      (found) => {
        if (turn !== asked.current) return;
        setListing(found);
        setTyped(null);
        if (path !== null) noteFolder(found.path);
        setProblem(null);
      },
      (error: unknown) => {
        if (turn !== asked.current) return;
        if (listing) onFolder?.(Promise.resolve(listing.path));
        else if (path !== null) show(null);
        if (instead) instead(error as Error);
        else setProblem((error as Error).message);
      },
    );
  };
  /** To a path as it was typed or dropped: a folder is listed, a file is taken. */
  const go = (wish: string): void => {
    const cleaned = wish.replace(/^file:\/\//, '').replace(/^"(.*)"$/, '$1');
    const folder = cleaned.replace(/[/\\][^/\\]*$/, '') || '/';
    show(cleaned, (error) => {
      if (!onFile || folder === cleaned) setProblem(error.message);
      else
        listFiles(editor, folder, ['any']).then(
          ({ entries }) => {
            const name = cleaned.slice(cleaned.search(/[^/\\]*$/));
            const file = entries.find((entry) => entry.kind !== 'folder' && entry.name === name);
            if (file) onFile(file.path);
            else setProblem(error.message);
          },
          () => setProblem(error.message),
        );
    });
  };

  useEffect(() => {
    show(start);
    return () => {
      asked.current += 1;
    };
    // Only the first folder is listed here; `show` and `start` change with every drawing.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [editor, wanted]);

  const shown = listing?.entries.filter(
    (entry) => entry.kind === 'folder' || !names || names.test(entry.name),
  );
  return (
    <div
      className="files stack"
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        event.stopPropagation();
        // Browsers tell the path of what is dropped only where the desktop sends it as a text.
        const text = event.dataTransfer.getData('text/uri-list') || event.dataTransfer.getData('text/plain');
        const first = text.split(/[\r\n]+/).find((line) => line !== '' && !line.startsWith('#'));
        if (first) go(decodeURI(first));
        else if (event.dataTransfer.files.length > 0) {
          setProblem(t('The browser does not tell where a dropped file lies: type or paste its path above.'));
        }
      }}
    >
      <div className="files-path line muted">
        <IconButton
          label={t('Up one folder')}
          large
          disabled={listing?.parent == null}
          onClick={() => show(listing?.parent ?? null)}
        >
          ↑
        </IconButton>
        <IconButton label={t('Home folder')} large onClick={() => show('~')}>
          ⌂
        </IconButton>
        <IconButton icon="folder" label={t('Working folder')} large onClick={() => show(null)} />
        <form
          className="files-entry"
          onSubmit={(event) => {
            event.preventDefault();
            event.stopPropagation();
            const wanted = (typed ?? '').trim();
            if (wanted !== '') go(wanted);
          }}
        >
          <input
            aria-label={t('Path of a folder or file')}
            title={listing?.path}
            placeholder={t('Path of a folder or file')}
            spellCheck={false}
            value={typed ?? listing?.path ?? ''}
            onChange={(event) => setTyped(event.target.value)}
            onKeyDown={(event) => {
              if (event.key === 'Enter') event.stopPropagation();
            }}
          />
        </form>
        {recent.length > 0 && (
          <select
            className="files-recent"
            aria-label={t('Recent folders')}
            value=""
            onChange={(event) => show(event.target.value)}
          >
            <option value="">{t('Recent')}</option>
            {recent.map((each) => (
              <option key={each} value={each}>
                {cutMiddle(each, 60)}
              </option>
            ))}
          </select>
        )}
      </div>
      {problem !== null && <p className="problem error">{problem}</p>}
      <div className="files-list" role="listbox" aria-label={t('Files')}>
        {shown?.map((entry) => (
          <button
            key={entry.path}
            type="button"
            role="option"
            aria-selected="false"
            data-path={entry.path}
            onClick={() => {
              if (entry.kind === 'folder') show(entry.path);
              else onFile?.(entry.path);
            }}
          >
            <Icon
              name={
                entry.kind === 'folder'
                  ? 'folder'
                  : entry.kind === 'graph'
                    ? 'arrange'
                    : entry.kind === 'image'
                      ? 'gallery'
                      : 'file'
              }
              size={14}
            />
            <span>{entry.name}</span>
            <span className="muted">
              {entry.images
                ? tn('%1 picture', '%1 pictures', entry.images)
                : entry.size !== undefined
                  ? sizeWords(entry.size)
                  : ''}
            </span>
          </button>
        ))}
        {shown?.length === 0 && <p className="muted hint">{t('Nothing here.')}</p>}
        {listing?.truncated && <p className="muted hint">{t('The list is too long to show completely.')}</p>}
      </div>
    </div>
  );
}
