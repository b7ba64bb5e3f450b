/** Copies between CPU and GPU that placements cause: which links carry them, and how many bytes. */
import {
  isArgument,
  links,
  parseEdge,
  type Device,
  type GraphDocument,
  type Link,
  type OutputRef,
  type Target,
} from './document';
import { msg } from './language';
import type { OutputPreview } from './protocol';

export const DEVICES: Record<Device, string> = { cpu: 'CPU', gpu: 'GPU', mixed: msg('Mixed') };

/** The properties of an output that decide its size in bytes. */
type Sized = Pick<OutputPreview, 'dtype' | 'shapes' | 'batch'>;

export type Memory = 'cpu' | 'gpu';

/** The device that holds the results of a node; mixed operators take CPU data and give GPU data. */
function memoryOf(document: GraphDocument, node: string): Memory {
  const device = document.nodes[node]?.device;
  return device === 'gpu' || device === 'mixed' ? 'gpu' : 'cpu';
}

/** The memory that a link copies its data to; null for a link within one memory. */
export function transferOf(document: GraphDocument, source: OutputRef, target: Target): Memory | null {
  const from = memoryOf(document, source.node);
  // Arguments are read on the CPU, and mixed operators take their input there.
  const wanted: Memory = !isArgument(target) && document.nodes[target.node]?.device === 'gpu' ? 'gpu' : 'cpu';
  return from === wanted || isArgument(target) ? null : wanted;
}

/** The memory that an output of the pipeline is copied to, if it is handed out on another device. */
export function outputTransfer(document: GraphDocument, reference: string): Memory | null {
  const { node, device } = parseEdge(reference);
  return device && device !== memoryOf(document, node) ? device : null;
}

const BYTES: Record<string, number> = { BOOL: 1, FLOAT: 4, FLOAT16: 2, FLOAT64: 8 };

/** Bytes of a whole batch, from the samples that were shown. */
export function batchBytes({ dtype, shapes, batch }: Sized): number {
  const size = BYTES[dtype] ?? Number(/\d+$/.exec(dtype)?.[0] ?? 8) / 8;
  const volumes = shapes.map((shape) => shape.reduce((product, extent) => product * extent, 1));
  const mean = volumes.reduce((sum, volume) => sum + volume, 0) / Math.max(1, volumes.length);
  return Math.round(mean * batch * size);
}

export interface Transfers {
  count: number;
  /** Their bytes, as far as sizes are known. */
  bytes: number;
}

/** Copies between CPU and GPU in a batch; data that several nodes take on one device goes once. */
export function transfers(
  document: GraphDocument,
  output: (source: OutputRef) => Sized | undefined,
): Transfers {
  const found = new Map<string, OutputRef>();
  const note = (source: OutputRef, to: Memory | null): void => {
    if (to) found.set(`${source.node}:${source.output}@${to}`, source);
  };
  links(document).forEach(({ source, target }: Link) => note(source, transferOf(document, source, target)));
  for (const reference of document.outputs) note(parseEdge(reference), outputTransfer(document, reference));
  let bytes = 0;
  for (const source of found.values()) {
    const known = output(source);
    if (known) bytes += batchBytes(known);
  }
  return { count: found.size, bytes };
}
