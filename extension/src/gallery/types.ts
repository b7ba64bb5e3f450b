/** What the session says of the gallery; PROTOCOL.md tells what it means. */
import type { Operator } from '../core/catalogue';
import type { GraphDocument, Value } from '../core/document';
import type { PictureRef, SessionError } from '../core/protocol';

export interface EntryLine {
  name: string;
  title: string;
  family: string;
  helps: string;
  hurts: string;
  tags: string[];
  operators: string[];
  own: boolean;
  folder: string;
  views: number;
  /** Whether it reads photographs, so that other pictures can take their place. */
  pictures: boolean;
  /** Whether it reads boxes, points or masks with them. */
  annotated?: boolean;
  waiting?: string;
}

export interface BrokenLine {
  name: string;
  folder: string;
  problem: string;
}

export interface GalleryFamily {
  name: string;
  title: string;
}

export interface GalleryList {
  families: GalleryFamily[];
  entries: EntryLine[];
  broken: BrokenLine[];
}

export interface TileAnswer {
  tiles: Record<string, { before?: PictureRef | null; after?: PictureRef | null; problem?: string }>;
  missing: string[];
}

export interface Control {
  node: string;
  name: string;
  op: string;
  label: string;
  kind: 'number' | 'range' | 'choice' | 'switch';
  value: Value;
  minimum?: number;
  maximum?: number;
  unit: string | null;
  doc: string;
  integer: boolean;
  /** The length of a list whose parts are set together. */
  length: number | null;
  choices?: string[];
}

export interface EntryPage extends EntryLine {
  random: boolean;
  document: GraphDocument;
  code: string;
  before: string | null;
  /** The nodes that make up the augmentation. */
  fragment: string[];
  controls: Control[];
  reference: Operator[];
}

export type Overrides = Record<string, Record<string, Value>>;

export interface OverlayData {
  boxes?: number[][];
  points?: number[][];
  mask?: PictureRef | null;
}

export interface ViewAnswer {
  images: (PictureRef | null)[];
  overlays: (OverlayData | null)[];
  shapes: string[];
}

export interface VariantAnswer {
  before?: ViewAnswer | null;
  after?: ViewAnswer[];
  problem?: SessionError;
}

export interface DrawAnswer {
  variants: VariantAnswer[];
  photographs: number;
}

export interface DrawRequest {
  name?: string;
  graph?: GraphDocument;
  before_edge?: string | null;
  variants: { overrides?: Overrides; seed?: number }[];
  first?: number;
  samples?: number;
  size?: number;
  before?: boolean;
  pictures?: string;
}

export interface Cost {
  images_per_second: number;
  decoding_images_per_second: number | null;
  batch_size: number;
}

export interface Surprise {
  seed: number;
  title: string;
  steps: string[];
  graph: GraphDocument;
  document: GraphDocument;
  code: string;
  before: string | null;
}
