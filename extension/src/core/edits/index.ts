/** Edits of a document as pure functions: document in, document out. */
export * from './clip';
export * from './links';
export * from './nodes';
export type { Point } from './rewriting';
export * from './view';
