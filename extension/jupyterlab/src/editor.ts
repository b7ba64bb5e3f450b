/** The editor's bundle, the very file that the other hosts load; fetched with the first document that is opened. */
import type * as Bundle from '../../src/index';

export type { Handle, Transport } from '../../src/index';
export type { GraphDocument } from '../../src/core/document';
export type { OpenRequest } from '../../src/core/state';
export type { Bytes, ConnectionStatus, Exported, Listing, Message, Request } from '../../src/core/protocol';

export function loadEditor(): Promise<typeof Bundle> {
  // @ts-expect-error The built file has no declarations; its types are those of its sources.
  return import('../../../dali_lab/studio/static/editor.js') as Promise<typeof Bundle>;
}
