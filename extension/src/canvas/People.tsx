/** Pointers and selections of the others, with their names, on the canvas. */
import { useStore, ViewportPortal } from '@xyflow/react';
import type { CSSProperties } from 'react';
import { flowName } from '../core/flowNames';
import type { Person } from '../core/people';
import { useEditor, useValue } from './context';
import './People.css';

export function People() {
  const people = useValue(useEditor().people);
  const zoom = useStore(({ transform }) => transform[2]);
  if (people.length === 0) return null;
  return (
    <ViewportPortal>
      {people.map((person) => (
        <div
          key={person.id}
          className="person"
          data-person={person.name}
          style={{ '--person': person.color, '--pixel': `${1 / zoom}px` } as CSSProperties}
        >
          {person.nodes.map((id, index) => (
            <Chosen key={id} id={id} name={index === 0 ? person.name : null} />
          ))}
          {person.pointer && <Pointer person={person} at={person.pointer} />}
        </div>
      ))}
    </ViewportPortal>
  );
}

/** A frame around a node that somebody has selected. */
function Chosen({ id, name }: { id: string; name: string | null }) {
  const node = useStore(({ nodeLookup }) => nodeLookup.get(flowName(id)));
  if (!node) return null;
  const { x, y } = node.internals.positionAbsolute;
  const { width, height } = node.measured;
  return (
    <div className="person-frame" data-frame={id} style={{ left: x, top: y, width, height }}>
      {name !== null && <span className="person-name">{name}</span>}
    </div>
  );
}

function Pointer({ person, at }: { person: Person; at: { x: number; y: number } }) {
  return (
    <div className="person-pointer" style={{ left: at.x, top: at.y }}>
      <svg viewBox="0 0 16 20" aria-hidden>
        <path d="M1 1v15l4-4 3 7 3-1-3-7h6z" />
      </svg>
      <span className="person-name">{person.name}</span>
    </div>
  );
}
