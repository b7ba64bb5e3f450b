/** The report of a graph as one picture: a page drawn onto a canvas, with the graph in a text chunk of the PNG. */
import { t } from '../core/language';

/** Pixels of the page's width, as it is laid out. */
const WIDTH = 1100;
/** Longest side that canvases of browsers have. */
const MOST = 16000;
const KEYWORD = 'dali-lab-graph';
const SVG = 'http://www.w3.org/2000/svg';

/** A page of the session's report, as a PNG from which the graph opens again. */
export async function pictureOf(page: string): Promise<Blob> {
  const source = new DOMParser().parseFromString(page, 'text/html');
  const main = source.querySelector('main');
  const style = source.querySelector('style')?.textContent ?? '';
  const graph = source.querySelector('#dali-lab-graph')?.textContent ?? '';
  if (!main) throw new Error(t('The report is no page.'));
  const height = await heightOf(main, style);
  const drawing = new XMLSerializer().serializeToString(drawingOf(main, style, height));
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(drawing)}`;
  await image.decode();
  const scale = Math.min(2, MOST / height);
  const canvas = document.createElement('canvas');
  canvas.width = Math.round(WIDTH * scale);
  canvas.height = Math.round(height * scale);
  const context = canvas.getContext('2d');
  if (!context) throw new Error(t('The browser cannot draw the report.'));
  context.fillStyle = '#fff';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.drawImage(image, 0, 0, canvas.width, canvas.height);
  const blob = await new Promise<Blob | null>((done) => canvas.toBlob(done, 'image/png'));
  if (!blob) throw new Error(t('The browser cannot draw the report.'));
  const bytes = new Uint8Array(await blob.arrayBuffer());
  return new Blob([withText(bytes, KEYWORD, graph) as BlobPart], { type: 'image/png' });
}

/** A page as a drawing, which an image can show. */
function drawingOf(main: Element, style: string, height: number): Element {
  const svg = document.createElementNS(SVG, 'svg');
  const part = document.createElementNS(SVG, 'foreignObject');
  for (const each of [svg, part]) {
    each.setAttribute('width', `${WIDTH}`);
    each.setAttribute('height', `${height}`);
  }
  const sheet = document.createElement('style');
  sheet.textContent = style;
  part.append(sheet, document.importNode(main, true));
  svg.append(part);
  return svg;
}

/** The height of a page of this width, laid out where nobody sees it; no script of it runs. */
async function heightOf(main: Element, style: string): Promise<number> {
  const holder = document.createElement('div');
  holder.style.cssText = `position:fixed;left:-10000px;top:0;width:${WIDTH}px;visibility:hidden;`;
  const root = holder.attachShadow({ mode: 'closed' });
  const sheet = document.createElement('style');
  sheet.textContent = style;
  root.append(sheet, document.importNode(main, true));
  document.body.append(holder);
  try {
    await Promise.allSettled([...root.querySelectorAll('img')].map((image) => image.decode()));
    return Math.ceil(holder.getBoundingClientRect().height) + 8;
  } finally {
    holder.remove();
  }
}

/** A PNG with a text put before its end, as an uncompressed iTXt chunk. */
export function withText(png: Uint8Array, keyword: string, text: string): Uint8Array {
  const content = new TextEncoder().encode(`iTXt${keyword}\0\0\0\0\0${text}`);
  const chunk = new Uint8Array(content.length + 8);
  const view = new DataView(chunk.buffer);
  view.setUint32(0, content.length - 4);
  chunk.set(content, 4);
  view.setUint32(content.length + 4, crc32(content));
  // The last chunk, IEND, has 12 bytes.
  const end = png.length - 12;
  const result = new Uint8Array(png.length + chunk.length);
  result.set(png.subarray(0, end));
  result.set(chunk, end);
  result.set(png.subarray(end), end + chunk.length);
  return result;
}

/** The text of a file to open: of a PNG, the graph inside. */
export async function textOf(file: Blob): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const name = (from: number, length: number): string =>
    new TextDecoder('latin1').decode(bytes.subarray(from, from + length));
  if (name(1, 3) !== 'PNG') return file.text();
  const view = new DataView(bytes.buffer);
  for (let at = 8; at + 12 <= bytes.length; at += view.getUint32(at) + 12) {
    const begin = at + 8;
    const end = begin + view.getUint32(at);
    if (name(at + 4, 4) !== 'iTXt' || name(begin, KEYWORD.length + 1) !== `${KEYWORD}\0`) continue;
    // Compressed or not, and by which method; then the language and the keyword in it, which are empty.
    const content = new Blob([bytes.subarray(begin + KEYWORD.length + 5, end)]);
    if (bytes[begin + KEYWORD.length + 1] === 0) return content.text();
    return new Response(content.stream().pipeThrough(new DecompressionStream('deflate'))).text();
  }
  throw new Error(t('This picture has no graph inside.'));
}

function crc32(bytes: Uint8Array): number {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1));
  }
  return ~crc >>> 0;
}
