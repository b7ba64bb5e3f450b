/** The slim toolbar: file, undo, batch, seed, run, view; what has no room is in a menu. */
import { useState } from 'react';
import { command, execute } from '../core/commands';
import { setPipeline } from '../core/edits';
import { asNumber } from '../core/values';
import { useEditor, useHint, useLasting, usePanels, useValue } from './context';
import { Icon } from './icons';
import { Menu, type MenuItem } from './Menu';
import { item } from './menus';
import { TextField } from './controls/fields';
import { t } from '../core/language';
import { IconButton } from './controls/buttons';
import './Toolbar.css';

/** Tools that go into the menu as the editor becomes narrower, in the order in which they go. */
const LATE = [
  ['arrange', 'history', 'shortcuts', 'theme'],
  ['new', 'gallery', 'dataset', 'probe'],
  ['export', 'commands'],
  ['beside', 'step-back', 'step'],
];

function Button({
  id,
  icon,
  label,
  pressed,
  disabled,
}: {
  id: string;
  icon: string;
  label?: string;
  pressed?: boolean;
  disabled?: boolean;
}) {
  const editor = useEditor();
  const keys = useHint(id);
  const late = LATE.findIndex((ids) => ids.includes(id));
  const found = command(id);
  const words = t(found?.caption ?? found?.label ?? id);
  return (
    <button
      type="button"
      className={`tool ${label ? 'with-label' : ''} ${late < 0 ? '' : `late-${late + 1}`}`}
      data-command={id}
      data-late={late < 0 ? undefined : id}
      title={keys === undefined ? words : `${words} (${keys})`}
      aria-label={t(found?.label ?? id)}
      aria-pressed={pressed}
      disabled={disabled}
      onClick={() => execute(editor, id)}
    >
      <Icon name={icon} />
      {label && <span>{label}</span>}
    </button>
  );
}

export function Toolbar({ themeButton }: { themeButton: boolean }) {
  const editor = useEditor();
  const info = useValue(editor.session);
  const first = useValue(editor.history.state, ({ done }) => done === 0);
  const last = useValue(editor.history.state, ({ done, steps }) => done === steps.length);
  const iteration = useValue(editor.batch, ({ iteration }) => iteration);
  const run = useValue(editor.jobs, ({ run }) => run);
  const beside = useValue(editor.differing, (nodes) => nodes !== null);
  const panels = usePanels();
  const theme = useValue(editor.view, ({ theme }) => theme);
  return (
    <div className="toolbar line" role="toolbar" aria-label={t('Editor')}>
      <Button id="toggle-palette" icon="panel-left" pressed={panels.palette} />
      <span className="document-title" title={info.file?.path ?? t('Not saved yet')}>
        <span className="ellipsis">{info.title || t('Untitled')}</span>
        {info.dirty && (
          <span className="dirty" title={t('Not saved')} role="img" aria-label={t('not saved')} />
        )}
        {info.readOnly && <span className="chip muted">{t('read-only')}</span>}
      </span>
      <Button id="new" icon="new" />
      <Button id="open" icon="open" />
      <Button id="save" icon="save" />
      {info.capabilities.gallery_page === true && <Button id="gallery" icon="gallery" label={t('Gallery')} />}
      {editor.host.beside && <Button id="beside" icon="beside" pressed={beside} />}
      <span className="divider" />
      <Button id="undo" icon="undo" disabled={first} />
      <Button id="redo" icon="redo" disabled={last} />
      <Button id="history" icon="history" />
      <span className="divider" />
      <Button id="arrange" icon="arrange" />
      <Button id="fit" icon="fit" />
      <span className="spring" />
      <div className="tool-group" aria-label={t('Batch')}>
        <Button id="step-back" icon="step-back" disabled={iteration === 0} />
        <span
          className="batch-number muted late-4"
          title={t('The batch that is shown')}
          data-testid="iteration"
        >
          {t('batch %1', iteration + 1)}
        </span>
        <Button id="step" icon="step" />
        {info.capabilities.dataset === true && <Button id="dataset" icon="dataset" />}
        {info.capabilities.probe === true && <Button id="probe" icon="probe" />}
      </div>
      <Seed />
      <span className="divider" />
      {run ? (
        <Button id="stop" icon="stop" label={run.total ? `${run.done}/${run.total}` : t('starting…')} />
      ) : (
        <>
          <Button id="run" icon="run" label={t('Run')} disabled={info.capabilities.run === false} />
          {info.capabilities.cluster && <Button id="run-on-cluster" icon="cluster" />}
          <StopPreview />
        </>
      )}
      <Button id="export" icon="export" label={t('Export')} />
      <span className="divider" />
      <Button id="commands" icon="search" />
      <Button id="shortcuts" icon="keyboard" />
      {themeButton && <Button id="theme" icon={theme === 'dark' ? 'sun' : 'moon'} />}
      <More />
      <Button id="toggle-tray" icon="panel-bottom" pressed={panels.tray} />
      <Button id="toggle-inspector" icon="panel-right" pressed={panels.inspector} />
    </div>
  );
}

