/** An entry's page: its pictures under live controls, random draws, a range, the graph, code, cost and reference. */
import { useEffect, useMemo, useState } from 'react';
import { useValue } from '../canvas/context';
import { OperatorHelp } from '../canvas/OperatorHelp';
import type { GraphDocument, Value } from '../core/document';
import { Code } from './Code';
import { Controls } from './Controls';
import { CostCard } from './CostCard';
import { Draws, Others, seeds } from './Draws';
import { GraphPicture } from './GraphPicture';
import { useDrawing, useGallery, useSettled } from './hooks';
import { MyPictures } from './MyPictures';
import { Frame, Split, STAGE } from './Pictures';
import { Section } from './Section';
import { ArgumentRange } from './ArgumentRange';
import type { Control, EntryPage, Overrides } from '../core/protocol.generated';
import { t } from '../core/language';
import { Button, Choices } from '../canvas/controls/buttons';
import './EntryView.css';

const SAMPLES = 4;
const SEED = 42;
/** Families that leave things where they are, so that a slider between before and after makes sense. */
const SAME_PLACE = ['colour', 'noise', 'blur', 'erase'];

export function EntryView({ name }: { name: string }) {
  const model = useGallery();
  const own = useValue(model.pictures);
  const [page, setPage] = useState<EntryPage | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  useEffect(() => {
    let current = true;
    setProblem(null);
    model.entry(name).then(
      (found) => current && setPage(found),
      (error: unknown) => current && setProblem((error as Error).message),
    );
    return () => {
      current = false;
    };
  }, [model, name, own]);
  if (problem !== null)
    return (
      <div className="gallery-empty line muted" role="alert">
        <p>{problem}</p>
      </div>
    );
  if (!page || page.name !== name) return <div className="gallery-empty line muted">{t('Opening…')}</div>;
  return <Page key={name} page={page} />;
}

