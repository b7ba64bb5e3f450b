/** The layer above the canvas, inside the editor's own shadow root, where menus and dialogs go. */
import { createContext } from 'react';

export const OverlayContext = createContext<HTMLElement | null>(null);
