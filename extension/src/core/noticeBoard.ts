/** Notices to the user: the newest few, each once; they go when what they speak of has gone, and by themselves. */
import type { Point } from './edits';
import { Observable } from './observable';
import type { Notice, NoticeAction } from './state';

export interface NoticeOptions {
  actions?: NoticeAction[];
  /** Its place on the canvas; one notice at a time has a place. */
  at?: Point;
  detail?: string;
  /** The subject: a later notice or success about it takes its place. */
  about?: string;
}

const MOST = 4;
const SHORT_MS = 6000;
const WITH_ACTIONS_MS = 12000;
/** Errors can be read in peace, and do not stay for ever beside what has been mended since. */
const ERROR_MS = 30000;

export class NoticeBoard {
  readonly notices = new Observable<readonly Notice[]>([]);
  private count = 0;

  notify(level: Notice['level'], message: string, { actions = [], at, detail, about }: NoticeOptions): void {
    const id = ++this.count;
    const others = this.notices
      .get()
      .filter(
        (other) =>
          other.message !== message && !(other.at && at) && (about === undefined || other.about !== about),
      );
    this.notices.set([...others.slice(1 - MOST), { id, level, message, detail, actions, at, about }]);
    const stays = level === 'error' ? ERROR_MS : actions.length > 0 ? WITH_ACTIONS_MS : SHORT_MS;
    setTimeout(() => this.dismiss(id), stays);
  }

  dismiss(id: number): void {
    const left = this.notices.get().filter((notice) => notice.id !== id);
    if (left.length !== this.notices.get().length) this.notices.set(left);
  }

  /** Removes notices whose cause has gone: those about a subject, or all. */
  settle(about?: string): void {
    const left = this.notices.get().filter((notice) => about !== undefined && notice.about !== about);
    if (left.length !== this.notices.get().length) this.notices.set(left);
  }
}
