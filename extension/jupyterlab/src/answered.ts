/**
 * Requests that are repeated until they are answered.
 *
 * A message sent while a connection to a kernel is being made may be lost in either direction: a kernel that is busy
 * just then publishes before anybody listens, and no error is reported.
 */

/** After this time a request is repeated, then after twice as long, and so on. */
const FIRST_MS = 2000;
const LONGEST_MS = 60_000;

/** The first answer to a request that may be sent several times; rejects when sending fails. */
export function answered<T>(ask: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    let timer: ReturnType<typeof setTimeout>;
    let wait = FIRST_MS;
    const attempt = (): void => {
      timer = setTimeout(attempt, wait);
      wait = Math.min(2 * wait, LONGEST_MS);
      Promise.resolve()
        .then(ask)
        .finally(() => clearTimeout(timer))
        .then(resolve, reject);
    };
    attempt();
  });
}
