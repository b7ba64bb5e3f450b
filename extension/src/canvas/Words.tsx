/** A sentence with elements in it, whose places another language may choose: `%1` is the first of the parts. */
import { Fragment, type ReactNode } from 'react';
import { t } from '../core/language';

export function Words({ of, parts }: { of: string; parts: readonly ReactNode[] }) {
  const places = parts.map((_, index) => `%${index + 1}`);
  const pieces = t(of, ...places).split(/(%\d)/);
  return (
    <>
      {pieces.map((piece, at) => {
        const place = places.indexOf(piece);
        return <Fragment key={at}>{place < 0 ? piece : parts[place]}</Fragment>;
      })}
    </>
  );
}
