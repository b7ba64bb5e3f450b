/** Shortcuts, search of commands and nodes, history, pipeline settings, linking by keyboard. */
import { useMemo } from 'react';
import { appendOperator, tryConnect } from '../../core/actions';
import { COMMANDS, SECTIONS, execute, isEnabled, type Command } from '../../core/commands';
import { describeKeys, hintOf, keysOf } from '../../core/keys';
import { setPipeline } from '../../core/edits';
import { targetsOn } from '../../core/connect';
import { isArgument, targetKey, upstream, type Target, type Value } from '../../core/document';
import type { ArgumentDeclaration } from '../../core/catalogue';
import { goTo } from '../../core/navigation';
import { asNumber } from '../../core/values';
import { Choices } from '../controls/buttons';
import { NumberField } from '../controls/NumberField';
import { useEditor, useValue } from '../context';
import { Icon } from '../icons';
import { insertRecipe, useRecipeChoices } from '../Recipes';
import { operatorChoices, SearchList, type Found } from '../SearchList';
import { noteRecent } from '../storage';
import { Dialog } from './Dialog';
import { msg, t } from '../../core/language';
import './OtherDialogs.css';

const GESTURES: [string, string][] = [
  [msg('Drag from the palette'), msg('Add an operator; on a link, insert it')],
  [msg('Double-click the canvas'), msg('Search and add at the pointer')],
  [msg('Drag a link to empty canvas'), msg('Add an operator that fits')],
  [msg('Drag a lone node onto a link'), msg('Insert it')],
  [msg('Alt-drag a node'), msg('Leave a copy behind')],
  [msg('Shift-click, Shift-drag'), msg('Add to the selection')],
  [msg('Drag a number'), msg('Change it; Shift ×10, Alt ÷10')],
  [msg('Arrow keys on a number'), msg('Step; Shift ×10, Alt ÷10')],
  [msg('Double-click the name of a number'), msg('Back to the default')],
  [msg('Space and drag'), msg('Move the canvas')],
  [msg('1 to 9'), msg('Show that many samples')],
];

export function ShortcutsDialog({ onClose }: { onClose: () => void }) {
  const editor = useEditor();
  useValue(editor.view, ({ keymap }) => keymap);
  const shown = COMMANDS.filter(({ id, hidden }) => !hidden && keysOf(editor, id).length > 0);
  const sections = SECTIONS.filter((section) => shown.some((each) => each.section === section));
  return (
    <Dialog name="shortcuts" title={t('Keyboard and gestures')} wide onClose={onClose}>
      <div className="shortcuts" tabIndex={0}>
        {sections.map((section) => (
          <section key={section}>
            <h3>{t(section)}</h3>
            <dl>
              {shown
                .filter((command) => command.section === section)
                .map(({ id, label }) => (
                  <div key={id}>
                    <dt>{t(label)}</dt>
                    <dd>
                      {keysOf(editor, id)
                        .slice(0, 2)
                        .map((each) => (
                          <kbd key={each}>{describeKeys(each)}</kbd>
                        ))}
                    </dd>
                  </div>
                ))}
            </dl>
          </section>
        ))}
        <section>
          <h3>{t('Gestures')}</h3>
          <dl>
            {GESTURES.map(([gesture, meaning]) => (
              <div key={gesture}>
                <dt>{t(meaning)}</dt>
                <dd>{t(gesture)}</dd>
              </div>
            ))}
          </dl>
        </section>
      </div>
    </Dialog>
  );
}

interface ChooserProperties {
  /** Choices that are all known. */
  choices: readonly Found[];
  title: string;
  empty: string;
  /** Choices below these, once something is typed. */
  more?: (query: string) => readonly Found[];
}

function Chooser({ choices, title, empty, more }: ChooserProperties) {
  const find = (query: string): Found[] => {
    const words = query.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (text: string): boolean => words.every((word) => text.toLowerCase().includes(word));
    const named = choices.filter(({ label, hint }) => has(`${label} ${hint}`));
    const told = choices.filter((each) => !named.includes(each) && has(`${each.label} ${each.words ?? ''}`));
    const found = [...named, ...told].slice(0, 80);
    return words.length > 0 && more ? [...found, ...more(query)] : found;
  };
  return (
    <div className="chooser stack">
      <SearchList title={title} find={find} empty={() => empty} />
    </div>
  );
}

