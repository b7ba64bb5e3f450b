/** Pictures as addresses that an `img` can show. */
import type { Bytes, PictureRef } from './protocol';

export interface Pictures {
  make(bytes: Bytes, mime: string): string;
  /** The picture is shown no more. */
  release(url: string): void;
}

/**
 * Up to this size a picture's address holds the picture itself. An object URL is a call to the browser's own process,
 * which takes over a millisecond and is waited for: of twenty-four small pictures more than all else that the page does.
 */
const INLINE_BYTES = 96 * 1024;
/** `String.fromCharCode` takes so many arguments at once. */
const CHUNK = 0x2000;

function base64(bytes: Uint8Array & { toBase64?(): string }): string {
  // Many times faster, where the browser has it.
  if (bytes.toBase64) return bytes.toBase64();
  const text: string[] = [];
  for (let at = 0; at < bytes.length; at += CHUNK) {
    text.push(String.fromCharCode(...bytes.subarray(at, at + CHUNK)));
  }
  return btoa(text.join(''));
}

function view(bytes: Bytes): Uint8Array {
  return bytes instanceof ArrayBuffer
    ? new Uint8Array(bytes)
    : new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

export const browserPictures: Pictures = {
  make: (bytes, mime) =>
    bytes.byteLength <= INLINE_BYTES
      ? `data:${mime};base64,${base64(view(bytes))}`
      : URL.createObjectURL(new Blob([bytes as BlobPart], { type: mime })),
  release: (url) => {
    if (!url.startsWith('blob:')) return;
    // It may still be on the screen.
    setTimeout(() => URL.revokeObjectURL(url), 2000);
  },
};

/** A picture that an `img` can show. */
export interface Picture {
  url: string;
  width: number;
  height: number;
}

/** The picture that a message refers to, from its buffers. */
export function pictureOf(
  reference: PictureRef | null | undefined,
  buffers: readonly Bytes[],
  pictures: Pictures = browserPictures,
): Picture | null {
  const bytes = reference ? buffers[reference.buffer] : undefined;
  if (!reference || !bytes) return null;
  const { width, height, mime } = reference;
  return { url: pictures.make(bytes, mime), width, height };
}

export function releasePictures(
  images: Iterable<Picture | null>,
  pictures: Pictures = browserPictures,
): void {
  for (const image of images) if (image) pictures.release(image.url);
}
