/** Notices to the user: the newest few, each once; all but errors close by themselves. */
import type { Point } from './edits';
import { Observable } from './observable';
import type { Notice, NoticeAction } from './state';

export interface NoticeOptions {
  actions?: NoticeAction[];
  /** Where on the canvas it belongs; one notice at a time has a place. */
  at?: Point;
  detail?: string;
}

const MOST = 4;
const SHORT_MS = 6000;
const WITH_ACTIONS_MS = 12000;

export class NoticeBoard {
  readonly notices = new Observable<readonly Notice[]>([]);
  private count = 0;

  notify(level: Notice['level'], message: string, { actions = [], at, detail }: NoticeOptions): void {
    const id = ++this.count;
    const others = this.notices.get().filter((other) => other.message !== message && !(other.at && at));
    this.notices.set([...others.slice(1 - MOST), { id, level, message, detail, actions, at }]);
    if (level !== 'error')
      setTimeout(() => this.dismiss(id), actions.length > 0 ? WITH_ACTIONS_MS : SHORT_MS);
  }

  dismiss(id: number): void {
    const left = this.notices.get().filter((notice) => notice.id !== id);
    if (left.length !== this.notices.get().length) this.notices.set(left);
  }
}
