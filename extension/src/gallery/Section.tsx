/** A part of an entry's page, under a heading. */
import type { ReactNode } from 'react';

export function Section({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section className="entry-section">
      <h3>{title}</h3>
      {children}
    </section>
  );
}
