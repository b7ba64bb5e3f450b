/** Keeps the session's document and ours the same: sends our edits, takes those of other editors, loses nothing. */
import { apply, changesMeaning, diff, isEmpty, type Changes } from './changes';
import { RequestError, type Connection } from './connection';
import type { GraphDocument } from './document';
import type { History } from './history';
import { Observable } from './observable';

/** At most one edit message in this many milliseconds while a gesture goes on. */
const INTERVAL_MS = 24;

export class Sync {
  readonly revision = new Observable(0);
  /** Edits that the session has not confirmed. */
  readonly pending = new Observable(false);
  private confirmed: GraphDocument;
  private sent: GraphDocument;
  private timer: ReturnType<typeof setTimeout> | null = null;
  private due = false;
  private lastSent = 0;
  private connected = false;
  /** Counts the documents that were taken over, and tells the last one's revision. */
  private adoptions = 0;
  private adopted = 0;

  constructor(
    private connection: Connection,
    private history: History,
    private hooks: {
      /** An edit that changes results has just been sent. */
      onMeaning: () => void;
      onRefused: (error: RequestError) => void;
    },
  ) {
    this.confirmed = history.document;
    this.sent = history.document;
    history.onChange(({ origin }) => {
      if (origin !== 'remote' && origin !== 'reset') this.send();
    });
  }

  /** The session has exactly this document. */
  adopt(document: GraphDocument, revision: number): void {
    this.confirmed = document;
    this.sent = document;
    this.connected = true;
    this.adoptions++;
    this.adopted = revision;
    this.revision.set(revision);
    this.pending.set(false);
  }

  /** Edits that the session does not have. */
  unsent(): Changes {
    return diff(this.confirmed, this.history.document);
  }

  disconnected(): void {
    this.connected = false;
    this.sent = this.confirmed;
  }

  /** The same session is back, with its document: missing edits are sent again. */
  resume(document: GraphDocument, revision: number): void {
    const ours = this.unsent();
    const edited = this.pending.get();
    this.adopt(document, revision);
    const merged = apply(document, ours);
    const remote = diff(this.history.document, merged);
    if (!isEmpty(remote)) this.history.applyRemote(remote);
    if (edited) this.flush('all');
  }

  /** Applies another editor's changes below our unsent edits. */
  remote(changes: Changes, revision: number): void {
    const ours = this.unsent();
    const underway = diff(this.confirmed, this.sent);
    this.confirmed = apply(this.confirmed, changes);
    this.sent = apply(this.confirmed, underway);
    this.revision.set(revision);
    const merged = apply(this.confirmed, ours);
    const foreign = diff(this.history.document, merged);
    if (!isEmpty(foreign)) this.history.applyRemote(foreign);
  }

  /** An edit is about to be made: it is sent before the page draws it, as what is queued first comes first. */
  prepare(): void {
    if (this.timer !== null || this.due || this.lastSent + INTERVAL_MS > Date.now()) return;
    this.due = true;
    queueMicrotask(() => this.due && this.flush());
  }

  /** The document differs from the session's: it is sent in a moment. */
  send(): void {
    this.prepare();
    this.pending.set(true);
    if (this.timer !== null || this.due) return;
    this.timer = setTimeout(() => this.flush(), this.lastSent + INTERVAL_MS - Date.now());
  }

  /**
   * Sends unsent edits at once. Places that only the opening gave to nodes go along, or are sent where `all` is wanted,
   * as for a file: alone they are no change of the person's, and leave the document as saved as it was.
   */
  flush(what: 'edits' | 'all' = 'edits'): void {
    if (this.timer !== null) clearTimeout(this.timer);
    this.timer = null;
    this.due = false;
    if (!this.connected || (what === 'edits' && !this.pending.get())) return;
    const target = this.history.document;
    const base = this.sent;
    const changes = diff(base, target);
    const placed = !this.pending.get();
    if (isEmpty(changes)) {
      this.pending.set(!isEmpty(diff(this.confirmed, this.sent)));
      return;
    }
    this.sent = target;
    this.lastSent = Date.now();
    this.pending.set(true);
    const adoption = this.adoptions;
    this.connection
      .call('edit', {
        base: this.revision.get(),
        changes,
        ...(placed ? { placed } : {}),
      })
      .then(({ revision }) => {
        if (adoption !== this.adoptions) {
          // Another document came meanwhile: the edit is in it or gone with the one before, or was made to it.
          if (revision > this.adopted) this.remote(changes, revision);
          return;
        }
        this.confirmed = apply(this.confirmed, changes);
        this.revision.set(Math.max(revision, this.revision.get()));
        if (isEmpty(diff(this.confirmed, this.history.document))) {
          this.confirmed = this.sent;
          this.pending.set(false);
        }
      })
      .catch((error: unknown) => {
        if (!(error instanceof RequestError)) throw error;
        if (adoption === this.adoptions) this.sent = this.confirmed;
        if (error.code !== 'disconnected') this.hooks.onRefused(error);
      });
    if (changesMeaning(changes, base)) this.hooks.onMeaning();
  }
}
