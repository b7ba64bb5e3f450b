/** The bar that shows the state of a document's kernel, with actions to restart or replace it. */
import type { ISessionContext, ISessionContextDialogs } from '@jupyterlab/apputils';
import type { TranslationBundle } from '@jupyterlab/translation';
import { makeBar, showBar, type Action } from './bars';
import type { State } from './transport';

const LEVELS = { restart: 'error', choose: 'warning', interrupt: 'info' } as const;

export class KernelBar {
  readonly node = makeBar('kernel');
  /** The kernel died, and the person has not been told that it is back. */
  private died = false;

  constructor(
    private session: ISessionContext,
    private dialogs: ISessionContextDialogs,
    private trans: TranslationBundle,
    /** Says that a kernel which died is back. */
    private returned: (message: string) => void,
  ) {}

  show(state: State): void {
    const { trans } = this;
    if (state.status === 'connected' && this.died) {
      this.died = false;
      this.returned(trans.__('The kernel died and was started again. The graph is kept.'));
    }
    if (state.status !== 'disconnected' && state.detail === undefined) {
      showBar(this.node, null);
      return;
    }
    this.died ||= state.died === true;
    showBar(this.node, {
      level: LEVELS[state.remedy ?? 'choose'],
      text: state.detail ?? trans.__('The kernel cannot be reached.'),
      actions: this.actions(state.remedy),
    });
  }

  private actions(remedy: State['remedy']): Action[] {
    const { session, dialogs, trans } = this;
    const actions: Action[] = [];
    if (remedy === 'interrupt')
      actions.push({
        title: trans.__('Interrupt kernel'),
        run: () => void session.session?.kernel?.interrupt(),
      });
    if (remedy === 'restart')
      actions.push({
        title: trans.__('Restart kernel'),
        run: () => void (session.session ? session.restartKernel() : session.startKernel()),
      });
    if (remedy)
      actions.push({ title: trans.__('Choose kernel…'), run: () => void dialogs.selectKernel(session) });
    return actions;
  }
}