/** A menu of the tools that have no room: the style sheet decides which these are. */
function More() {
  const editor = useEditor();
  const [open, setOpen] = useState<{ at: DOMRect; items: MenuItem[] } | null>(null);
  return (
    <>
      <button
        type="button"
        className="tool more"
        title={t('More tools')}
        aria-label={t('More tools')}
        aria-haspopup="menu"
        data-action="more-tools"
        onClick={({ currentTarget }) => {
          const tools = currentTarget.parentElement?.querySelectorAll<HTMLElement>('[data-late]') ?? [];
          const hidden = [...tools].filter((tool) => getComputedStyle(tool).display === 'none');
          const items = hidden.map((tool) => item(editor, tool.dataset['late'] ?? ''));
          setOpen({ at: currentTarget.getBoundingClientRect(), items });
        }}
      >
        <Icon name="more" />
      </button>
      {open && (
        <Menu anchor={open.at} label={t('More tools')} items={open.items} onClose={() => setOpen(null)} />
      )}
    </>
  );
}

/** Apart from the toolbar, which is not drawn again with each preview. Enabled, its opacity has Chromium paint the page. */
function StopPreview() {
  const running = useLasting(useValue(useEditor().previews.status, ({ running }) => running));
  return <Button id="stop" icon="stop" disabled={!running} />;
}

/** The seed that is used; pinned in the document, or drawn by the session until it is. */
function Seed() {
  const editor = useEditor();
  const pinned = useValue(editor.document, ({ pipeline }) => asNumber(pipeline['seed']));
  const used = useValue(editor.previews.status, ({ seed }) => seed);
  const drawn = useValue(editor.session, (session) => session.seed);
  const readOnly = useValue(editor.session, (session) => session.readOnly);
  const isPinned = pinned !== null && pinned >= 0;
  const shown = isPinned ? pinned : (used ?? drawn);
  const set = (value: number | null): void => {
    editor.edit(t('Seed'), (document) => setPipeline(document, 'seed', value));
  };
  return (
    <div
      className={`seed muted late-3 ${isPinned ? '' : 'drawn'}`}
      data-late="pipeline"
      title={
        isPinned
          ? t('The seed is part of the graph')
          : t('The seed was drawn for this session; pin it to keep it')
      }
    >
      <span>{t('seed')}</span>
      <TextField
        label={t('Seed')}
        value={shown === null ? '' : String(shown)}
        placeholder={t('random')}
        disabled={readOnly}
        onChange={(text) => {
          const number = Number(text);
          if (text.trim() === '') set(null);
          else if (Number.isSafeInteger(number) && number >= 0) set(number);
          else editor.notify('warning', t('A seed is a whole number from 0.'));
        }}
      />
      <IconButton
        icon="dice"
        label={t('Another seed')}
        data-command="seed-new"
        disabled={readOnly}
        onClick={() => set(Math.floor(Math.random() * 1e6))}
      />
      <IconButton
        icon="pin"
        label={t('Pin the seed')}
        title={isPinned ? t('Unpin: another seed for each run') : t('Pin this seed')}
        className={isPinned ? 'on' : ''}
        data-command="seed-pin"
        aria-pressed={isPinned}
        disabled={readOnly}
        onClick={() => set(isPinned ? null : shown)}
      />
    </div>
  );
}
