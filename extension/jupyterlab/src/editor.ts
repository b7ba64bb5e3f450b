/** The editor's bundle, the very file that the other hosts load; fetched with the first document that is opened. */
import type { Translator } from '../../src/core/language';
import type * as Bundle from '../../src/index';

export type { Handle } from '../../src/index';
export type { GraphDocument } from '../../src/core/document';
export type { OpenRequest } from '../../src/core/state';
export type * from '../../src/core/protocol';

/** The bundle, which from now on speaks the language of `trans`. */
export async function loadEditor(trans: Translator): Promise<typeof Bundle> {
  // @ts-expect-error The built file has no declarations; its types are those of its sources.
  const bundle = (await import('../../../dali_lab/studio/static/editor.js')) as typeof Bundle;
  bundle.setTranslator(trans);
  return bundle;
}
