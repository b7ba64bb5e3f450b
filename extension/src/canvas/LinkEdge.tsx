/** A link: its colour tells the kind, dashes a value per sample, a double line CPU to GPU. */
import { BaseEdge, getBezierPath, type Edge, type EdgeProps } from '@xyflow/react';
import { memo } from 'react';

export type LinkData = { kind: string; argument: boolean; crosses: boolean; source: string; target: string };
export type LinkEdgeType = Edge<LinkData, 'link'>;

export const LinkEdge = memo(function LinkEdge(properties: EdgeProps<LinkEdgeType>) {
  const { data, selected, sourceX, sourceY, targetX, targetY, sourcePosition, targetPosition } = properties;
  const [path] = getBezierPath({
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
    </g>
  );
});
