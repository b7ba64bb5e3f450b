/** A link: its colour tells the kind, dashes a value per sample, a double line CPU to GPU. */
import { BaseEdge, getBezierPath, type Edge, type EdgeProps } from '@xyflow/react';
import { memo } from 'react';
import { parseEdge } from '../core/document';
import { batchBytes, formatBytes, type Memory } from '../core/placement';
import { useResult } from './context';

export type LinkData = {
  kind: string;
  argument: boolean;
  crosses: Memory | null;
  source: string;
  target: string;
};
export type LinkEdgeType = Edge<LinkData, 'link'>;

export const LinkEdge = memo(function LinkEdge(properties: EdgeProps<LinkEdgeType>) {
  const { data, selected, sourceX, sourceY, targetX, targetY, sourcePosition, targetPosition } = properties;
  const [path, x, y] = getBezierPath({
    sourceX,
    sourceY,
    targetX,
    targetY,
    sourcePosition,
    targetPosition,
    curvature: 0.3,
  });
  const classes = `link kind-${data?.kind ?? 'any'} ${data?.argument ? 'argument-link' : ''} ${data?.crosses ? 'crosses' : ''} ${selected ? 'selected' : ''}`;
  return (
    <g data-testid="edge" data-source={data?.source} data-target={data?.target} className={classes}>
      <BaseEdge path={path} interactionWidth={18} className="link-path" />
      {data?.crosses && <path d={path} className="link-gap" fill="none" />}
      {data?.crosses && <Transfer source={data.source} to={data.crosses} x={x} y={y} />}
    </g>
  );
});

/** How much goes to the other memory with each batch. */
function Transfer({ source, to, x, y }: { source: string; to: Memory; x: number; y: number }) {
  const { node, output } = parseEdge(source);
  const known = useResult(node)?.outputs[output];
  const size = known ? ` ${formatBytes(batchBytes(known))}` : '';
  return (
    <text x={x} y={y - 6} className="link-transfer" data-transfer={to}>
      → {to.toUpperCase()}
      {size}
    </text>
  );
}
