/** Shells of a kernel beside its main one: what is asked of them is answered while a cell runs. */
import type { Kernel } from '@jupyterlab/services';

/** How long the kernel may take to make a shell; without one, messages wait for the cell that runs. */
const SHELL_MS = 15_000;

/** A new shell; null, which means the main one, where the kernel has no others. */
export async function makeShell(kernel: Kernel.IKernelConnection): Promise<string | null> {
  if (!kernel.supportsSubshells) return null;
  return new Promise((resolve) => {
    setTimeout(() => resolve(null), SHELL_MS);
    const future = kernel.requestCreateSubshell({});
    future.onReply = ({ content }) => resolve(content.subshell_id);
    future.done.catch(() => resolve(null));
  });
}

export function deleteShell(kernel: Kernel.IKernelConnection, shell: string | null): void {
  if (shell === null || kernel.isDisposed || kernel.status === 'dead') return;
  kernel.requestDeleteSubshell({ subshell_id: shell }).done.catch(() => undefined);
}
