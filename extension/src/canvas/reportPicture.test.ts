import { crc32, deflateSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { textOf, withText } from './reportPicture';

const end = Uint8Array.from([0, 0, 0, 0, 73, 69, 78, 68, 0xae, 0x42, 0x60, 0x82]);
const png = Uint8Array.from([137, 80, 78, 71, 13, 10, 26, 10, ...end]);

it('puts a text before the end of a PNG', () => {
  const made = withText(png, 'key', '{"a": "ü"}');
  const view = new DataView(made.buffer);
  const length = view.getUint32(8);
  const content = made.subarray(12, 16 + length);
  expect(new TextDecoder().decode(content)).toBe('iTXtkey\0\0\0\0\0{"a": "ü"}');
  expect(view.getUint32(16 + length)).toBe(crc32(content));
  expect([...made.subarray(-12)]).toEqual([...end]);
});

it('finds the graph inside a PNG, and takes other files as text', async () => {
  const graph = '{"nodes": "ü"}';
  expect(await textOf(new Blob([withText(png, 'dali-lab-graph', graph) as BlobPart]))).toBe(graph);
  const packed = Uint8Array.from([...Buffer.from('iTXtdali-lab-graph\0\x01\0\0\0'), ...deflateSync(graph)]);
  const chunk = Uint8Array.from([0, 0, 0, packed.length - 4, ...packed, 0, 0, 0, 0]);
  const whole = [png.subarray(0, 8), chunk, end] as BlobPart[];
  expect(await textOf(new Blob(whole))).toBe(graph);
  expect(await textOf(new Blob(['from dali_lab']))).toBe('from dali_lab');
  await expect(textOf(new Blob([png]))).rejects.toThrow('no graph');
});
