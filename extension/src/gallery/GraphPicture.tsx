/** A graph as a small drawing: nodes as boxes from left to right, links between them. */
import { memo, useMemo } from 'react';
import { isArgument, links, type GraphDocument } from '../core/document';
import { autoLayout, type Size } from '../core/layout';
import { t, tn } from '../core/language';
import { cutMiddle } from '../core/values';
import { foldGroups } from '../core/subgraphs';
import './GraphPicture.css';

const NODE: Size = { width: 132, height: 34 };
const MARGIN = 8;

interface Properties {
  document: GraphDocument;
  /** Nodes that stand out. */
  marked: readonly string[];
}

export const GraphPicture = memo(function GraphPicture({ document: whole, marked }: Properties) {
  const { document, sizes } = useMemo(() => foldGroups(whole), [whole]);
  const places = useMemo(() => autoLayout(document, () => NODE), [document]);
  const points = Object.values(places);
  if (points.length === 0) return null;
  const width = Math.max(...points.map(({ x }) => x)) + NODE.width + 2 * MARGIN;
  const height = Math.max(...points.map(({ y }) => y)) + NODE.height + 2 * MARGIN;
  const outputs = new Set(document.outputs.map((edge) => edge.replace(/:\d+$/, '')));
  const subtitle = (id: string): string => {
    const size = sizes.get(id);
    return size === undefined ? (document.nodes[id]?.op ?? '') : tn('%1 node', '%1 nodes', size);
  };
  return (
    <svg
      className="graph-picture"
      data-testid="gallery-graph"
      role="img"
      aria-label={t('A graph of %1 nodes', Object.keys(whole.nodes).length)}
      viewBox={`${-MARGIN} ${-MARGIN} ${width} ${height}`}
      width={width}
      height={height}
    >
      {links(document).map(({ source, target }, index) => {
        const from = places[source.node];
        const to = places[target.node];
        if (!from || !to) return null;
        const [x1, y1] = [from.x + NODE.width, from.y + NODE.height / 2];
        const [x2, y2] = [to.x, to.y + NODE.height / 2];
        const bend = Math.max(16, Math.abs(x2 - x1) / 2);
        return (
          <path
            key={index}
            d={`M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}`}
            className={isArgument(target) ? 'graph-link argument' : 'graph-link'}
          />
        );
      })}
      {Object.entries(places).map(([id, { x, y }]) => (
        <g
          key={id}
          transform={`translate(${x} ${y})`}
          className={marked.includes(id) ? 'graph-node marked' : 'graph-node'}
        >
          <title>{`${id}: ${subtitle(id)}`}</title>
          <rect width={NODE.width} height={NODE.height} rx={6} />
          <text x={9} y={15}>
            {cutMiddle(id, 20)}
          </text>
          <text x={9} y={27} className="graph-op">
            {cutMiddle(subtitle(id), 22)}
          </text>
          {outputs.has(id) && (
            <circle cx={NODE.width} cy={NODE.height / 2} r={3.5} className="graph-output" />
          )}
        </g>
      ))}
    </svg>
  );
});
