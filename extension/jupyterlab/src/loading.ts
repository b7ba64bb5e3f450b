/** Loads the kernel's side of a session. */
import { KernelMessage, type Kernel } from '@jupyterlab/services';
import type { TranslationBundle } from '@jupyterlab/translation';
import { answered } from './answered';
import { pause } from './pause';
import { deleteShell, hasShells, kernelInfo, makeShell } from './shells';

type Reply = KernelMessage.IExecuteReplyMsg;

/**
 * Import code that leaves no trace in the user's namespace or history. The folder that the kernel works in is no place
 * of modules until the person has run a cell: opening a graph runs nothing that lies beside it.
 */
const IMPORT = `
shell = getattr(sys.modules.get('IPython'), 'get_ipython', lambda: None)()
held = shell is not None and len(shell.user_ns.get('In', '')) < 2 and '' in sys.path
if held:
    sys.path.remove('')
try:
    import dali_lab.studio.hosts.jupyter
    if held:
        dali_lab.studio.hosts.jupyter.hold(shell)
except BaseException:
    if held:
        sys.path.insert(0, '')
    raise
`;
/** Printed by the second import while the first one is running. */
const LOADING = 'dali_lab is being imported';
/**
 * Comes before the import beside a cell that runs: not while something is being imported, as two threads in the middle
 * of imports may wait for each other.
 */
const NOT_WHILE_IMPORTING = `
under_way = [
    name
    for name, module in list(sys.modules.items())
    if getattr(getattr(module, '__spec__', None), '_initializing', False)
]
if under_way:
    raise ImportError('${LOADING}' if 'dali_lab' in under_way else 'a module is being imported')
`;
const inItsOwnNamespace = (code: string): string => `exec("""import sys${code}""", {})`;

/** A kernel that has not answered after this time loads, or runs a cell. */
const SOON_MS = 1500;
const AGAIN_MS = 2000;
/** The same where it cannot be asked which of the two. */
const LATE_MS = 6000;

/** The kernel's side is there, and whether it can be reached while a cell runs; or why it is not. */
type Loaded = { shells: boolean } | { problem: string };

/**
 * Imports the kernel's side; `busy` is told when that has to wait.
 *
 * An answer counts when all of its messages have come: what the session says then arrives, too.
 */
export async function load(
  kernel: Kernel.IKernelConnection,
  trans: TranslationBundle,
  busy: (message: string) => void,
): Promise<Loaded> {
  const silent = { problem: trans.__('The kernel did not answer.') };
  const info = await answered(() => kernelInfo(kernel)).catch(() => null);
  if (info?.status !== 'ok') return silent;
  const language = info.language_info.name;
  if (language !== 'python')
    return { problem: trans.__('Pipelines run in a Python kernel; this one is for %1.', language) };
  const shells = hasShells(info);
  const reply = await loaded(kernel, shells, () => {
    busy(trans.__('A cell is running in this kernel. The pipeline starts when it has ended.'));
  });
  if (!reply) return silent;
  const { content } = reply;
  if (content.status === 'ok') return { shells };
  if (content.status !== 'error')
    return { problem: trans.__('The kernel was interrupted before it was ready.') };
  const { ename, evalue } = content;
  return {
    problem: /No module named .dali_lab/.test(evalue)
      ? trans.__('dali_lab is not installed in this kernel: run "pip install dali-lab" in its environment.')
      : trans.__('The kernel could not load dali_lab: %1: %2', ename, evalue),
  };
}

/** The answer to the import; null when the kernel goes. */
async function loaded(
  kernel: Kernel.IKernelConnection,
  shells: boolean,
  busy: () => void,
): Promise<Reply | null> {
  let waiting = true;
  const inTurn = answered(() => execute(kernel, inItsOwnNamespace(IMPORT), null)).catch(() => null);
  const beside = loadedBeside(kernel, shells, {
    waits: () => waiting && !kernel.isDisposed,
    busy: () => waiting && busy(),
  });
  const reply = await Promise.race([inTurn, beside.then((first) => first ?? inTurn)]);
  waiting = false;
  return reply;
}

/** The answer from beside a cell that runs, once it can be had; tells `busy` that there is such a cell. */
async function loadedBeside(
  kernel: Kernel.IKernelConnection,
  shells: boolean,
  { waits, busy }: { waits: () => boolean; busy: () => void },
): Promise<Reply | null> {
  await pause(SOON_MS);
  if (!waits()) return null;
  const shell = shells ? await makeShell(kernel) : null;
  if (shell === null) {
    await pause(LATE_MS);
    busy();
    return null;
  }
  try {
    while (waits()) {
      const reply = await execute(kernel, inItsOwnNamespace(NOT_WHILE_IMPORTING + IMPORT), shell);
      const { content } = reply;
      if (content.status === 'ok') return reply;
      if (content.status !== 'error' || content.evalue !== LOADING) busy();
      await pause(AGAIN_MS);
    }
  } catch {
    // The kernel went: the other import says so.
  } finally {
    deleteShell(kernel, shell);
  }
  return null;
}

async function execute(
  kernel: Kernel.IKernelConnection,
  code: string,
  subshellId: string | null,
): Promise<Reply> {
  const message = KernelMessage.createMessage({
    msgType: 'execute_request',
    channel: 'shell',
    username: kernel.username,
    session: kernel.clientId,
    subshellId,
    content: { code, silent: true, store_history: false, stop_on_error: false },
  } as KernelMessage.IOptions<KernelMessage.IExecuteRequestMsg>);
  const future = kernel.sendShellMessage(message, true, true) as Kernel.IShellFuture<
    KernelMessage.IExecuteRequestMsg,
    Reply
  >;
  return future.done;
}
