/** What the session says of the gallery. */
export type * from '../core/protocol.generated';
