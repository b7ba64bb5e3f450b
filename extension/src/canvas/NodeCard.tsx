/** A node on the canvas: title, placement, the arguments that matter, thumbnails, time and error. */
import { useUpdateNodeInternals, type NodeProps } from '@xyflow/react';
import { memo, useEffect, useMemo, useRef, type CSSProperties } from 'react';
import {
  excludedArguments,
  outputsOf,
  type ArgumentDeclaration,
  type Operator,
  type OutputDeclaration,
} from '../core/catalogue';
import { inputAt, inputCount } from '../core/connect';
import { bareEdge, formatEdge, switchOf, type GraphNode } from '../core/document';
import { openNode } from '../core/actions';
import { graphName } from '../core/flowNames';
import { definitionName } from '../core/definitions';
import { outputTransfer } from '../core/placement';
import { useEditor, useNode, useNodeState, useNodeView, useOperator, useValue } from './context';
import { ArgumentRow } from './controls/ArgumentRow';
import { IconButton } from './controls/buttons';
import { FamilyIcon, Icon } from './icons';
import { Port } from './Port';
import { CardBody, CardMessage, DeviceMark, Foot, Glance, Title } from './NodeParts';
import { halves } from '../core/values';
import { t } from '../core/language';
import './NodeCard.css';

/** Heights of cards when they were near, so that far ones keep their size. */
const heights = new WeakMap<object, Map<string, number>>();

/** The arguments that a card shows: set ones, then important ones while there is room, and connected ones. */
function cardArguments(operator: Operator | undefined, node: GraphNode): ArgumentDeclaration[] {
  const all = operator?.arguments ?? [];
  const given = node.arguments ?? {};
  const matters = ({ important, advanced, required }: ArgumentDeclaration): boolean =>
    important === true || (required === true && !advanced);
  const set = all.filter((argument) => Object.hasOwn(given, argument.name) && !argument.advanced);
  const wanted = new Set([...set.filter(matters), ...set].slice(0, 5));
  // Beside values that say what the node does, unset ones are noise, and those that they exclude are wrong.
  const told = set.length + Object.keys(node.connections ?? {}).length > 0;
  const excluded = excludedArguments(operator, node);
  for (const argument of all) {
    if (!matters(argument) || excluded.has(argument.name) || wanted.size >= (told ? 3 : 4)) continue;
    if (!told || argument.required === true || argument.default != null) wanted.add(argument);
  }
  // A sub-graph offers what its maker chose.
  const shown =
    definitionName(node.op) === null ? all.filter((argument) => wanted.has(argument)) : all.slice(0, 6);
  const linked = Object.keys(node.connections ?? {})
    .filter((name) => !shown.some((argument) => argument.name === name))
    .map(
      (name) =>
        all.find((argument) => argument.name === name) ?? { name, type: 'any' as const, tensor: true },
    );
  return [...shown, ...linked];
}

