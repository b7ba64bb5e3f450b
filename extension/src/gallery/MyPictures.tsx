/** A folder of the person's own in place of the sample photographs. */
import { useState } from 'react';
import { useValue } from '../canvas/context';
import { Words } from '../canvas/Words';
import { msg, t } from '../core/language';
import { useGallery } from './hooks';
import { Button } from '../canvas/controls/buttons';
import './MyPictures.css';

export function MyPictures({ annotated }: { annotated: boolean }) {
  const model = useGallery();
  const own = useValue(model.pictures);
  const [open, setOpen] = useState(false);
  const [folder, setFolder] = useState(() => model.host.folder() ?? '');
  const [problem, setProblem] = useState<string | null>(null);
  async function use(place: string | null): Promise<void> {
    try {
      await model.usePictures(place);
      setProblem(null);
      setOpen(false);
    } catch (error) {
      setProblem((error as Error).message);
    }
  }
  return (
    <section className="entry-section my-pictures">
      <h3>{t('Pictures')}</h3>
      <p>
        {own ? (
          <Words of={msg('%1 of %2')} parts={[own.count, <code key="folder">{own.folder}</code>]} />
        ) : (
          t('The sample photographs.')
        )}
      </p>
      {annotated && (own !== null || open) && (
        <p className="muted">
          {t(
            'Boxes, points and masks come from files beside each picture: NAME.boxes.npy or NAME.txt (YOLO), NAME.points.npy, NAME.mask.png; boxes also from a JSON file of COCO annotations in the folder. Pictures without get stand-ins in their middle.',
          )}
        </p>
      )}
      {open ? (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            void use(folder.trim());
          }}
        >
          <input
            type="text"
            aria-label={t('Folder of pictures')}
            placeholder={t('A folder of pictures')}
            value={folder}
            autoFocus
            onChange={(event) => setFolder(event.target.value)}
          />
          <button type="submit" className="button" disabled={folder.trim() === ''}>
            {t('Use')}
          </button>
        </form>
      ) : (
        <div className="entry-actions">
          <Button data-action="my-pictures" onClick={() => setOpen(true)}>
            {t('Try on my pictures')}
          </Button>
          {own && <Button onClick={() => void use(null)}>{t('Sample photographs')}</Button>}
        </div>
      )}
      {problem !== null && (
        <p className="problem error" role="alert">
          {problem}
        </p>
      )}
    </section>
  );
}
