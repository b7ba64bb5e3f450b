/** A row for an argument: its control, or the link that stands in its place; with random, reset and unplug. */
import { useState } from 'react';
import { disconnect, setArgument } from '../../core/actions';
import { distributionsFor, makeRandom, type Distribution } from '../../core/random';
import type { ArgumentDeclaration } from '../../core/catalogue';
import { parseEdge, type GraphNode } from '../../core/document';
import { cutMiddle } from '../../core/values';
import { useEditor, useNode, useResult } from '../context';
import { Menu } from '../Menu';
import { DistributionPlot } from '../plots';
import { ArgumentControl, argumentTitle } from './ArgumentControl';
import { msg, t } from '../../core/language';
import { IconButton } from './buttons';
import './ArgumentRow.css';

const DISTRIBUTIONS: Record<Distribution, string> = {
  uniform: msg('Uniform, from a range'),
  normal: msg('Normal, around a mean'),
  choice: msg('One of some values'),
  coin: msg('Coin flip, 0 or 1'),
};

interface Properties {
  id: string;
  node: GraphNode;
  argument: ArgumentDeclaration;
  compact: boolean;
}

export function ArgumentRow({ id, node, argument, compact }: Properties) {
  const editor = useEditor();
  const reference = node.connections?.[argument.name];
  const own = node.arguments?.[argument.name] !== undefined;
  const missing = argument.required && !own && reference === undefined && argument.default == null;
  const distributions = argument.tensor && reference === undefined ? distributionsFor(editor, argument) : [];
  return (
    <div
      className={`argument ${compact ? 'compact' : ''} ${own ? 'changed' : ''} ${missing ? 'missing' : ''}`}
      data-argument={argument.name}
    >
      {!compact && (
        <span className="row-label ellipsis muted" title={argumentTitle(argument)}>
          {argument.name}
          {missing && <span className="required"> {t('needed')}</span>}
        </span>
      )}
      <div className="argument-control line">
        {reference === undefined ? (
          <ArgumentControl node={id} argument={argument} values={node.arguments} compact={compact} />
        ) : (
          <Connected argument={argument} reference={reference} compact={compact} />
        )}
        <span className="row-buttons">
          {reference !== undefined && (
            <IconButton
              icon="unplug"
              label={t('Disconnect %1', argument.name)}
              title={t('Back to a constant')}
              className="nodrag"
              data-action="disconnect"
              onClick={() => disconnect(editor, [{ node: id, argument: argument.name }])}
            />
          )}
          {distributions.length > 0 && (
            <RandomButton id={id} argument={argument} distributions={distributions} />
          )}
          {own && reference === undefined && !compact && (
            <IconButton
              icon="reset"
              label={t('Reset %1', argument.name)}
              title={t('Back to the default')}
              className="nodrag"
              data-action="reset"
              onClick={() => setArgument(editor, id, argument, undefined)}
            />
          )}
        </span>
      </div>
    </div>
  );
}

function RandomButton({
  id,
  argument,
  distributions,
}: {
  id: string;
  argument: ArgumentDeclaration;
  distributions: Distribution[];
}) {
  const editor = useEditor();
  const [at, setAt] = useState<DOMRect | null>(null);
  return (
    <>
      <IconButton
        icon="dice"
        label={t('Make %1 random', argument.name)}
        title={t('Random for each sample')}
        className="nodrag"
        data-action="random"
        aria-haspopup={distributions.length > 1 ? 'menu' : undefined}
        onClick={(event) => {
          const only = distributions.length === 1 ? distributions[0] : undefined;
          if (only) makeRandom(editor, id, argument, only);
          else setAt(event.currentTarget.getBoundingClientRect());
        }}
      />
      {at && (
        <Menu
          anchor={at}
          label={t('Random %1', argument.name)}
          onClose={() => setAt(null)}
          items={distributions.map((how) => ({
            id: how,
            label: t(DISTRIBUTIONS[how]),
            run: () => makeRandom(editor, id, argument, how),
          }))}
        />
      )}
    </>
  );
}

function Connected({
  argument,
  reference,
  compact,
}: {
  argument: ArgumentDeclaration;
  reference: string;
  compact: boolean;
}) {
  const editor = useEditor();
  const source = parseEdge(reference);
  const from = useNode(source.node);
  const numbers = useResult(source.node)?.outputs[source.output]?.numbers;
  return (
    <button
      type="button"
      className="connected nodrag"
      title={t('%1 comes from %2: one value for each sample', argument.name, reference)}
      onClick={() => editor.select([source.node])}
    >
      {compact && <span className="row-label ellipsis muted">{argument.name}</span>}
      <DistributionPlot op={from?.op} values={from?.arguments} drawn={numbers} width={compact ? 64 : 84} />
      <span className="connected-name ellipsis muted">{cutMiddle(source.node, compact ? 14 : 22)}</span>
    </button>
  );
}
