/** The link that is being drawn, with the reason beside it where it would be refused. */
import { getBezierPath, type ConnectionLineComponentProps } from '@xyflow/react';
import { canConnect, kindOf } from '../core/connect';
import type { OutputRef, Target } from '../core/document';
import { useEditor } from './context';
import { outputOfPort, targetOfPort } from '../core/subgraphs';

export function ConnectionLine(properties: ConnectionLineComponentProps) {
  const { fromX, fromY, toX, toY, fromPosition, toPosition, fromHandle, toHandle, connectionStatus } =
    properties;
  const editor = useEditor();
  const [path] = getBezierPath({
    sourceX: fromX,
    sourceY: fromY,
    targetX: toX,
    targetY: toY,
    sourcePosition: fromPosition,
    targetPosition: toPosition,
    curvature: 0.3,
  });
  const facts = editor.facts;
  const [out, into] = fromHandle.type === 'source' ? [fromHandle, toHandle] : [toHandle, fromHandle];
  const source: OutputRef | null = out?.id ? outputOfPort(out.nodeId, out.id) : null;
  const target: Target | null = into?.id ? targetOfPort(into.nodeId, into.id) : null;
  const kind = facts && source ? kindOf(facts, source) : 'any';
  let reason: string | null = null;
  if (facts && source && target && connectionStatus === 'invalid') {
    const verdict = canConnect(facts, source, target);
    if (!verdict.ok) reason = verdict.reason;
  }
  return (
    <g className={`link drawing kind-${kind} ${connectionStatus ?? ''}`}>
      <path d={path} className="link-path" fill="none" />
      <circle cx={toX} cy={toY} r={3.5} className="link-end" />
      {reason !== null && (
        <foreignObject
          x={toX + 12}
          y={toY + 8}
          width={280}
          height={120}
          style={{ overflow: 'visible', pointerEvents: 'none' }}
        >
          <div className="link-reason">{reason}</div>
        </foreignObject>
      )}
    </g>
  );
}
