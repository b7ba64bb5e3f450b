/** The user's actions on a graph: each function is one gesture, one step of undo. */
export * from './adding';
export * from './groups';
export * from './linking';
export * from './nodes';
export * from './selected';
export * from './subgraphs';
