/** Help for an operator, from its declaration: meaning, ports, where it runs. */
import type { Operator } from '../core/catalogue';
import { imageWords } from '../core/connect';
import { DEVICES } from '../core/placement';
import { describeRange, formatValue } from '../core/values';
import { msg, t } from '../core/language';
import { Words } from './Words';
import './OperatorHelp.css';

export function OperatorHelp({ operator, brief = false }: { operator: Operator; brief?: boolean }) {
  return (
    <div className="help stack">
      <h3>{operator.title}</h3>
      <code className="help-name muted">{operator.name}</code>
      {operator.deprecated && <p className="help-warning">{operator.deprecated}</p>}
      {operator.nvidia !== undefined && (
        <p className="muted">
          {operator.nvidia === null ? (
            t('NVIDIA DALI has no such operator.')
          ) : (
            <Words of={msg('In NVIDIA DALI: %1')} parts={[<code key="name">{operator.nvidia}</code>]} />
          )}
        </p>
      )}
      <p>{operator.summary}</p>
      {!brief && operator.doc && <Paragraphs text={operator.doc} />}
      {!brief && operator.page !== undefined && <Page operator={operator.name} address={operator.page} />}
      <dl className="help-ports muted">
        {operator.inputs.length > 0 && (
          <>
            <dt>{t('Takes')}</dt>
            <dd>
              {operator.inputs
                .map(
                  ({ name, kind, layouts }) =>
                    `${name} (${brief && kind === 'image' ? imageWords(layouts ?? []) : [kind, layouts?.join(', ')].filter(Boolean).join(' ')})`,
                )
                .join('; ')}
            </dd>
          </>
        )}
        <dt>{t('Gives')}</dt>
        <dd>
          {operator.outputs
            .map(({ name, kind, layout }) => `${name} (${kind}${layout ? ` ${layout}` : ''})`)
            .join('; ')}
        </dd>
        <dt>{t('Runs on')}</dt>
        <dd>{operator.devices.map((device) => t(DEVICES[device])).join(', ')}</dd>
      </dl>
      {!brief && operator.arguments.length > 0 && (
        <>
          <h4>{t('Arguments')}</h4>
          <dl className="help-arguments">
            {operator.arguments.map((argument) => (
              <div key={argument.name}>
                <dt>
                  <code>{argument.name}</code>
                  <span className="muted">
                    {' '}
                    {argument.required ? t('needed') : formatValue(argument.default ?? null)}
                    {argument.tensor ? ` · ${t('per sample')}` : ''}
                    {describeRange(argument) ? ` · ${describeRange(argument) as string}` : ''}
                    {argument.unit ? ` ${argument.unit}` : ''}
                  </span>
                </dt>
                <dd>{argument.doc}</dd>
              </div>
            ))}
          </dl>
        </>
      )}
    </div>
  );
}

/** The way to the operator's page in the documentation: a link where the host serves it, else the command. */
function Page({ operator, address }: { operator: string; address: string | null }) {
  const command = ['dali-lab', 'docs', operator].join(' ');
  return address === null ? (
    <p className="muted">
      <Words of={msg('In the documentation: %1')} parts={[<code key="command">{command}</code>]} />
    </p>
  ) : (
    <p>
      <a href={address} target="_blank" rel="noopener" data-testid="help-page">
        {t('Open its page in the documentation')}
      </a>
    </p>
  );
}

/** Text with paragraphs and `code`; everything else stays as it is written. */
function Paragraphs({ text }: { text: string }) {
  return (
    <>
      {text.split(/\n\s*\n/).map((paragraph, index) => (
        <p key={index}>
          {paragraph
            .split(/(`+[^`]+`+)/)
            .map((part, at) =>
              part.startsWith('`') ? <code key={at}>{part.replace(/`/g, '')}</code> : part,
            )}
        </p>
      ))}
    </>
  );
}
