/** Types of the gallery's messages. */
export type * from '../core/protocol.generated';
