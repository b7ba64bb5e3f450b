/** Hooks of the gallery: access to its model, and pictures that follow their request. */
import { createContext, useContext, useEffect, useRef, useState } from 'react';
import type { Drawn, GalleryModel } from '../entries/model';
import type { DrawRequest } from '../core/protocol.generated';

export const GalleryContext = createContext<GalleryModel | null>(null);

export function useGallery(): GalleryModel {
  const model = useContext(GalleryContext);
  if (!model) throw new Error('GalleryContext is missing');
  return model;
}

export interface Drawing {
  drawn: Drawn | null;
  /** The request that `drawn` answers. */
  request: DrawRequest | null;
  problem: string | null;
  working: boolean;
}

const NOTHING: Drawing = { drawn: null, request: null, problem: null, working: false };

/**
 * The pictures of a request. While one is under way the newest waits, and those between are left out, so that a
 * control that is dragged never queues up work. `version` asks again for the same request.
 */
export function useDrawing(request: DrawRequest | null, version: unknown = null): Drawing {
  const model = useGallery();
  const [drawing, setDrawing] = useState<Drawing>(NOTHING);
  const key = request === null ? null : JSON.stringify([request, version]);
  const state = useRef(new Newest());

  useEffect(() => {
    const own = state.current;
    own.open = true;
    return () => own.end();
  }, []);

  useEffect(() => {
    state.current.ask(model, request, setDrawing);
    // The key stands for the request's content.
    // eslint-disable-next-line react-hooks/exhaustive-deps
  }, [model, key]);

  return request === null ? NOTHING : drawing;
}

/** A value once it has not changed for a while. */
export function useSettled<T>(value: T, milliseconds: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), milliseconds);
    return () => clearTimeout(timer);
  }, [value, milliseconds]);
  return settled;
}

/** One request under way, and the newest that waits. */
class Newest {
  open = true;
  private busy = false;
  private next: DrawRequest | null = null;
  private shown: Drawn | null = null;

  ask(
    model: GalleryModel,
    request: DrawRequest | null,
    show: (change: (old: Drawing) => Drawing) => void,
  ): void {
    this.next = request;
    if (request !== null && !this.busy) void this.work(model, show);
  }

  end(): void {
    this.open = false;
    this.next = null;
    this.shown?.release();
    this.shown = null;
  }

  private async work(model: GalleryModel, show: (change: (old: Drawing) => Drawing) => void): Promise<void> {
    this.busy = true;
    for (let wanted = this.take(); wanted !== null; wanted = this.take()) {
      const request = wanted;
      try {
        const drawn = await model.draw(request);
        if (this.open) {
          const before = this.shown;
          this.shown = drawn;
          show(() => ({ drawn, request, problem: null, working: this.next !== null }));
          before?.release();
        } else drawn.release();
      } catch (error) {
        show((old) => ({ ...old, problem: (error as Error).message, working: this.next !== null }));
      }
    }
    this.busy = false;
  }

  private take(): DrawRequest | null {
    const wanted = this.next;
    this.next = null;
    return wanted;
  }
}
