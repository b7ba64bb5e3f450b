/** The inspector: arguments, output and help of what is selected. */
import { useEffect, useRef, useState } from 'react';
import { alignSelection, rename, setDevice, toggleOutput, toggleView } from '../core/actions';
import { apply } from '../core/changes';
import { outputsOf, type ArgumentDeclaration, type Operator } from '../core/catalogue';
import { definitionName } from '../core/definitions';
import { isOutput } from '../core/edits';
import { command, execute } from '../core/commands';
import { formatEdge, type GraphNode } from '../core/document';
import { DEVICES } from '../core/placement';
import { asNumber, formatDtype, formatLayout, formatNumber, describeBatch, formatTime } from '../core/values';
import { canBeChecked } from '../core/checks';
import { AllowButton } from './AllowButton';
import { CachePanel } from './CachePanel';
import { CheckReport } from './CheckReport';
import { useEditor, useHint, useNode, useNodeView, useOperator, useResult, useValue } from './context';
import { ArgumentRow } from './controls/ArgumentRow';
import { TextField } from './controls/fields';
import { SubgraphSection } from './SubgraphSection';
import { FamilyIcon, Icon } from './icons';
import { OperatorHelp } from './OperatorHelp';
import { Histogram } from './plots';
import type { Alignment } from '../core/layout';
import type { OutputResult } from '../core/previews';
import type { Problem } from '../core/protocol';
import { msg, t, tn } from '../core/language';
import { TourOffer } from './Tour';
import { Words } from './Words';
import { Button, Choices, Tabs } from './controls/buttons';
import './Inspector.css';

export function Inspector() {
  const editor = useEditor();
  const selection = useValue(editor.selection);
  const ids = [...selection.nodes];
  const id = ids[ids.length - 1];
  return (
    <aside className="inspector panel stack" data-testid="inspector" aria-label={t('Inspector')}>
      {ids.length > 1 ? (
        <Several count={ids.length} />
      ) : id !== undefined ? (
        <NodeInspector key={id} id={id} />
      ) : (
        <Nothing />
      )}
    </aside>
  );
}

function Nothing() {
  const editor = useEditor();
  const search = useHint('search');
  const pipeline = useValue(editor.document, (document) => document.pipeline);
  const outputs = useValue(editor.document, (document) => document.outputs);
  const nodes = useValue(editor.document, (document) => Object.keys(document.nodes).length);
  return (
    <div className="inspector-body stack">
      <h2 className="inspector-heading">{t('Pipeline')}</h2>
      <dl className="facts muted">
        <dt>{t('Nodes')}</dt>
        <dd>{nodes}</dd>
        <dt>{t('Outputs')}</dt>
        <dd>{outputs.length > 0 ? outputs.join(', ') : t('none yet')}</dd>
        {(['batch_size', 'num_threads', 'seed'] as const).map((name) => (
          <Fact
            key={name}
            name={name.replace('_', ' ')}
            value={
              pipeline[name] === null || pipeline[name] === undefined
                ? t('not set')
                : JSON.stringify(pipeline[name])
            }
          />
        ))}
      </dl>
      <Button onClick={() => execute(editor, 'pipeline')}>{t('Pipeline settings…')}</Button>
      <CachePanel />
      <p className="muted hint">
        {search === undefined
          ? t('Select a node to see its arguments. Double-click the canvas to add one.')
          : t('Select a node to see its arguments. Double-click the canvas or press %1 to add one.', search)}
      </p>
      <TourOffer />
    </div>
  );
}

function Fact({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{value}</dd>
    </>
  );
}

function Several({ count }: { count: number }) {
  const editor = useEditor();
  const alignments: [Alignment, string][] = [
    ['left', t('Left')],
    ['centre', t('Centre')],
    ['right', t('Right')],
    ['top', t('Top')],
    ['middle', t('Middle')],
    ['bottom', t('Bottom')],
    ['across', t('Spread across')],
    ['down', t('Spread down')],
  ];
  return (
    <div className="inspector-body stack">
      <h2 className="inspector-heading">{tn('%1 node', '%1 nodes', count)}</h2>
      <h3>{t('Align')}</h3>
      <div className="button-grid">
        {alignments.map(([how, label]) => (
          <Button key={how} onClick={() => alignSelection(editor, how)}>
            {label}
          </Button>
        ))}
      </div>
      <h3>{t('Together')}</h3>
      <div className="button-grid">
        {['arrange', 'group', 'bypass', 'disable', 'duplicate', 'delete'].map((id) => (
          <Button key={id} onClick={() => execute(editor, id)}>
            {t(command(id)?.label ?? id)}
          </Button>
        ))}
      </div>
    </div>
  );
}

