/** The gallery's model, without a user interface: its state, its pictures, and its requests to the session. */
import type { Connection } from '../core/connection';
import type { GraphDocument } from '../core/document';
import { Observable } from '../core/observable';
import { pictureOf, releasePictures, type Picture } from '../core/pictures';
import type { PictureRef } from '../core/protocol';
import type {
  Cost,
  DrawRequest,
  EntryPage,
  GalleryList,
  OverlayData,
  Overrides,
  Surprise,
  VariantAnswer,
} from '../core/protocol.generated';

/** Actions of the gallery's host on a graph. */
export interface GalleryHost {
  connection: Connection;
  open: (document: GraphDocument, title: string, entry: string | null) => void;
  /** Puts the augmentation's nodes into the graph that is open; null where none is. */
  insert: ((page: EntryPage, document: GraphDocument) => void) | null;
  /** Back to the editor; null where there is none. */
  close: (() => void) | null;
  /** The folder that the graph at hand reads, offered for "my pictures". */
  folder: () => string | null;
}

export type Place =
  { page: 'wall' } | { page: 'entry'; name: string } | { page: 'compare' } | { page: 'surprise' };

export interface Tile {
  before: Picture | null;
  after: Picture | null;
  problem?: string;
}

export interface Filter {
  text: string;
  family: string | null;
  tag: string | null;
}

export interface DrawnOverlay {
  boxes?: number[][];
  points?: number[][];
  mask?: Picture | null;
}

export interface DrawnView {
  images: (Picture | null)[];
  overlays: (DrawnOverlay | null)[];
  shapes: string[];
}

export interface DrawnVariant {
  before: DrawnView | null;
  after: DrawnView[];
  problem: string | null;
}

export interface Drawn {
  variants: DrawnVariant[];
  photographs: number;
  /** Gives the pictures back to the browser. */
  release: () => void;
}

const GROUP = 6;
const COMPARED = 8;

export class GalleryModel {
  readonly list = new Observable<GalleryList | null>(null);
  readonly tiles = new Observable<ReadonlyMap<string, Tile>>(new Map());
  readonly problem = new Observable<string | null>(null);
  readonly place = new Observable<Place>({ page: 'wall' });
  readonly filter = new Observable<Filter>({ text: '', family: null, tag: null });
  readonly compared = new Observable<readonly string[]>([]);
  /** A folder of the person's own pictures in place of the sample photographs. */
  readonly pictures = new Observable<{ folder: string; count: number } | null>(null);
  /** Scroll position of the wall, to come back to. */
  scroll = 0;
  /** Whether the pictures of all entries were asked for: a search reads the list alone. */
  loaded = false;
  private disposed = false;

  constructor(readonly host: GalleryHost) {}

  /** Requests the entries, then existing pictures, then pictures that have to be made. */
  async load(): Promise<void> {
    this.loaded = true;
    try {
      const list = await this.entries();
      if (list === null) return;
      const names = list.entries.map(({ name }) => name).filter((name) => !this.tiles.get().has(name));
      let missing = await this.loadTiles(names, true);
      while (missing.length > 0) {
        await this.loadTiles(missing.slice(0, GROUP), false);
        missing = missing.slice(GROUP);
      }
    } catch (error) {
      this.loaded = false;
      if (!this.disposed) this.problem.set((error as Error).message);
    }
  }

  /** Requests the entries alone. */
  async entries(): Promise<GalleryList | null> {
    const list = await this.host.connection.call('gallery.list');
    if (this.disposed) return null;
    this.list.set(list);
    this.problem.set(null);
    return list;
  }

  /** Existing pictures of some entries. */
  async existing(names: readonly string[]): Promise<void> {
    const missing = names.filter((name) => !this.tiles.get().has(name));
    if (missing.length > 0) await this.loadTiles(missing, true);
  }

  /** Takes in a new entry, and has its pictures made. */
  async added(name: string): Promise<void> {
    await this.entries();
    await this.loadTiles([name], false);
  }

  go(place: Place): void {
    this.place.set(place);
  }

  toggleCompared(name: string): void {
    this.compared.update((names) =>
      names.includes(name) ? names.filter((each) => each !== name) : [...names, name].slice(-COMPARED),
    );
  }

  entry(name: string): Promise<EntryPage> {
    return this.host.connection.call('gallery.entry', { name, ...this.own() });
  }

  async draw(request: DrawRequest): Promise<Drawn> {
    const { result, buffers } = await this.host.connection.request('gallery.draw', {
      ...this.own(),
      ...request,
    });
    const made: Picture[] = [];
    const take = (reference: PictureRef | null | undefined): Picture | null => {
      const picture = pictureOf(reference, buffers);
      if (picture) made.push(picture);
      return picture;
    };
    return {
      variants: result.variants.map((variant) => drawnVariant(variant, take)),
      photographs: result.photographs,
      release: () => {
        releasePictures(made);
      },
    };
  }

  cost(name: string, overrides: Overrides): Promise<Cost> {
    return this.host.connection.call('gallery.cost', { name, overrides, ...this.own() });
  }

  code(name: string, overrides: Overrides): Promise<{ document: GraphDocument; code: string }> {
    return this.host.connection.call('gallery.code', { name, overrides, ...this.own() });
  }

  surprise(): Promise<Surprise> {
    return this.host.connection.call('gallery.surprise', this.own());
  }

  /** Looks through a folder and takes its pictures; null goes back to the sample photographs. */
  async usePictures(folder: string | null): Promise<void> {
    if (folder === null) {
      this.pictures.set(null);
      return;
    }
    this.pictures.set(await this.host.connection.call('gallery.pictures', { pictures: folder }));
  }

  dispose(): void {
    this.disposed = true;
    for (const { before, after } of this.tiles.get().values()) releasePictures([before, after]);
    this.tiles.set(new Map());
  }

  private own(): { pictures?: string } {
    const own = this.pictures.get();
    return own ? { pictures: own.folder } : {};
  }

  private async loadTiles(names: readonly string[], cached: boolean): Promise<string[]> {
    const { result, buffers } = await this.host.connection.request('gallery.tiles', {
      names,
      cached,
    });
    if (this.disposed) return [];
    this.tiles.update((before) => {
      const tiles = new Map(before);
      for (const [name, tile] of Object.entries(result.tiles)) {
        tiles.set(name, {
          before: pictureOf(tile.before, buffers),
          after: pictureOf(tile.after, buffers),
          ...(tile.problem === undefined ? {} : { problem: tile.problem }),
        });
      }
      return tiles;
    });
    return result.missing;
  }
}

type Take = (reference: PictureRef | null | undefined) => Picture | null;

function drawnVariant({ before, after, problem }: VariantAnswer, take: Take): DrawnVariant {
  const view = (answer: NonNullable<VariantAnswer['before']>): DrawnView => ({
    images: answer.images.map(take),
    overlays: answer.overlays.map((overlay) => drawnOverlay(overlay, take)),
    shapes: answer.shapes,
  });
  return {
    before: before ? view(before) : null,
    after: (after ?? []).map(view),
    problem: problem ? problem.message : null,
  };
}

function drawnOverlay(overlay: OverlayData | null, take: Take): DrawnOverlay | null {
  if (!overlay) return null;
  const { mask, ...rest } = overlay;
  return mask === undefined ? rest : { ...rest, mask: take(mask) };
}
