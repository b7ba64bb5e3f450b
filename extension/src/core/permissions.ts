/** Permissions that the session lacks: asked for one after the other, and given by the person alone. */
import { RequestError, type Connection } from './connection';
import { Observable } from './observable';
import type { Consent, Permission } from './protocol';

/** A question that stands before the person. */
export interface Question {
  permission: Permission;
  consent: Consent;
  /** Why the answer to the former question of this kind was not taken. */
  problem: string | null;
  answer: (agreed: boolean) => void;
}

export class Permissions {
  readonly question = new Observable<Question | null>(null);
  private pending = new Map<string, Promise<boolean>>();
  private last: Promise<unknown> = Promise.resolve();

  constructor(
    private connection: Connection,
    private given: () => void = () => undefined,
  ) {
    connection.onLacking = (permission) => this.ask(permission);
  }

  /** Asks the session what a permission is about, and the person for it; whether it was given. */
  ask(permission: Permission): Promise<boolean> {
    const key = `${permission.what} ${permission.name}`;
    const asked = this.pending.get(key);
    if (asked) return asked;
    const answer = this.last.then(() => this.askNow(permission)).finally(() => this.pending.delete(key));
    this.pending.set(key, answer);
    this.last = answer.catch(() => undefined);
    return answer;
  }

  /** Takes the question away, as if the person had said no. */
  dismiss(): void {
    this.question.get()?.answer(false);
  }

  private async askNow(permission: Permission): Promise<boolean> {
    let refusal = await this.refusal({ permission });
    let problem: string | null = null;
    while (refusal) {
      const { consent } = refusal;
      if (!consent) throw refusal;
      const agreed = await new Promise<boolean>((answer) =>
        this.question.set({ permission, consent, problem, answer }),
      );
      this.question.set(null);
      if (!agreed) return false;
      refusal = await this.refusal({ permission, consent: consent.number });
      problem = refusal?.message ?? null;
    }
    this.given();
    return true;
  }

  private async refusal(params: { permission: Permission; consent?: string }): Promise<RequestError | null> {
    try {
      await this.connection.call('allow', params);
      return null;
    } catch (error) {
      if (error instanceof RequestError) return error;
      throw error;
    }
  }
}
