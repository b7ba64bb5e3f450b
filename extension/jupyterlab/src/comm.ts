/**
 * A comm over any connection to a kernel.
 *
 * JupyterLab lets only the first of a page's connections to a kernel have comms of its own making. A document that
 * shares the kernel of a notebook has another one, so the messages are written here.
 */
import { KernelMessage, type Kernel } from '@jupyterlab/services';
import { UUID, type JSONObject } from '@lumino/coreutils';
import type { Bytes } from './editor';
import { deleteShell, makeShell } from './shells';

type Outgoing = 'comm_open' | 'comm_msg' | 'comm_close';

export interface Listener {
  message(data: JSONObject, buffers: Bytes[]): void;
  /** The kernel's side ended it. */
  closed(): void;
}

export class KernelComm {
  private id = UUID.uuid4();
  /** A shell of its own, so that messages are answered while a cell runs; null is the main one. */
  private shell: string | null = null;
  private state: 'opening' | 'open' | 'closed' = 'opening';

  constructor(
    private kernel: Kernel.IKernelConnection,
    private target: string,
    private shells: boolean,
    private listener: Listener,
  ) {}

  /** Opens the kernel's side with the result of `data`; false when the comm was closed meanwhile. */
  async open(data: () => JSONObject): Promise<boolean> {
    const { kernel } = this;
    // All messages go the same way: those over two shells overtake each other.
    const shell = this.shells ? await makeShell(kernel) : null;
    if (this.state === 'closed' || kernel.isDisposed) {
      deleteShell(kernel, shell);
      return false;
    }
    this.shell = shell;
    this.state = 'open';
    kernel.iopubMessage.connect(this.take, this);
    this.post('comm_open', { target_name: this.target, data: data() });
    return true;
  }

  /** Throws when the kernel is gone. */
  send(data: JSONObject): void {
    if (this.state !== 'open') throw new Error('The comm is not open.');
    this.post('comm_msg', { data });
  }

  /** Stops listening; with `tell`, the kernel's side ends too. */
  close(tell: boolean): void {
    const opened = this.state === 'open';
    this.state = 'closed';
    if (!opened) return;
    const { kernel, shell } = this;
    kernel.iopubMessage.disconnect(this.take, this);
    if (!tell || kernel.isDisposed || kernel.status === 'dead') return;
    // Over the main shell: the other one may be gone before it takes the message.
    this.shell = null;
    try {
      this.post('comm_close', { data: {} });
    } catch {
      return;
    }
    deleteShell(kernel, shell);
  }

  private post(msgType: Outgoing, content: JSONObject): void {
    const { kernel } = this;
    if (kernel.isDisposed) throw new Error('The kernel is gone.');
    const message = KernelMessage.createMessage({
      msgType,
      channel: 'shell',
      username: kernel.username,
      session: kernel.clientId,
      subshellId: this.shell,
      content: { comm_id: this.id, ...content },
    } as KernelMessage.IOptions<KernelMessage.ICommMsgMsg<'shell'>>);
    kernel.sendShellMessage(message, false, true);
  }

  private take(_: unknown, message: KernelMessage.IIOPubMessage): void {
    if (KernelMessage.isCommMsgMsg(message)) {
      if (message.content.comm_id !== this.id) return;
      this.listener.message(message.content.data, (message.buffers ?? []).map(bytesOf));
    } else if (KernelMessage.isCommCloseMsg(message) && message.content.comm_id === this.id) {
      this.close(false);
      this.listener.closed();
    }
  }
}

function bytesOf(buffer: ArrayBuffer | ArrayBufferView): Bytes {
  if (buffer instanceof ArrayBuffer || buffer instanceof DataView) return buffer;
  return new DataView(buffer.buffer as ArrayBuffer, buffer.byteOffset, buffer.byteLength);
}
