/** A note that the batch is made of chosen samples, with a way back to the usual ones. */
import { pin } from '../../core/datasets';
import { t, tn } from '../../core/language';
import { useEditor, useValue } from '../context';
import { Button } from '../controls/buttons';

export function PinnedNote() {
  const editor = useEditor();
  const pins = useValue(editor.batch, ({ pins }) => pins);
  if (!pins) return null;
  return (
    <Button
      className="small"
      data-testid="unpin"
      title={t('Previews show the samples that you chose. Press to show all in turn again.')}
      onClick={() => pin(editor, null)}
    >
      {tn('%1 pinned sample ×', '%1 pinned samples ×', pins.places.length)}
    </Button>
  );
}
