/** Puts the gallery alone into an element, for hosts whose graphs stand elsewhere. */
import { createElement } from 'react';
import { createRoot } from 'react-dom/client';
import { PermissionDialog } from '../canvas/dialogs/PermissionDialog';
import { OverlayContext } from '../canvas/overlay';
import { Connection } from '../core/connection';
import { Permissions } from '../core/permissions';
import type { Transport } from '../core/protocol';
import { makeHost } from './shadow';
import { hostTheme, watchHostTheme } from './theme';
import { Gallery } from '../gallery/Gallery';
import { GalleryModel, type GalleryHost } from '../entries/model';

/** Actions of the host on an entry that was chosen. */
export type GalleryActions = Pick<GalleryHost, 'open' | 'insert' | 'folder'>;

export interface GalleryHandle {
  readonly model: GalleryModel;
  dispose(): void;
}

export function mountGallery(
  element: HTMLElement,
  transport: Transport,
  actions: GalleryActions,
): GalleryHandle {
  const { host, container } = makeHost(element, 'dali-lab-gallery');
  container.classList.add('editor');
  const follow = (): void => {
    container.dataset['theme'] = hostTheme();
  };
  follow();

  const connection = new Connection(transport);
  const model = new GalleryModel({ connection, close: null, ...actions });
  const permissions = new Permissions(connection);
  const root = createRoot(container);
  const overlay = document.createElement('div');
  overlay.className = 'overlay fill';
  root.render(
    createElement(
      OverlayContext.Provider,
      { value: overlay },
      createElement(Gallery, { model }),
      createElement(PermissionDialog, { permissions }),
      createElement('div', { ref: (place: HTMLElement | null) => place?.append(overlay) }),
    ),
  );
  // The session may come later, and may come again with another kernel.
  const connected = (): void => {
    if (connection.state.get().status === 'connected') void model.load();
  };
  const stops = [watchHostTheme(follow), connection.state.subscribe(connected)];
  return {
    model,
    dispose: () => {
      for (const stop of stops) stop();
      root.unmount();
      model.dispose();
      connection.dispose();
      host.remove();
    },
  };
}