export const NodeCard = memo(function NodeCard({ id: flowId, selected, dragging, height }: NodeProps) {
  const id = graphName(flowId);
  const editor = useEditor();
  const node = useNode(id);
  const view = useNodeView(id);
  const operator = useOperator(node?.op);
  const state = useNodeState(id);
  const far = useValue(editor.view, ({ far }) => far);
  const color = useValue(editor.catalogue, (catalogue) => catalogue?.color(operator?.family)) ?? 'gray';
  const working = useValue(editor.previews.status, ({ progress }) => progress?.node === id);
  const measurePorts = useUpdateNodeInternals();

  const collapsed = view?.collapsed ?? false;
  const shown = useMemo(
    () => (node && !collapsed ? cardArguments(operator, node) : []),
    [node, operator, collapsed],
  );
  const linked = Object.keys(node?.connections ?? {});
  const inputs = inputCount(operator, node?.inputs?.length ?? 0) || (node?.inputs?.length ?? 0);
  const declared = outputsOf(operator, node);
  const outputs = Math.max(declared.length, 1);
  const ports = `${inputs}/${outputs}/${shown.map(({ name }) => name).join()}/${linked.join()}/${collapsed}`;
  const measured = useRef(ports);
  useEffect(() => {
    // React Flow measures ports when a node appears; here only when they change afterwards.
    if (measured.current !== ports) measurePorts(flowId);
    measured.current = ports;
  }, [flowId, ports, measurePorts]);

  let known = heights.get(editor);
  if (!known) heights.set(editor, (known = new Map<string, number>()));
  useEffect(() => {
    // Without pictures it is smaller than it will be.
    if (!far && height !== undefined && state === 'ok') heights.get(editor)?.set(id, height);
  }, [editor, far, height, id, state]);

  if (!node) return null;
  const classes = [
    'card',
    selected ? 'selected' : '',
    dragging ? 'dragging' : '',
    far ? 'far' : '',
    collapsed ? 'collapsed' : '',
    { bypass: 'bypassed', disabled: 'disabled', none: '' }[switchOf(view) ?? 'none'],
    state === 'error' ? 'failed' : '',
  ];
  return (
    <div
      className={classes.filter(Boolean).join(' ')}
      style={{ '--family': color, minHeight: far ? (known.get(id) ?? 240) : undefined } as CSSProperties}
      data-node-id={id}
      data-op={node.op}
      data-selected={selected}
      data-state={state}
      aria-label={`${id}, ${operator?.title ?? node.op}`}
    >
      {working && <span className="card-progress" aria-label={t('at work')} />}
      {inputs <= 1 && outputs <= 1 ? (
        <div className="card-header line">
          {inputs === 1 && (
            <Port id="in:0" type="target" kind={operator?.inputs[0]?.kind} label={portLabel(operator, 0)} />
          )}
          <Heading id={id} node={node} operator={operator} color={color} far={far} />
          {!far && <OutputMark node={id} output={0} />}
          {!far && definitionName(node.op) === null && <DeviceMark id={id} node={node} operator={operator} />}
          <Port
            id="out:0"
            type="source"
            kind={operator?.outputs[0]?.kind}
            label={operator?.outputs[0]?.name ?? t('output')}
          />
        </div>
      ) : (
        <>
          <div className="card-header line">
            <Heading id={id} node={node} operator={operator} color={color} far={far} />
            {!far && definitionName(node.op) === null && (
              <DeviceMark id={id} node={node} operator={operator} />
            )}
          </div>
          <PortRows
            id={id}
            operator={operator}
            inputs={inputs}
            outputs={outputs}
            declared={declared}
            far={far}
          />
        </>
      )}
      {(far || collapsed) &&
        linked.map((name) => (
          <Port key={name} id={`arg:${name}`} type="target" kind="tensor" label={name} argument />
        ))}
      {far || collapsed ? (
        <Glance id={id} />
      ) : (
        <>
          {shown.length > 0 && (
            <div className="card-arguments stack">
              {shown.map((argument) => (
                <div className="card-argument" key={argument.name}>
                  {argument.tensor && (
                    <Port
                      id={`arg:${argument.name}`}
                      type="target"
                      kind="tensor"
                      label={argument.name}
                      argument
                      used={node.connections?.[argument.name] !== undefined}
                    />
                  )}
                  <ArgumentRow id={id} node={node} argument={argument} compact />
                </div>
              ))}
            </div>
          )}
          <CardBody id={id} />
        </>
      )}
      {!far && <CardMessage id={id} />}
      {!far && !collapsed && <Foot id={id} />}
    </div>
  );
});

interface HeadingProperties {
  id: string;
  node: GraphNode;
  operator: Operator | undefined;
  color: string;
  far: boolean;
}

