/** Names of nodes and ports as React Flow has them: it looks for them by selectors that hold them as they are. */

// eslint-disable-next-line no-control-regex -- a line break ends a selector, too
const SPECIAL = /[%"\\\u0000-\u001f]/g;

/** The name for React Flow, without the characters that would end a selector. */
export function flowName(name: string): string {
  return name.replace(SPECIAL, (each) => `%${each.charCodeAt(0).toString(16).padStart(2, '0')}`);
}

/** The name in the graph that React Flow has as this one. */
export function graphName(name: string): string {
  return name.replace(/%([0-9a-f]{2})/g, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
}
