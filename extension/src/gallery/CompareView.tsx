/** Several augmentations on the same pictures, in a grid: a row for each, a column for each picture. */
import { useMemo, useState } from 'react';
import { useValue } from '../canvas/context';
import { Icon } from '../canvas/icons';
import { shown } from '../entries/filtering';
import { useDrawing, useGallery } from './hooks';
import { Frame } from './Pictures';
import type { EntryLine } from '../core/protocol.generated';
import { t } from '../core/language';
import { Button, IconButton } from '../canvas/controls/buttons';
import './CompareView.css';

const SAMPLES = 4;
const SUGGESTED = ['brightness', 'gaussian-blur', 'rotate', 'hsv'];

export function CompareView() {
  const model = useGallery();
  const list = useValue(model.list);
  const compared = useValue(model.compared);
  const [text, setText] = useState('');
  const [first, setFirst] = useState(0);
  const [seed, setSeed] = useState(42);
  const offered = useMemo(
    () => (list ? shown(list, { text, family: null, tag: null }).filter((entry) => !entry.waiting) : []),
    [list, text],
  );
  const chosen = compared
    .map((name) => list?.entries.find((entry) => entry.name === name))
    .filter((entry): entry is EntryLine => entry !== undefined);
  return (
    <div className="gallery-body" data-testid="gallery-compare">
      <nav className="gallery-side" aria-label={t('Augmentations to compare')}>
        <input
          type="search"
          className="side-search"
          aria-label={t('Search augmentations to compare')}
          placeholder={t('Search')}
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        {offered.map(({ name, title }) => (
          <label key={name} className="side-item check muted">
            <input
              type="checkbox"
              data-entry={name}
              checked={compared.includes(name)}
              onChange={() => model.toggleCompared(name)}
            />
            <span>{title}</span>
          </label>
        ))}
      </nav>
      <div className="gallery-wall stack">
        {chosen.length === 0 ? (
          <div className="gallery-empty line muted">
            <p>{t('Choose augmentations at the left, or with + on the wall.')}</p>
            <Button onClick={() => model.compared.set(SUGGESTED)}>{t('Show some')}</Button>
          </div>
        ) : (
          <>
            <p className="compare-bar">
              <Button onClick={() => setFirst(first + SAMPLES)}>{t('Other pictures')}</Button>
              <Button onClick={() => setSeed(Math.floor(Math.random() * 1e6))}>
                <Icon name="dice" size={14} />
                {t('Draw again')}
              </Button>
              <Button onClick={() => model.compared.set([])}>{t('Clear')}</Button>
            </p>
            <div
              className="compare-grid"
              style={{ gridTemplateColumns: `160px repeat(${SAMPLES}, minmax(0, 1fr))` }}
            >
              {chosen.map((entry, index) => (
                <Row
                  key={entry.name}
                  entry={entry}
                  first={first}
                  seed={seed}
                  withBefore={index === 0}
                  onOpen={() => model.go({ page: 'entry', name: entry.name })}
                  onDrop={() => model.toggleCompared(entry.name)}
                />
              ))}
            </div>
          </>
        )}
      </div>
    </div>
  );
}

interface RowProperties {
  entry: EntryLine;
  first: number;
  seed: number;
  withBefore: boolean;
  onOpen: () => void;
  onDrop: () => void;
}

function Row({ entry, first, seed, withBefore, onOpen, onDrop }: RowProperties) {
  const model = useGallery();
  const own = useValue(model.pictures);
  const { drawn, problem } = useDrawing(
    { name: entry.name, first, samples: SAMPLES, size: 224, variants: [{ seed }] },
    own,
  );
  const variant = drawn?.variants[0];
  const columns = Array.from({ length: SAMPLES }, (_, index) => index);
  const said = variant?.problem ?? problem;
  return (
    <>
      {withBefore && (
        <>
          <span className="compare-name line muted">{t('As they were')}</span>
          {columns.map((index) => (
            <Frame key={index} picture={variant?.before?.images[index]} alt={t('picture %1', index + 1)} />
          ))}
        </>
      )}
      <span className="compare-name line" data-testid="compare-row" data-entry={entry.name}>
        <button type="button" className="link-button" onClick={onOpen}>
          {entry.title}
        </button>
        <IconButton
          icon="close"
          label={t('Leave out %1', entry.title)}
          title={t('Leave out')}
          onClick={onDrop}
        />
      </span>
      {said != null ? (
        <p className="problem error compare-problem">{said}</p>
      ) : (
        columns.map((index) => (
          <Frame
            key={index}
            picture={variant?.after[0]?.images[index]}
            overlay={variant?.after[0]?.overlays[index]}
            alt={t('%1, picture %2', entry.title, index + 1)}
          />
        ))
      )}
    </>
  );
}
