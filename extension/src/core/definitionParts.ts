/** The ports and the nodes of a definition: of one that stands open, and of one that is made of nodes. */
import { outputsOf, type Catalogue } from './catalogue';
import { inputAt, inputCount, kindOf } from './connect';
import { inside, parameterOf } from './definitions';
import {
  bareEdge,
  formatEdge,
  freeName,
  links,
  parseEdge,
  upstream,
  type EdgeRef,
  type GraphDocument,
  type GraphNode,
  type OutputRef,
  type Subgraph,
  type SubgraphArgument,
} from './document';
import { trimmed } from './edits/rewriting';

/** The ports of a definition that stands open, by the nodes that they belong to now. */
export interface Interface {
  inputs: { name: string; targets: string[] }[];
  parameters: Record<string, SubgraphArgument[]>;
  outputs: EdgeRef[];
  /** Outputs of nodes that other nodes inside take. */
  taken: ReadonlySet<EdgeRef>;
}

export function interfaceOf(definition: Subgraph, names: Readonly<Record<string, string>>): Interface {
  const here = new Map(Object.entries(names).map(([id, inner]) => [inner, id]));
  const inputs = definition.inputs.map((name) => ({
    name,
    targets: Object.entries(definition.nodes).flatMap(([inner, node]) =>
      (node.inputs ?? []).flatMap((reference, index) =>
        reference !== null && parseEdge(reference).node === name ? [`${here.get(inner) ?? ''}:${index}`] : [],
      ),
    ),
  }));
  const parameters = Object.entries(definition.arguments ?? {}).map(([parameter, targets]) => [
    parameter,
    targets.map(({ node, argument }) => ({ node: here.get(node) ?? '', argument })),
  ]);
  const outer = (source: OutputRef): EdgeRef => formatEdge({ ...source, node: here.get(source.node) ?? '' });
  return {
    inputs,
    parameters: Object.fromEntries(parameters) as Interface['parameters'],
    outputs: definition.outputs.map((reference) => outer(parseEdge(reference))),
    taken: new Set(links(inside(definition, {})).map(({ source }) => outer(source))),
  };
}

/** The ports and the nodes of a definition that is made of members of a document. */
export class Parts {
  readonly inputs: string[] = [];
  /** The source of each input. */
  readonly given: (EdgeRef | null)[] = [];
  readonly parameters: Record<string, SubgraphArgument[]> = {};
  readonly connections: Record<string, EdgeRef> = {};
  readonly outputs: EdgeRef[] = [];
  /** New ends in place of outputs of the definition that stood open, by their index. */
  readonly continued = new Map<number, EdgeRef>();
  private readonly members: ReadonlySet<string>;
  /** The input that stands for an input of a member: "node:index". */
  private readonly inputOf = new Map<string, string>();

  constructor(
    readonly document: GraphDocument,
    readonly catalogue: Catalogue,
    private readonly order: readonly string[],
    open: Interface | undefined,
  ) {
    this.members = new Set(order);
    if (open) this.takeOver(open);
    this.findInputs();
    this.findParameters(open === undefined);
    this.findOutputs(open);
  }

  private takeOver(open: Interface): void {
    for (const { name, targets } of open.inputs) {
      this.inputs.push(name);
      this.given.push(null);
      for (const target of targets) this.inputOf.set(target, name);
    }
    for (const [parameter, targets] of Object.entries(open.parameters)) {
      const left = targets.filter(({ node }) => this.members.has(node));
      if (left.length > 0) this.parameters[parameter] = left;
    }
    this.outputs.push(...open.outputs.filter((reference) => this.members.has(parseEdge(reference).node)));
  }

  private outside(reference: EdgeRef | null | undefined): reference is EdgeRef {
    return reference != null && !this.members.has(parseEdge(reference).node);
  }

  private findInputs(): void {
    const names: Record<string, unknown> = Object.fromEntries(
      [...this.order, ...this.inputs].map((each) => [each, true]),
    );
    const bySource = new Map<EdgeRef, string>();
    for (const id of this.order) {
      const node = this.document.nodes[id];
      const operator = this.catalogue.operator(node?.op);
      const count = inputCount(operator, node?.inputs?.length ?? 0);
      for (let index = 0; index < count; index++) {
        const reference = node?.inputs?.[index];
        const declared = inputAt(operator, index);
        if (reference != null && !this.outside(reference)) continue;
        if (reference == null && (declared?.optional === true || declared?.variadic === true)) continue;
        const known = this.inputOf.get(`${id}:${index}`);
        let name = known ?? (reference == null ? undefined : bySource.get(bareEdge(reference)));
        if (name === undefined) {
          const kind = reference == null ? declared?.kind : kindOf(this, parseEdge(reference));
          name = freeName(names, kind === 'image' ? 'images' : (declared?.name ?? 'data'));
          names[name] = true;
          this.inputs.push(name);
          this.given.push(null);
        }
        this.inputOf.set(`${id}:${index}`, name);
        const place = this.inputs.indexOf(name);
        if (reference != null) {
          this.given[place] = bareEdge(reference);
          bySource.set(bareEdge(reference), name);
        }
      }
    }
  }

