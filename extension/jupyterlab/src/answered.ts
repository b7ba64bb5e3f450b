/**
 * Questions that are asked again.
 *
 * What is said while a connection to a kernel is being made may be lost on either side: a kernel that is busy just then
 * publishes before anybody listens, and nobody is told.
 */

/** After this time a question is asked again, then after twice as long, and so on. */
const FIRST_MS = 2000;
const LONGEST_MS = 60_000;

/** The first answer to a question that may be asked several times; rejects when asking fails. */
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
