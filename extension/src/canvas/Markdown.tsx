/** A note's Markdown as it reads. */
import { memo } from 'react';
import { blocksOf, type Block, type Span } from '../core/markdown';
import './Markdown.css';

const TAGS = { strong: 'strong', emphasis: 'em', code: 'code', text: 'span' } as const;

function Line({ spans }: { spans: readonly Span[] }) {
  return spans.map(({ kind, text }, index) => {
    const Tag = TAGS[kind];
    return <Tag key={index}>{text}</Tag>;
  });
}

function BlockView({ block }: { block: Block }) {
  if (block.kind === 'code') return <pre>{block.text}</pre>;
  if (block.kind === 'heading')
    return (
      <p className={`heading level-${block.level}`}>
        <Line spans={block.spans} />
      </p>
    );
  if (block.kind === 'list') {
    const List = block.ordered ? 'ol' : 'ul';
    return (
      <List>
        {block.items.map((spans, index) => (
          <li key={index}>
            <Line spans={spans} />
          </li>
        ))}
      </List>
    );
  }
  return (
    <p>
      {block.lines.map((spans, index) => (
        <span key={index} className="markdown-line">
          <Line spans={spans} />
        </span>
      ))}
    </p>
  );
}

export const Markdown = memo(function Markdown({ text }: { text: string }) {
  return (
    <div className="markdown" aria-hidden="true" data-testid="note-text">
      {blocksOf(text).map((block, index) => (
        <BlockView key={index} block={block} />
      ))}
    </div>
  );
});
