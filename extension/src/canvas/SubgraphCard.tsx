/** A collapsed group: one card with the ports that cross its border and the pictures that leave it. */
import { IconButton } from './controls/buttons';
import { useUpdateNodeInternals, type NodeProps } from '@xyflow/react';
import { memo, useEffect, useMemo } from 'react';
import { setGroup } from '../core/edits';
import { boundary, portOf } from '../core/subgraphs';
import { useEditor, useValue } from './context';
import { itemOf } from './flow';
import { GroupTitle } from './GroupTitle';
import { Icon } from './icons';
import { CardBody } from './NodeParts';
import { Port } from './Port';
import { t, tn } from '../core/language';

export const SubgraphCard = memo(function SubgraphCard({ id, selected }: NodeProps) {
  const editor = useEditor();
  const key = itemOf(id);
  const document = useValue(editor.document);
  const catalogue = useValue(editor.catalogue);
  const group = document.view.groups.find((each) => each.id === key);
  const measurePorts = useUpdateNodeInternals();
  const ports = useMemo(
    () => (group && catalogue ? boundary(document, catalogue, group) : { inputs: [], outputs: [] }),
    [document, catalogue, group],
  );
  const signature = [...ports.inputs, ...ports.outputs].map(({ label }) => label).join('/');
  useEffect(() => measurePorts(id), [id, signature, measurePorts]);
  if (!group) return null;
  const last = ports.outputs.at(-1)?.source.node ?? group.nodes.at(-1);
  const change = (label: string, next: Parameters<typeof setGroup>[2]): void => {
    editor.edit(label, (start) => setGroup(start, key, next));
  };
  return (
    <div
      className={`card subgraph ${selected ? 'selected' : ''}`}
      data-group-id={key}
      aria-label={t('Group %1', group.title)}
    >
      <div className="card-header line">
        <Icon name="copy" />
        <GroupTitle group={group} className="card-title ellipsis" />
        <span className="chip muted">{tn('%1 node', '%1 nodes', group.nodes.length)}</span>
        <IconButton
          icon="fit"
          label={t('Open group %1', group.title)}
          title={t('Open the group')}
          className="nodrag"
          data-action="expand"
          onClick={() => change(t('Open group'), { collapsed: false })}
        />
      </div>
      <div className="ports">
        {Array.from({ length: Math.max(ports.inputs.length, ports.outputs.length) }, (_, index) => {
          const input = ports.inputs[index];
          const output = ports.outputs[index];
          return (
            <div className="port-row line muted" key={index}>
              {input && (
                <>
                  <Port
                    id={portOf.target(input.target, true)}
                    type="target"
                    kind={input.kind}
                    label={input.label}
                    argument={'argument' in input.target}
                  />
                  <span className="port-name">{input.label}</span>
                </>
              )}
              {output && (
                <>
                  <span className="port-name right">{output.label}</span>
                  <Port
                    id={portOf.output(output.source, true)}
                    type="source"
                    kind={output.kind}
                    label={output.label}
                  />
                </>
              )}
            </div>
          );
        })}
      </div>
      {last !== undefined && <CardBody id={last} />}
    </div>
  );
});
