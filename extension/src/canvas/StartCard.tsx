/** A large button for a graph to begin with. */
import type { ComponentProps } from 'react';
import { Icon } from './icons';
import './StartCard.css';

interface Properties extends ComponentProps<'button'> {
  icon: string;
  title: string;
  summary: string | undefined;
}

export function StartCard({ icon, title, summary, ...rest }: Properties) {
  return (
    <button type="button" className="start-card" {...rest}>
      <Icon name={icon} />
      <strong>{title}</strong>
      <span>{summary}</span>
    </button>
  );
}