export function CommandsDialog({ onClose }: { onClose: () => void }) {
  const editor = useEditor();
  const document = useValue(editor.document);
  const choices = useMemo<Found[]>(() => {
    const enabled = ({ id, hidden }: Command): boolean => !hidden && isEnabled(editor, id);
    const nodes = Object.entries(document.nodes).map(([id, node]): Found => ({
      id: `node-${id}`,
      label: id,
      hint: node.op,
      icon: <Icon name="plain" size={12} />,
      run: () => {
        onClose();
        goTo(editor, id);
      },
    }));
    const commands = COMMANDS.filter(enabled).map((command): Found => ({
      id: command.id,
      label: t(command.label),
      hint: hintOf(editor, command.id) ?? t(command.section),
      words: command.caption === undefined ? '' : t(command.caption),
      icon: <Icon name="keyboard" size={12} />,
      run: () => {
        onClose();
        execute(editor, command.id);
      },
    }));
    return [...nodes, ...commands];
  }, [editor, document, onClose]);
  const catalogue = useValue(editor.catalogue);
  const readOnly = useValue(editor.session, (session) => session.readOnly);
  const recipes = useRecipeChoices((name) => {
    onClose();
    insertRecipe(editor, name);
  });
  const addOperator = ({ name }: { name: string }): void => {
    onClose();
    if (appendOperator(editor, name) !== null) noteRecent(name);
  };
  const more = (query: string): Found[] => [
    ...operatorChoices(catalogue, query, addOperator).map((each) => ({ ...each, id: `operator-${each.id}` })),
    ...recipes(query),
  ];
  return (
    <Dialog name="commands" title={t('Find a node or a command')} onClose={onClose}>
      <Chooser
        choices={choices}
        title={t('Find a node or a command')}
        empty={t('No results.')}
        {...(readOnly ? {} : { more })}
      />
    </Dialog>
  );
}

/** Connecting without a pointer: all that the node's outputs may feed, by name. */
export function LinkDialog() {
  const editor = useEditor();
  const id = useValue(editor.prompts, ({ linking }) => linking);
  const document = useValue(editor.document);
  const close = (): void => editor.prompts.patch({ linking: null });
  const facts = editor.facts;
  if (id === null || !facts || !document.nodes[id]) return null;
  const outputs = facts.catalogue.operator(document.nodes[id].op)?.outputs ?? [
    { name: 'output', kind: 'any' as const },
  ];
  const before = upstream(document, id);
  const choices: Found[] = outputs.flatMap((output, index) =>
    Object.keys(document.nodes)
      .filter((other) => other !== id && !before.has(other))
      .flatMap((other) => targetsOn(facts, { node: id, output: index }, other))
      .map((target: Target): Found => {
        const operator = facts.catalogue.operator(document.nodes[target.node]?.op);
        const port = isArgument(target)
          ? target.argument
          : (operator?.inputs[target.input]?.name ?? `input ${target.input}`);
        return {
          id: `${index}-${targetKey(target)}`,
          label: `${target.node} · ${port}`,
          hint:
            outputs.length > 1 ? t('from %1', output.name) : isArgument(target) ? t('argument') : t('input'),
          icon: <Icon name="right" size={12} />,
          run: () => {
            close();
            tryConnect(editor, { node: id, output: index }, target);
          },
        };
      }),
  );
  return (
    <Dialog name="connect" title={t('Connect %1 to', id)} onClose={close}>
      <Chooser
        choices={choices}
        title={t('Find a node, an input or an argument')}
        empty={t('No operator takes this.')}
      />
    </Dialog>
  );
}

function Picture({ url }: { url: string | null }) {
  return (
    <span className="history-picture">{url !== null && <img src={url} alt="" draggable={false} />}</span>
  );
}

