/** The card of the tour, over a corner of the canvas: what to try, and a button that does it. */
import { useEffect } from 'react';
import type { Editor } from '../core/editor';
import { goTo, TOUR } from '../core/tour';
import { useEditor, useValue } from './context';
import { Button, IconButton } from './controls/buttons';
import { remembered } from './storage';
import { t } from '../core/language';
import './Tour.css';

/** Whether the tour was taken or declined in this browser. */
const toured = remembered('toured', false);

function beginTour(editor: Editor): void {
  toured.set(true);
  goTo(editor, 0);
}

export function Tour() {
  const editor = useEditor();
  const state = useValue(editor.tour);
  const step = state === null ? undefined : TOUR[state.step];
  useEffect(() => {
    if (state === null || !step) return undefined;
    const look = (): void => {
      if (editor.tour.get() === state && step.reached(editor, state)) goTo(editor, state.step + 1);
    };
    const stops = [
      editor.document.subscribe(look),
      editor.batch.subscribe(look),
      editor.prompts.subscribe(look),
      editor.history.state.subscribe(look),
    ];
    return () => {
      for (const stop of stops) stop();
    };
  }, [editor, state, step]);
  if (state === null || !step) return null;
  return (
    <section className="tour floating" data-testid="tour" data-step={step.id} aria-label={t('Tour')}>
      <header className="line">
        <h2>{t(step.title)}</h2>
        <span className="muted">{t('%1 of %2', state.step + 1, TOUR.length)}</span>
        <IconButton icon="close" label={t('End the tour')} onClick={() => editor.tour.set(null)} />
      </header>
      <p aria-live="polite">{t(step.text)}</p>
      <div className="line">
        <Button data-action="show" onClick={() => step.show(editor)}>
          {t('Show me')}
        </Button>
        <Button data-action="skip" onClick={() => goTo(editor, state.step + 1)}>
          {state.step + 1 < TOUR.length ? t('Next') : t('Done')}
        </Button>
      </div>
    </section>
  );
}

/** Offers the tour at the first start. */
export function TourOffer() {
  const editor = useEditor();
  const taken = useValue(toured);
  const running = useValue(editor.tour, (state) => state !== null);
  const readOnly = useValue(editor.session, (session) => session.readOnly);
  const empty = useValue(editor.document, ({ nodes }) => Object.keys(nodes).length === 0);
  if (taken || running || readOnly || empty) return null;
  return (
    <section className="tour-offer stack" data-testid="tour-offer">
      <h3>{t('New here?')}</h3>
      <p className="muted hint">{t('A tour of two minutes tries six gestures in this graph.')}</p>
      <div className="line">
        <Button onClick={() => beginTour(editor)}>{t('Take the tour')}</Button>
        <Button onClick={() => toured.set(true)}>{t('Not now')}</Button>
      </div>
    </section>
  );
}
