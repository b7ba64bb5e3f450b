/**
 * Requests to a kernel while a cell runs in it: questions go over its control channel, and work to a subshell.
 * JupyterLab's own requests ask the main shell first whether there are others.
 */
import { KernelMessage, type Kernel } from '@jupyterlab/services';
import { answered } from './answered';

type Connection = Kernel.IKernelConnection;
type Info = KernelMessage.IInfoReplyMsg['content'];
type Control = KernelMessage.ICreateSubshellRequestMsg;

/** Longest time that the kernel may take to make a shell; without one, messages wait for the running cell. */
const SHELL_MS = 60_000;

/** The kernel's info reply, over the channel that answers first; rejects when the kernel is gone before that. */
export async function kernelInfo(kernel: Connection): Promise<Info> {
  if (kernel.isDisposed) throw new Error('The kernel is gone.');
  return Promise.any([control<Info>(kernel, 'kernel_info_request', {}), kernel.info]);
}

/** Whether the kernel has shells beside its main one. */
export function hasShells(info: Info): boolean {
  return 'supported_features' in info && info.supported_features?.includes('kernel subshells') === true;
}

/** A new shell; null, which means the main one, where none is made in time. */
export async function makeShell(kernel: Connection): Promise<string | null> {
  return new Promise((resolve) => {
    let taken = false;
    // An answer after another one, or too late, gives a shell that nobody uses.
    const take = (shell: string | null): void => {
      if (taken) deleteShell(kernel, shell);
      else resolve(shell);
      taken = true;
    };
    setTimeout(() => take(null), SHELL_MS);
    const ask = async (): Promise<void> => {
      if (taken) return;
      const made = await control<{ subshell_id?: string }>(kernel, 'create_subshell_request', {});
      take(made.subshell_id ?? null);
    };
    answered(ask).catch(() => take(null));
  });
}

export function deleteShell(kernel: Connection, shell: string | null): void {
  if (shell === null || kernel.isDisposed || kernel.status === 'dead') return;
  control(kernel, 'delete_subshell_request', { subshell_id: shell }).catch(() => undefined);
}

/** The content of the answer to a question over the control channel. */
async function control<Content>(kernel: Connection, msgType: string, content: object): Promise<Content> {
  const message = KernelMessage.createMessage({
    msgType,
    channel: 'control',
    username: kernel.username,
    session: kernel.clientId,
    content,
  } as KernelMessage.IOptions<Control>);
  const reply = await kernel.sendControlMessage(message, true, true).done;
  return reply.content as Content;
}
