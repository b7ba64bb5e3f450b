/** The session's folders and files, to choose a path from. */
import { useEffect, useState } from 'react';
import { listFiles } from '../../core/files';
import type { Listing } from '../../core/protocol';
import { useEditor } from '../context';
import { Icon } from '../icons';
import { t, tn } from '../../core/language';
import { IconButton } from '../controls/buttons';
import './FileBrowser.css';

interface Properties {
  start: string | null;
  kinds: readonly string[];
  /** Files are shown whose names match. */
  names?: RegExp;
  onFolder?: (path: string) => void;
  onFile?: (path: string) => void;
}

function sizeWords(bytes: number): string {
  return bytes < 1e6 ? `${Math.max(1, Math.round(bytes / 1000))} kB` : `${(bytes / 1e6).toFixed(1)} MB`;
}

export function FileBrowser({ start, kinds, names, onFolder, onFile }: Properties) {
  const editor = useEditor();
  const [path, setPath] = useState<string | null>(start);
  const [listing, setListing] = useState<Listing | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const wanted = kinds.join();

  useEffect(() => {
    let current = true;
    listFiles(editor, path, wanted.split(',')).then(
      (found) => {
        if (!current) return;
        setListing(found);
        setProblem(null);
        onFolder?.(found.path);
      },
      (error: unknown) => {
        if (!current) return;
        setProblem((error as Error).message);
        if (path !== null) setPath(null);
      },
    );
    return () => {
      current = false;
    };
    // `onFolder` only reports; asking again because it is another function would never end.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [editor, path, wanted]);

  const shown = listing?.entries.filter(
    (entry) => entry.kind === 'folder' || !names || names.test(entry.name),
  );
  return (
    <div className="files stack">
      <div className="files-path line muted">
        <IconButton
          label={t('Up one folder')}
          large
          disabled={listing?.parent == null}
          onClick={() => setPath(listing?.parent ?? null)}
        >
          ↑
        </IconButton>
        <span title={listing?.path}>{listing?.path ?? ''}</span>
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
              if (entry.kind === 'folder') setPath(entry.path);
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
