/** A link: its colour tells the kind, dashes a value per sample, a double line CPU to GPU. */
import {
  BaseEdge,
  EdgeLabelRenderer,
  getBezierPath,
  getSmoothStepPath,
  useStore,
  type Edge,
  type EdgeProps,
} from '@xyflow/react';
import { memo, useMemo, type HTMLAttributes } from 'react';
import { cachePlace } from '../core/caches';
import type { Point } from '../core/edits';
import { parseEdge } from '../core/document';
import { t } from '../core/language';
import { batchBytes, type Memory } from '../core/placement';
import { formatBytes } from '../core/values';
import { useEditor, useResult, useValue } from './context';
import type { Box } from '../core/layout';
import { labelPlace } from './labelPlace';
import { RoutePoints } from './RoutePoints';
import './LinkEdge.css';

type Curve = [Point, Point, Point, Point];

export type LinkData = {
  kind: string;
  argument: boolean;
  crosses: Memory | null;
  source: string;
  target: string;
  /** Points that it passes through. */
  route: readonly (readonly [number, number])[];
};
export type LinkEdgeType = Edge<LinkData, 'link'>;

/** A link that ends further left than it begins leads to the next row. */
const BACK = 40;
/** Height above an input at which there is room between rows. */
const ABOVE = 42;

export const LinkEdge = memo(function LinkEdge(properties: EdgeProps<LinkEdgeType>) {
  const { data, selected, sourceX, sourceY, targetX, targetY, sourcePosition, targetPosition } = properties;
  const ends = { sourceX, sourceY, targetX, targetY, sourcePosition, targetPosition };
  // To the row below it goes back through the gap between the rows.
  const back = targetX < sourceX - BACK && targetY - sourceY > 2 * ABOVE;
  const route = data?.route ?? [];
  const [path] =
    route.length > 0
      ? [pathThrough([[sourceX, sourceY], ...route, [targetX, targetY]])]
      : back
        ? getSmoothStepPath({ ...ends, centerY: targetY - ABOVE, offset: 18, borderRadius: 10 })
        : getBezierPath({ ...ends, curvature: 0.3 });
  const classes = `link kind-${data?.kind ?? 'any'} ${data?.argument ? 'argument-link' : ''} ${data?.crosses ? 'crosses' : ''} ${selected ? 'selected' : ''}`;
  return (
    <g data-testid="edge" data-source={data?.source} data-target={data?.target} className={classes}>
      <BaseEdge path={path} interactionWidth={18} className="link-path" />
      {route.length > 0 && <RoutePoints link={properties.id} route={route} />}
      {data?.crosses && <path d={path} className="link-gap" fill="none" />}
      {data?.crosses && (
        <Transfer source={data.source} to={data.crosses} curve={back ? levelCurve(ends) : curveOf(path)} />
      )}
      {data && !data.crosses && (
        <Border source={data.source} target={data.target} curve={back ? levelCurve(ends) : curveOf(path)} />
      )}
    </g>
  );
});

/** A chip with the bytes copied to the other memory in each batch. */
function Transfer({ source, to, curve }: { source: string; to: Memory; curve: Curve }) {
  const { node, output } = parseEdge(source);
  const known = useResult(node)?.outputs[output];
  const size = known ? ` ${formatBytes(batchBytes(known))}` : '';
  return <Chip text={`→ ${to.toUpperCase()}${size}`} curve={curve} data-transfer={to} />;
}

/** A chip where the part ends whose results are kept, or whose keeping was measured. */
function Border({ source, target, curve }: { source: string; target: string; curve: Curve }) {
  const editor = useEditor();
  const from = parseEdge(source).node;
  const to = target.split(/[.:]/, 1)[0] ?? target;
  const ends = useValue(editor.unchanging, (nodes) => nodes.has(from) && !nodes.has(to));
  const kept = useValue(editor.document, ({ pipeline }) => cachePlace(pipeline) !== null);
  const measured = useValue(editor.jobs, ({ lastCache }) => lastCache !== null);
  return ends && (kept || measured) ? <Chip text={t('once')} curve={curve} data-border="" /> : null;
}

/** A text on a link, above all nodes, at a place without any. */
function Chip({ text, curve, ...rest }: { text: string; curve: Curve } & HTMLAttributes<HTMLSpanElement>) {
  const nodes = useStore((state) => state.nodes);
  const lookup = useStore((state) => state.nodeLookup);
  const place = useMemo(() => {
    const boxes = nodes
      .filter(({ type }) => type === 'operator' || type === 'subgraph')
      .map(({ id, position, initialWidth = 0, initialHeight = 0 }): Box => {
        const measured = lookup.get(id)?.measured;
        return {
          ...position,
          width: measured?.width ?? initialWidth,
          height: measured?.height ?? initialHeight,
        };
      });
    return labelPlace(curve, { width: 12 + 5.6 * text.length, height: 16 }, boxes);
  }, [nodes, lookup, curve, text]);
  return (
    <EdgeLabelRenderer>
      <span
        className="link-chip muted"
        style={{ transform: `translate(-50%, -50%) translate(${place.x}px, ${place.y}px)` }}
        {...rest}
      >
        {text}
      </span>
    </EdgeLabelRenderer>
  );
}

/** A curve through points, level at each of them. */
function pathThrough(points: readonly (readonly [number, number])[]): string {
  return points
    .map(([x, y], index) => {
      const before = points[index - 1];
      if (!before) return `M${x},${y}`;
      const bend = Math.max(16, Math.abs(x - before[0]) / 3);
      return `C${before[0] + bend},${before[1]} ${x - bend},${y} ${x},${y}`;
    })
    .join(' ');
}

/** The level part of a link to the next row. */
function levelCurve({ sourceX, targetX, targetY }: Record<'sourceX' | 'targetX' | 'targetY', number>): Curve {
  const y = targetY - ABOVE;
  return [
    { x: sourceX, y },
    { x: sourceX, y },
    { x: targetX, y },
    { x: targetX, y },
  ];
}

/** The four points of a path that is one cubic curve. */
function curveOf(path: string): Curve {
  const numbers = (path.match(/-?\d+(\.\d+)?(e-?\d+)?/g) ?? []).map(Number);
  const point = (index: number): Point => ({ x: numbers[2 * index] ?? 0, y: numbers[2 * index + 1] ?? 0 });
  return [point(0), point(1), point(2), point(3)];
}