function Page({ page }: { page: EntryPage }) {
  const model = useGallery();
  const own = useValue(model.pictures);
  const [overrides, setOverrides] = useState<Overrides>({});
  const [chosen, setChosen] = useState(0);
  const [seed, setSeed] = useState(SEED);
  const [now, setNow] = useState<{ document: GraphDocument; code: string }>({
    document: page.document,
    code: page.code,
  });
  const [slider, setSlider] = useState(() => SAME_PLACE.includes(page.family));
  const waits = page.waiting !== undefined;
  // Photographs come in the requested order; entries with annotations keep their own pictures.
  const first = page.pictures ? chosen : 0;
  const sample = page.pictures ? 0 : chosen;
  const run = !waits;
  const main = useDrawing(
    run
      ? {
          name: page.name,
          variants: [{ overrides, seed }],
          first,
          samples: Math.max(SAMPLES, sample + 1),
          size: STAGE,
        }
      : null,
    own,
  );
  const settled = useSettled(overrides, 120);
  const drawn = main.drawn;
  const variant = drawn?.variants[0];

  useEffect(() => {
    if (Object.keys(settled).length === 0) {
      setNow({ document: page.document, code: page.code });
      return;
    }
    let current = true;
    model.code(page.name, settled).then(
      (found) => current && setNow(found),
      () => undefined,
    );
    return () => {
      current = false;
    };
  }, [model, page, settled]);

  const change = (control: Control, value: Value): void =>
    setOverrides((old) => ({ ...old, [control.node]: { ...old[control.node], [control.name]: value } }));
  const operators = useMemo(() => page.reference.filter(({ name }) => page.operators.includes(name)), [page]);
  const count = page.pictures ? (drawn?.photographs ?? 1) : (variant?.after[0]?.images.length ?? 1);
  const { host } = model;
  const insert = host.insert;

  return (
    <div className="gallery-page" data-testid="gallery-entry" data-entry={page.name}>
      <div className="entry-main">
        <div className="stage-row" data-working={main.working}>
          {waits ? (
            <div className="gallery-empty line muted">{t('Waiting: %1', page.waiting)}</div>
          ) : (
            <>
              {(variant?.problem ?? main.problem) !== null && (variant || main.problem !== null) && (
                <p className="problem error" role="alert">
                  {variant?.problem ?? main.problem}
                </p>
              )}
              {variant?.problem === null && variant.after.length === 1 && slider && (
                <Split
                  before={variant.before?.images[sample] ?? null}
                  beforeOverlay={variant.before?.overlays[sample]}
                  after={variant.after[0]?.images[sample] ?? null}
                  afterOverlay={variant.after[0]?.overlays[sample]}
                />
              )}
              {variant?.problem === null && variant.after.length === 1 && !slider && (
                <div className="pair" data-testid="gallery-pair">
                  {[variant.before, variant.after[0]].map((view, index) =>
                    view ? (
                      <figure key={index}>
                        <Frame
                          picture={view.images[sample]}
                          overlay={view.overlays[sample]}
                          alt={index === 0 ? t('before') : t('after')}
                        />
                        <figcaption>
                          {index === 0 ? t('before') : t('after')}{' '}
                          <span className="muted">{view.shapes[sample]}</span>
                        </figcaption>
                      </figure>
                    ) : null,
                  )}
                </div>
              )}
              {variant?.problem === null && variant.after.length > 1 && (
                <div className="views" data-testid="gallery-views">
                  {variant.before && (
                    <figure>
                      <Frame picture={variant.before.images[sample]} alt={t('before')} />
                      <figcaption>{t('before')}</figcaption>
                    </figure>
                  )}
                  {variant.after.map((view, index) => (
                    <figure key={index}>
                      <Frame
                        picture={view.images[sample]}
                        overlay={view.overlays[sample]}
                        alt={t('view %1', index + 1)}
                      />
                      <figcaption>
                        {t('view %1', index + 1)} <span className="muted">{view.shapes[sample]}</span>
                      </figcaption>
                    </figure>
                  ))}
                </div>
              )}
            </>
          )}
        </div>
        {run && (
          <div className="stage-foot line">
            {page.views === 1 && (
              <Choices
                label={t('How to compare')}
                value={slider}
                choices={[
                  { value: false, text: t('Side by side') },
                  { value: true, text: t('Slider') },
                ]}
                onChange={setSlider}
              />
            )}
            <span className="spring" />
            {count > 1 && (
              <>
                <Button
                  data-action="previous-picture"
                  onClick={() => setChosen((chosen + count - 1) % count)}
                >
                  {t('Previous picture')}
                </Button>
                <Button data-action="next-picture" onClick={() => setChosen((chosen + 1) % count)}>
                  {t('Next picture')}
                </Button>
              </>
            )}
          </div>
        )}
        {run && (
          <Section title={page.random ? t('Random draws') : t('On other pictures')}>
            {page.random ? (
              <Draws
                request={{
                  name: page.name,
                  first,
                  samples: sample + 1,
                  variants: seeds(seed, settled),
                  size: 160,
                  before: false,
                }}
                sample={sample}
                version={own}
                onAgain={() => setSeed(Math.floor(Math.random() * 1e6))}
              />
            ) : (
              <>
                <Others view={variant?.after[0]} count={SAMPLES} />
                <p className="muted">
                  {t('Nothing here is random: the same picture gives the same result each time.')}
                </p>
              </>
            )}
          </Section>
        )}
        {run && page.controls.some(({ kind }) => kind === 'number') && (
          <Section title={t('The range of an argument')}>
            <ArgumentRange
              key={page.name}
              name={page.name}
              controls={page.controls.filter(({ kind }) => kind === 'number')}
              overrides={settled}
              first={first}
              sample={sample}
              seed={seed}
              onPick={change}
            />
          </Section>
        )}
        <Section title={t('Graph')}>
          <div className="graph-frame">
            <GraphPicture document={now.document} marked={page.fragment} />
          </div>
        </Section>
        {now.code !== '' && (
          <Section title={t('Python')}>
            <Code text={now.code} />
          </Section>
        )}
      </div>
      <aside className="entry-side">
        <h2>{page.title}</h2>
        <p className="entry-tags">
          {page.tags.map((tag) => (
            <button
              key={tag}
              type="button"
              className="tag"
              onClick={() => {
                model.filter.set({ text: '', family: null, tag });
                model.go({ page: 'wall' });
              }}
            >
              {tag}
            </button>
          ))}
        </p>
        <dl className="verdict">
          <dt>{t('Helps')}</dt>
          <dd>{page.helps}</dd>
          <dt>{t('Hurts')}</dt>
          <dd>{page.hurts}</dd>
        </dl>
        <div className="entry-actions">
          <Button
            className="primary"
            data-action="open-in-editor"
            onClick={() => host.open(now.document, page.title, page.name)}
          >
            {t('Open in editor')}
          </Button>
          <Button
            data-action="insert"
            disabled={!insert || page.fragment.length === 0}
            title={
              insert ? t('Insert its nodes after the selected node') : t('No graph is open to insert it into')
            }
            onClick={() => insert?.(page, now.document)}
          >
            {t('Insert into my graph')}
          </Button>
        </div>
        {run && (
          <Section title={t('Arguments')}>
            <Controls
              controls={page.controls}
              overrides={overrides}
              onChange={change}
              onReset={() => setOverrides({})}
            />
          </Section>
        )}
        {page.pictures && run && <MyPictures annotated={page.annotated} />}
        {run && (
          <Section title={t('Cost')}>
            <CostCard name={page.name} overrides={settled} />
          </Section>
        )}
        <Section title={t('Operators')}>
          <div className="operators" data-testid="gallery-operators">
            {operators.map((operator) => (
              <details key={operator.name}>
                <summary>
                  <code>{`fn.${operator.name}`}</code>{' '}
                  <span className="muted">{operator.summary.replace(/`+/g, '')}</span>
                </summary>
                <OperatorHelp operator={operator} />
              </details>
            ))}
          </div>
        </Section>
        <p className="muted entry-folder" title={page.folder}>
          {page.own ? t('Yours, in %1', page.folder) : `gallery/${page.name}`}
        </p>
      </aside>
    </div>
  );
}