const TABS = [
  { value: 'arguments', text: msg('Arguments') },
  { value: 'output', text: msg('Output') },
  { value: 'check', text: msg('Check') },
  { value: 'help', text: msg('Help') },
] as const;

function NodeInspector({ id }: { id: string }) {
  const editor = useEditor();
  const node = useNode(id);
  const operator = useOperator(node?.op);
  const catalogue = useValue(editor.catalogue);
  const [tab, setTab] = useState<(typeof TABS)[number]['value']>('arguments');
  const readOnly = useValue(editor.session, (session) => session.readOnly);
  const checks = useValue(editor.session, ({ capabilities }) => capabilities.check) && canBeChecked(operator);
  const attention = useValue(editor.prompts, ({ attention }) => attention);
  const body = useRef<HTMLDivElement>(null);

  useEffect(() => {
    if (attention?.node !== id) return;
    setTab('arguments');
    const timer = setTimeout(() => {
      const name = attention.argument;
      const row = body.current?.querySelector(
        name === null ? '[data-argument]' : `[data-argument="${CSS.escape(name)}"]`,
      );
      row?.scrollIntoView({ block: name === null ? 'nearest' : 'center' });
      row?.querySelector<HTMLElement>('[tabindex="0"], input, select, button')?.focus();
      if (name !== null) {
        row?.classList.add('attention');
        setTimeout(() => row?.classList.remove('attention'), 1600);
      }
      editor.prompts.patch({ attention: null });
    }, 30);
    return () => clearTimeout(timer);
  }, [attention, editor, id]);

  if (!node) return null;
  return (
    <>
      <div className="inspector-head line">
        <FamilyIcon
          family={operator?.family ?? 'plain'}
          color={catalogue?.color(operator?.family) ?? 'gray'}
        />
        <div className="inspector-title">
          <TextField
            label={t('Name')}
            value={id}
            disabled={readOnly}
            onChange={(name) => rename(editor, id, name)}
          />
          <code>{node.op}</code>
        </div>
      </div>
      <Tabs
        tabs={TABS.filter(({ value }) => value !== 'check' || checks).map(({ value, text }) => ({
          value,
          text: t(text),
        }))}
        value={tab}
        onChange={setTab}
      />
      <div className="inspector-body stack" ref={body} role="tabpanel">
        {tab === 'arguments' && <Arguments id={id} node={node} operator={operator} />}
        {tab === 'output' && <Outputs id={id} operator={operator} />}
        {tab === 'check' && <CheckReport reader={id} />}
        {tab === 'help' && (operator ? <OperatorHelp operator={operator} /> : <Unknown op={node.op} />)}
      </div>
    </>
  );
}

function Unknown({ op }: { op: string }) {
  return (
    <p className="hint">
      <Words
        of={msg('This DALI Lab has no operator %1. The node stays as it is in the file.')}
        parts={[<code key="op">{op}</code>]}
      />
    </p>
  );
}

function Arguments({ id, node, operator }: { id: string; node: GraphNode; operator: Operator | undefined }) {
  const editor = useEditor();
  const view = useNodeView(id);
  const [advanced, setAdvanced] = useState(false);
  const problem = useValue(editor.problems, (problems) => problems.find((each) => each.node === id));
  const declared = operator?.arguments ?? [];
  const names = new Set(declared.map(({ name }) => name));
  const foreign = [...Object.keys(node.arguments ?? {}), ...Object.keys(node.connections ?? {})]
    .filter((name, index, all) => !names.has(name) && all.indexOf(name) === index)
    .map((name): ArgumentDeclaration => ({
      name,
      type: 'any',
      tensor: true,
      doc: t('Not declared by this operator; kept as it is.'),
    }));
  const rank = (argument: ArgumentDeclaration): number =>
    argument.required ? 0 : argument.important ? 1 : 2;
  const plain = [...declared.filter(({ advanced: hidden }) => !hidden), ...foreign].sort(
    (a, b) => rank(a) - rank(b),
  );
  const hidden = declared.filter(({ advanced: isHidden }) => isHidden);
  const open =
    advanced ||
    hidden.some(({ name }) => node.arguments?.[name] !== undefined || node.connections?.[name] !== undefined);
  return (
    <>
      {!operator && <Unknown op={node.op} />}
      {problem && (
        <div className={`problem ${problem.severity}`}>
          <span>{problem.message}</span>
          {problem.fix && <FixButton problem={problem} />}
          {problem.permission && <AllowButton permission={problem.permission} />}
        </div>
      )}
      <div className="placement">
        {definitionName(node.op) === null && (
          <Choices
            label={t('Placement')}
            value={node.device ?? 'cpu'}
            choices={(operator?.devices ?? [node.device ?? 'cpu']).map((value) => ({
              value,
              text: t(DEVICES[value]),
            }))}
            onChange={(device) => setDevice(editor, [id], device)}
          />
        )}
        <div className="switches">
          <Button
            className={`toggle ${view?.bypass ? 'on' : ''}`}
            aria-pressed={view?.bypass ?? false}
            title={t('Pass the input through (B)')}
            onClick={() => toggleView(editor, 'bypass', [id])}
          >
            <Icon name="bypass" size={14} /> {t('Bypass')}
          </Button>
          <Button
            className={`toggle ${view?.disabled ? 'on' : ''}`}
            aria-pressed={view?.disabled ?? false}
            title={t('Compute neither this node nor those that need it (D)')}
            onClick={() => toggleView(editor, 'disabled', [id])}
          >
            <Icon name="disable" size={14} /> {t('Disable')}
          </Button>
        </div>
      </div>
      {plain.map((argument) => (
        <ArgumentRow key={argument.name} id={id} node={node} argument={argument} compact={false} />
      ))}
      {plain.length === 0 && operator && (
        <p className="muted hint">{t('%1 has no arguments.', operator.name)}</p>
      )}
      <SubgraphSection id={id} node={node} />
      {hidden.length > 0 && (
        <>
          <button
            type="button"
            className="family"
            aria-expanded={open}
            onClick={() => setAdvanced(!advanced)}
          >
            <Icon name={open ? 'down' : 'right'} size={10} />
            <span>{t('Speed and memory')}</span>
            <span className="count">{hidden.length}</span>
          </button>
          {open &&
            hidden.map((argument) => (
              <ArgumentRow key={argument.name} id={id} node={node} argument={argument} compact={false} />
            ))}
        </>
      )}
    </>
  );
}

