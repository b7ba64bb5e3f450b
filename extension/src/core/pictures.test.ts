import { describe, expect, it } from 'vitest';
import { browserPictures } from './pictures';

const bytes = (length: number): Uint8Array => Uint8Array.from({ length }, (_, index) => (index * 7) % 256);

describe('pictures as addresses', () => {
  it.each([0, 1, 2, 3, 8191, 8192, 8193, 50_000])('%i bytes stand in their address', (length) => {
    const url = browserPictures.make(bytes(length).buffer as ArrayBuffer, 'image/png');
    const [head, text] = url.split(',');
    expect(head).toBe('data:image/png;base64');
    expect([...Buffer.from(text ?? '', 'base64')]).toEqual([...bytes(length)]);
  });

  it('takes the part of a buffer that a view shows', () => {
    const url = browserPictures.make(new DataView(bytes(100).buffer, 10, 5), 'image/png');
    expect([...Buffer.from(url.split(',')[1] ?? '', 'base64')]).toEqual([...bytes(100).subarray(10, 15)]);
  });

  it('leaves large pictures to the browser', () => {
    const url = browserPictures.make(bytes(200_000).buffer as ArrayBuffer, 'image/png');
    expect(url).toMatch(/^blob:/);
    URL.revokeObjectURL(url);
  });
});