function Time({ at }: { at: number | undefined }) {
  if (at === undefined) return null;
  const date = new Date(at);
  return (
    <time className="muted" dateTime={date.toISOString()} title={date.toLocaleString()}>
      {date.toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: '2-digit' })}
    </time>
  );
}

export function HistoryDialog({ onClose }: { onClose: () => void }) {
  const editor = useEditor();
  const { steps, done } = useValue(editor.history.state);
  return (
    <Dialog name="history" title={t('History')} onClose={onClose}>
      <div className="history stack" role="listbox" aria-label={t('Steps')}>
        {[undefined, ...steps].map((step, index) => (
          <button
            key={index}
            type="button"
            role="option"
            aria-selected={index === done}
            data-autofocus={index === done || undefined}
            className={`line ${index > done ? 'undone' : ''}`}
            onClick={() => editor.history.goTo(index)}
          >
            <Picture url={editor.moments.of(step)?.picture ?? null} />
            <span className="ellipsis">{step === undefined ? t('As opened') : step.label}</span>
            <span className="spring" />
            <Time at={editor.moments.of(step)?.at} />
          </button>
        ))}
      </div>
    </Dialog>
  );
}

const SETTINGS: ArgumentDeclaration[] = [
  { name: 'batch_size', type: 'int', minimum: 1, soft_maximum: 64, doc: msg('Samples in a batch.') },
  {
    name: 'num_threads',
    type: 'int',
    minimum: 1,
    soft_maximum: 16,
    doc: msg('Threads that work on the CPU.'),
  },
  {
    name: 'prefetch_queue_depth',
    type: 'int',
    minimum: 1,
    soft_maximum: 8,
    doc: msg('Batches that are made ahead.'),
  },
  {
    name: 'seed',
    type: 'int',
    minimum: 0,
    doc: msg('Where random numbers start; the same seed gives the same batches.'),
  },
  { name: 'device_id', type: 'int', minimum: 0, doc: msg('Number of the GPU; not set: the CPU alone.') },
];

const POLICY = 'on_error';
const ON_ERROR = [
  { value: 'raise', text: msg('End it') },
  { value: 'replace', text: msg('Replace the sample') },
  { value: 'skip', text: msg('Leave it out') },
] as const;

export function PipelineDialog({ onClose }: { onClose: () => void }) {
  const editor = useEditor();
  const pipeline = useValue(editor.document, (document) => document.pipeline);
  const set = (name: string, value: Value, gesture?: string): void => {
    editor.edit(name.replace(/_/g, ' '), (document) => setPipeline(document, name, value), gesture);
  };
  return (
    <Dialog name="pipeline" title={t('Pipeline settings')} onClose={onClose}>
      <div className="settings">
        {SETTINGS.map((argument) => (
          <div key={argument.name} className="argument" data-argument={argument.name}>
            <span className="row-label ellipsis muted">{argument.name}</span>
            <div className="argument-control line">
              <NumberField
                label={argument.name}
                argument={{ ...argument, doc: t(argument.doc ?? '') }}
                value={asNumber(pipeline[argument.name])}
                showLabel={false}
                onChange={(value, gesture) => set(argument.name, value, gesture)}
                onEnd={() => editor.history.endGesture()}
                {...(argument.name === 'seed' || argument.name === 'device_id'
                  ? { onReset: () => set(argument.name, null) }
                  : {})}
              />
            </div>
            <p className="muted">{t(argument.doc ?? '')}</p>
          </div>
        ))}
        <div className="argument" data-argument={POLICY}>
          <span className="row-label ellipsis muted">{POLICY}</span>
          <Choices
            label={POLICY}
            value={pipeline[POLICY] === 'skip' || pipeline[POLICY] === 'replace' ? pipeline[POLICY] : 'raise'}
            choices={ON_ERROR.map(({ value, text }) => ({ value, text: t(text) }))}
            onChange={(value) => set(POLICY, value)}
          />
          <p className="muted">
            {t('What a sample that cannot be read or decoded does to a run: previews always show why.')}
          </p>
        </div>
      </div>
    </Dialog>
  );
}