function FixButton({ problem }: { problem: Problem }) {
  const editor = useEditor();
  const fix = problem.fix;
  if (!fix) return null;
  return (
    <Button
      onClick={() => {
        editor.edit(fix.title, (document) => apply(document, fix.changes));
      }}
    >
      {fix.title}
    </Button>
  );
}

function Outputs({ id, operator }: { id: string; operator: Operator | undefined }) {
  const editor = useEditor();
  const result = useResult(id);
  const document = useValue(editor.document);
  const measured = useValue(editor.jobs, ({ lastRun: run }) => run?.nodes[id]);
  const declared = outputsOf(operator, document.nodes[id]);
  const count = Math.max(operator ? declared.length : 1, result?.outputs.length ?? 0);
  return (
    <>
      {Array.from({ length: count }, (_, index) => {
        const output = result?.outputs[index];
        const reference = formatEdge({ node: id, output: index });
        return (
          <section key={index} className="output-facts">
            <div className="output-head line">
              <h3>{declared[index]?.name ?? t('output %1', index)}</h3>
              <label className="check muted">
                <input
                  type="checkbox"
                  checked={isOutput(document, reference)}
                  onChange={() => toggleOutput(editor, { node: id, output: index })}
                />
                {t('pipeline output')}
              </label>
            </div>
            {output ? <OutputFacts output={output} /> : <p className="muted">{t('No preview yet.')}</p>}
          </section>
        );
      })}
      {result?.time != null && (
        <dl className="facts muted">
          <dt>{t('Time')}</dt>
          <dd>
            {result.cached
              ? t('%1 (from the cache)', formatTime(result.time))
              : t('%1 in this preview', formatTime(result.time))}
          </dd>
          {measured && (
            <>
              <dt>{t('In the last run')}</dt>
              <dd>
                {t(
                  '%1 a batch, %2 a second',
                  formatTime(measured.time_ms),
                  Math.round(measured.images_per_second),
                )}
              </dd>
            </>
          )}
        </dl>
      )}
    </>
  );
}

export function OutputFacts({ output }: { output: OutputResult }) {
  const low = asNumber(output.range?.[0]);
  const high = asNumber(output.range?.[1]);
  return (
    <>
      <dl className="facts muted">
        <dt>{t('Shape')}</dt>
        <dd>{describeBatch(output)}</dd>
        <dt>{t('Type')}</dt>
        <dd>{formatDtype(output.dtype)}</dd>
        <dt>{t('Layout')}</dt>
        <dd>{formatLayout(output.layout) || t('none')}</dd>
        {low !== null && high !== null && (
          <>
            <dt>{t('Range')}</dt>
            <dd>{t('%1 to %2', formatNumber(low), formatNumber(high))}</dd>
          </>
        )}
      </dl>
      {output.histogram && output.histogram.length > 0 && (
        <Histogram counts={output.histogram} width={232} height={48} />
      )}
    </>
  );
}
