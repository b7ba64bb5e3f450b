/** The inspector's part about a sub-graph: its name, its uses, and which arguments of the nodes inside it offers. */
import { offerArgument, openNode, renameSubgraph } from '../core/actions';
import { definitionName, definitionOf, instancesOf, isOffered } from '../core/definitions';
import type { GraphNode } from '../core/document';
import { saveToGallery } from '../entries/saving';
import { useEditor, useValue } from './context';
import { Button } from './controls/buttons';
import { TextField } from './controls/fields';
import { t, tn } from '../core/language';

export function SubgraphSection({ id, node }: { id: string; node: GraphNode }) {
  const editor = useEditor();
  const document = useValue(editor.document);
  const catalogue = useValue(editor.catalogue);
  const readOnly = useValue(editor.session, (session) => session.readOnly);
  const name = definitionName(node.op);
  const definition = definitionOf(document, node.op);
  if (name === null || !definition) return null;
  const uses = instancesOf(document, name).length;
  return (
    <section className="subgraph-section stack" data-testid="subgraph">
      <h3>{t('Sub-graph')}</h3>
      <TextField
        label={t('Name of the sub-graph')}
        value={name}
        disabled={readOnly}
        onChange={(wanted) => renameSubgraph(editor, name, wanted)}
      />
      <p className="muted hint">
        {tn('%1 node inside', '%1 nodes inside', Object.keys(definition.nodes).length)},{' '}
        {tn('used %1 time', 'used %1 times', uses)}
      </p>
      <Button disabled={readOnly} onClick={() => openNode(editor, id)}>
        {t('Open')}
      </Button>
      <Button data-action="save-to-gallery" onClick={() => void saveToGallery(editor, id)}>
        {t('Save to the gallery')}
      </Button>
      <h3>{t('Its arguments')}</h3>
      {Object.entries(definition.nodes).map(([inner, entry]) => (
        <fieldset className="offered" key={inner} disabled={readOnly}>
          <legend className="muted">{inner}</legend>
          {(catalogue?.operator(entry.op)?.arguments ?? [])
            .filter(({ advanced }) => !advanced)
            .map(({ name: argument }) => (
              <label className="check" key={argument}>
                <input
                  type="checkbox"
                  checked={isOffered(definition, inner, argument)}
                  onChange={(event) => offerArgument(editor, name, inner, argument, event.target.checked)}
                />
                {argument}
              </label>
            ))}
        </fieldset>
      ))}
    </section>
  );
}
