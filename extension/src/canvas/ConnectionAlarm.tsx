/** A line that says that the session cannot be reached, or does not answer. */
import type { Connection } from '../core/connection';
import { t } from '../core/language';
import { useValue } from './context';
import { Icon } from './icons';
import './StatusLine.css';

export function ConnectionAlarm({ connection }: { connection: Connection }) {
  const { status, silent, detail } = useValue(connection.state);
  if (status === 'connected' && !silent) return null;
  const words =
    status === 'connecting'
      ? t('Connecting…')
      : status === 'connected'
        ? t('The session does not answer; it may be busy. Your edits are kept.')
        : (detail ?? t('The session cannot be reached. Your edits are kept and sent when it is back.'));
  return (
    <span className="status-alarm" role="status">
      <Icon name="warning" size={12} />
      {words}
    </span>
  );
}

/** The same as a line of its own. */
export function ConnectionLine({ connection }: { connection: Connection }) {
  const fine = useValue(connection.state, ({ status, silent }) => status === 'connected' && !silent);
  if (fine) return null;
  return (
    <div className="status line muted">
      <ConnectionAlarm connection={connection} />
    </div>
  );
}
