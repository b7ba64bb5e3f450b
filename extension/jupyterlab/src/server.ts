/** Whether a kernel runs, asked of the server without JupyterLab's managers, which show a dialog for each failure. */
import { KernelAPI, type ServerConnection } from '@jupyterlab/services';
import { pause } from './pause';

/** A server that has not answered after this time is asked again. */
const ANSWER_MS = 10_000;

/** Whether the server runs this kernel; null where the server cannot be reached. */
export async function hasKernel(id: string, settings?: ServerConnection.ISettings): Promise<boolean | null> {
  const silence = pause(ANSWER_MS).then(() => null);
  const answer = KernelAPI.getKernelModel(id, settings).then(
    (model) => model !== undefined,
    () => null,
  );
  return Promise.race([answer, silence]);
}
