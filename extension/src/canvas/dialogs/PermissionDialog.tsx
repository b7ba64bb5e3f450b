/** A question whether the session may use what it may not yet: a folder, a server, or somebody's code. */
import { useState } from 'react';
import { plainly } from '../../core/files';
import { t } from '../../core/language';
import type { Permissions, Question } from '../../core/permissions';
import type { Permission } from '../../core/protocol';
import { Button } from '../controls/buttons';
import { useValue } from '../context';
import { Dialog } from './Dialog';
import { Highlighted } from './Highlighted';
import './ProgramDialog.css';

export function PermissionDialog({ permissions }: { permissions: Permissions }) {
  const question = useValue(permissions.question);
  return question && <Asked key={question.consent.number} question={question} />;
}

function Asked({ question: { permission, consent, problem, answer } }: { question: Question }) {
  const [trusted, setTrusted] = useState(false);
  const code = permission.what === 'package' || permission.what === 'function';
  const { title, meaning } = words(permission);
  return (
    <Dialog
      name="permission"
      title={title}
      onClose={() => answer(false)}
      footer={
        <>
          <span className="spring" />
          <Button data-autofocus data-action="refuse" onClick={() => answer(false)}>
            {t('Cancel')}
          </Button>
          <Button
            className="primary"
            data-action="allow"
            disabled={code && !trusted}
            onClick={() => answer(true)}
          >
            {t('Allow')}
          </Button>
        </>
      }
    >
      <p className="problem warning">{meaning}</p>
      <pre className="code program-text" data-testid="permission-text" tabIndex={0} aria-label={title}>
        {code ? <Highlighted text={plainly(consent.text)} language="python" /> : plainly(consent.text)}
      </pre>
      {code && (
        <label className="check muted">
          <input
            type="checkbox"
            data-testid="trust"
            checked={trusted}
            onChange={(event) => setTrusted(event.target.checked)}
          />
          {t('I trust this code. Run it.')}
        </label>
      )}
      {problem !== null && (
        <div className="problem error" role="alert">
          {problem}
        </div>
      )}
    </Dialog>
  );
}

function words({ what, name }: Permission): { title: string; meaning: string } {
  switch (what) {
    case 'folder':
      return {
        title: t('Use another folder?'),
        meaning: t(
          'This lies outside the folders that the session uses. It will be read, and written to where you save there, until the session ends.',
        ),
      };
    case 'server':
      return {
        title: t('Read from a server?'),
        meaning: t('The graph names files on this server. They will be read until the session ends.'),
      };
    case 'package':
      return {
        title: t('Run operators of %1?', name),
        meaning: t(
          'The graph uses operators of another package. They run with your rights: they can read, write and send whatever you can. Run only what you trust.',
        ),
      };
    default:
      return {
        title: t('Run %1?', name),
        meaning: t(
          'The graph names Python code. It is imported and runs with your rights: it can read, write and send whatever you can. Run only what you trust.',
        ),
      };
  }
}
