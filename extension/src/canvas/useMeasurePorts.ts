/** Has React Flow measure the ports of a node again. */
import { useStoreApi } from '@xyflow/react';
import { useCallback } from 'react';

/**
 * As React Flow's `useUpdateNodeInternals`, which puts a node's name into a selector as it is, so that a quote in it
 * throws.
 */
export function useMeasurePorts(id: string): () => void {
  const store = useStoreApi();
  return useCallback(() => {
    const { domNode, updateNodeInternals } = store.getState();
    const nodeElement = domNode?.querySelector<HTMLDivElement>(
      `.react-flow__node[data-id="${CSS.escape(id)}"]`,
    );
    if (!nodeElement) return;
    const updates = new Map([[id, { id, nodeElement, force: true }]]);
    requestAnimationFrame(() => updateNodeInternals(updates, { triggerFitView: false }));
  }, [store, id]);
}