function Heading({ id, node, operator, color, far }: HeadingProperties) {
  const editor = useEditor();
  const off = switchOf(useNodeView(id));
  const differs = useValue(editor.differing, (nodes) => nodes?.has(id) ?? false);
  return (
    <>
      <FamilyIcon family={operator?.family ?? 'plain'} color={color} />
      {far ? <FarTitle name={id} /> : <Title id={id} op={node.op} />}
      {definitionName(node.op) !== null && !far && (
        <IconButton
          icon="fit"
          label={t('Open the sub-graph %1', id)}
          title={t('Open the sub-graph')}
          className="nodrag"
          data-action="open-subgraph"
          onClick={() => openNode(editor, id)}
        />
      )}
      {differs && (
        <span className="chip differs" title={t('Other than in the graph beside')}>
          <span>≠</span> {!far && t('differs')}
        </span>
      )}
      {off === 'bypass' && (
        <span className="chip muted off" title={t('Bypassed')}>
          <Icon name="bypass" size={far ? 14 : 12} /> {!far && t('bypassed')}
        </span>
      )}
      {off === 'disabled' && (
        <span className="chip muted off" title={t('Disabled')}>
          <Icon name="disable" size={far ? 14 : 12} /> {!far && t('disabled')}
        </span>
      )}
    </>
  );
}

/** A name in one line or two: where it is too long it is cut in the middle, as ends tell names apart. */
function FarTitle({ name }: { name: string }) {
  const [begin, end] = halves(name);
  return (
    <span className="card-title" title={name}>
      <span className="ellipsis">{begin}</span>
      {end !== '' && (
        <span className="ellipsis end">
          <bdi>{end}</bdi>
        </span>
      )}
    </span>
  );
}

/** The mark of an output that training gets, with its number. */
function OutputMark({ node, output }: { node: string; output: number }) {
  const editor = useEditor();
  const reference = formatEdge({ node, output });
  const place = useValue(editor.document, ({ outputs }) =>
    outputs.findIndex((output) => bareEdge(output) === reference),
  );
  const count = useValue(editor.document, ({ outputs }) => outputs.length);
  const transfer = useValue(editor.document, (document) =>
    outputTransfer(document, document.outputs[place] ?? reference),
  );
  if (place < 0) return null;
  return (
    <span className="chip muted output" title={t('Output %1 of the pipeline', place + 1)}>
      {count > 1 ? t('out %1', place + 1) : t('out')}
      {transfer && ` → ${transfer.toUpperCase()}`}
    </span>
  );
}

interface RowsProperties {
  id: string;
  operator: Operator | undefined;
  inputs: number;
  outputs: number;
  declared: OutputDeclaration[];
  far: boolean;
}

function PortRows({ id, operator, inputs, outputs, declared, far }: RowsProperties) {
  return (
    <div className="ports">
      {Array.from({ length: Math.max(inputs, outputs) }, (_, index) => {
        const input = index < inputs ? inputAt(operator, index) : undefined;
        const output = declared[index];
        return (
          <div className="port-row line muted" key={index}>
            {index < inputs && (
              <>
                <Port
                  id={`in:${index}`}
                  type="target"
                  kind={input?.kind}
                  label={portLabel(operator, index)}
                />
                {!far && (
                  <span className="port-name">
                    {input?.name ?? t('input %1', index)}
                    {input?.optional && <span className="muted"> {t('optional')}</span>}
                  </span>
                )}
              </>
            )}
            {index < outputs && (
              <>
                {!far && (
                  <span className="port-name right">
                    <OutputMark node={id} output={index} />
                    {output?.name ?? t('output %1', index)}
                  </span>
                )}
                <Port
                  id={`out:${index}`}
                  type="source"
                  kind={output?.kind}
                  label={output?.name ?? t('output %1', index)}
                />
              </>
            )}
          </div>
        );
      })}
    </div>
  );
}

function portLabel(operator: Operator | undefined, index: number): string {
  return inputAt(operator, index)?.name ?? `input ${index}`;
}
