/** Asks for the permission that a node lacks. */
import { t } from '../core/language';
import type { Permission } from '../core/protocol';
import { useEditor } from './context';

export function AllowButton({ permission }: { permission: Permission }) {
  const editor = useEditor();
  return (
    <button
      type="button"
      className="link-button nodrag"
      data-action="ask-permission"
      onClick={(event) => {
        event.stopPropagation();
        editor.permissions.ask(permission).catch((error: unknown) => editor.report(error, t('Not allowed')));
      }}
    >
      {t('Allow…')}
    </button>
  );
}