  private findParameters(fresh: boolean): void {
    const bySource = new Map<string, string>();
    const add = (node: string, argument: string): string => {
      const name = Object.hasOwn(this.parameters, argument) ? `${node}_${argument}` : argument;
      const free = freeName({ ...this.parameters }, name);
      this.parameters[free] = [{ node, argument }];
      return free;
    };
    for (const id of this.order) {
      const node = this.document.nodes[id];
      for (const [argument, reference] of Object.entries(node?.connections ?? {})) {
        if (!this.outside(reference)) continue;
        const key = `${bareEdge(reference)} ${argument}`;
        const own = parameterOf(this.parameters, id, argument);
        const shared = own ?? bySource.get(key);
        const name = shared ?? add(id, argument);
        if (own === undefined && shared !== undefined) this.parameters[name]?.push({ node: id, argument });
        bySource.set(key, name);
        this.connections[name] = bareEdge(reference);
      }
      if (!fresh) continue;
      const operator = this.catalogue.operator(node?.op);
      for (const argument of Object.keys(node?.arguments ?? {})) {
        const declared = operator?.arguments.find((each) => each.name === argument);
        if (declared && !declared.advanced && node?.connections?.[argument] === undefined) add(id, argument);
      }
    }
  }

  /**
   * Outputs that leave or that nothing takes. Where an open sub-graph was continued at its end, the output is the new
   * end.
   */
  private findOutputs(open: Interface | undefined): void {
    const used = new Set<EdgeRef>();
    const add = (reference: EdgeRef): void => {
      if (!this.outputs.includes(reference)) this.outputs.push(reference);
    };
    const leaving = new Set<EdgeRef>();
    for (const { source, target } of links(this.document)) {
      if (!this.members.has(source.node)) continue;
      used.add(formatEdge(source));
      if (!this.members.has(target.node)) leaving.add(formatEdge(source));
    }
    for (const reference of this.document.outputs) leaving.add(bareEdge(reference));
    for (const id of this.order) {
      const node = this.document.nodes[id];
      const count = Math.max(1, outputsOf(this.catalogue.operator(node?.op), node).length);
      for (let output = 0; output < count; output++) {
        const reference = formatEdge({ node: id, output });
        if (leaving.has(reference) || !used.has(reference)) add(reference);
      }
    }
    open?.outputs.forEach((before, index) => {
      const place = this.outputs.indexOf(before);
      if (place < 0 || leaving.has(before) || !used.has(before) || open.taken.has(before)) return;
      const end = this.outputs
        .filter((each) => !open.outputs.includes(each))
        .find((each) => upstream(this.document, parseEdge(each).node).has(parseEdge(before).node));
      if (end === undefined) return;
      this.outputs.splice(this.outputs.indexOf(end), 1);
      this.outputs[place] = end;
      this.continued.set(index, end);
    });
  }

  /** The nodes with links to the inputs; offered arguments keep what an earlier definition says. */
  nodes(earlier: (id: string) => GraphNode | undefined): Record<string, GraphNode> {
    return Object.fromEntries(
      this.order.map((id): [string, GraphNode] => {
        const node = this.document.nodes[id] as GraphNode;
        const inputs = (node.inputs ?? []).map((reference, index) => {
          const name = this.inputOf.get(`${id}:${index}`);
          return name !== undefined && (reference == null || this.outside(reference)) ? name : reference;
        });
        for (let index = inputs.length; this.inputOf.has(`${id}:${index}`); index++)
          inputs.push(this.inputOf.get(`${id}:${index}`) as string);
        const connections = Object.fromEntries(
          Object.entries(node.connections ?? {}).filter(([, reference]) => !this.outside(reference)),
        );
        const values = { ...node.arguments };
        for (const targets of Object.values(this.parameters)) {
          for (const { argument } of targets.filter((each) => each.node === id)) {
            const old = earlier(id);
            if (!old) {
              // An argument that is given from outside here needs a value where another use gives none.
              const start = this.catalogue.operator(node.op)?.start?.[argument];
              if (values[argument] === undefined && start !== undefined) values[argument] = start;
              continue;
            }
            const before = old.arguments?.[argument];
            if (before === undefined)
              delete values[argument]; // eslint-disable-line @typescript-eslint/no-dynamic-delete
            else values[argument] = before;
          }
        }
        return [id, { ...node, inputs: trimmed(inputs), arguments: values, connections }];
      }),
    );
  }

  /** The values of offered arguments that differ from those of an earlier definition. */
  constants(earlier: (id: string) => GraphNode | undefined): NonNullable<GraphNode['arguments']> {
    const found: NonNullable<GraphNode['arguments']> = {};
    for (const [parameter, [first]] of Object.entries(this.parameters)) {
      const old = earlier(first?.node ?? '');
      if (!first || !old || this.connections[parameter] !== undefined) continue;
      const value = this.document.nodes[first.node]?.arguments?.[first.argument];
      const before = old.arguments?.[first.argument];
      if (value !== undefined && JSON.stringify(value) !== JSON.stringify(before)) found[parameter] = value;
    }
    return found;
  }
}
