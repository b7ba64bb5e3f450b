/** A session that runs in the page: enough of the protocol to work on the editor without a server. */
import { apply, changesMeaning, type Changes } from '../src/core/changes';
import { emptyDocument, parseEdge, type GraphDocument } from '../src/core/document';
import { asNumber } from '../src/core/values';
import type { Message, OutputPreview, PictureRef, PreviewRequest, Transport } from '../src/core/protocol';
import { catalogue } from './catalogue';
import { samples } from './documents';

type Listener = (message: Message, buffers: ArrayBuffer[]) => void;
const FILES = [
  'tabby.jpg',
  'coast.jpg',
  'market.jpg',
  'night.png',
  'portrait.jpg',
  'bread.jpg',
  'tower.jpg',
  'garden.webp',
];

function noise(seed: number): number {
  const x = Math.sin(seed * 127.1) * 43758.5453;
  return x - Math.floor(x);
}

/** A made-up photograph: sky, hills, a sun, something in front. */
function paint(sample: number, width: number, height: number): OffscreenCanvas {
  const canvas = new OffscreenCanvas(width, height);
  const context = canvas.getContext('2d') as OffscreenCanvasRenderingContext2D;
  const hue = noise(sample + 1) * 360;
  const sky = context.createLinearGradient(0, 0, 0, height);
  sky.addColorStop(0, `hsl(${hue} 55% 62%)`);
  sky.addColorStop(1, `hsl(${hue + 50} 70% 84%)`);
  context.fillStyle = sky;
  context.fillRect(0, 0, width, height);
  context.fillStyle = `hsl(${hue + 180} 90% 88%)`;
  context.beginPath();
  context.arc(width * (0.2 + 0.6 * noise(sample * 3)), height * 0.3, height * 0.1, 0, 7);
  context.fill();
  for (let layer = 0; layer < 4; layer++) {
    context.fillStyle = `hsl(${hue + 100 + layer * 18} ${30 + layer * 8}% ${62 - layer * 13}%)`;
    context.beginPath();
    context.moveTo(0, height);
    for (let x = 0; x <= 24; x++) {
      const y =
        0.45 + layer * 0.13 + 0.11 * Math.sin(x * (0.3 + noise(sample + layer) * 0.5) + layer * 2 + sample);
      context.lineTo((x / 24) * width, y * height);
    }
    context.lineTo(width, height);
    context.fill();
  }
  context.fillStyle = `hsl(${hue + 20} 60% 32%)`;
  const x = width * (0.15 + 0.6 * noise(sample * 7));
  context.fillRect(x, height * 0.52, width * 0.16, height * 0.34);
  context.fillStyle = `hsl(${hue + 10} 70% 45%)`;
  context.beginPath();
  context.moveTo(x - width * 0.03, height * 0.54);
  context.lineTo(x + width * 0.08, height * 0.4);
  context.lineTo(x + width * 0.19, height * 0.54);
  context.fill();
  return canvas;
}

interface Made {
  pictures?: OffscreenCanvas[];
  numbers?: number[];
  labels?: number[];
}

export class PageSession implements Transport {
  private listeners = new Set<Listener>();
  private document: GraphDocument;
  private revision = 0;
  private sent = new Map<string, string>();
  private current = 0;
  private statusListener: ((status: 'connected' | 'disconnected') => void) | null = null;
  up = true;

  constructor(name: string | null) {
    this.document = name === null ? emptyDocument() : (samples[name]?.() ?? emptyDocument());
  }

  setUp(up: boolean): void {
    this.up = up;
    this.statusListener?.(up ? 'connected' : 'disconnected');
  }

  onMessage(listener: Listener): () => void {
    this.listeners.add(listener);
    return () => this.listeners.delete(listener);
  }

  onStatus(listener: (status: 'connecting' | 'connected' | 'disconnected') => void): () => void {
    this.statusListener = listener;
    setTimeout(() => listener('connected'), 10);
    return () => {
      this.statusListener = null;
    };
  }

  dispose(): void {
    this.listeners.clear();
  }

  send(message: Message): void {
    if (!this.up) throw new Error('down');
    if (message.kind !== 'request') return;
    const { id, method, params } = JSON.parse(JSON.stringify(message)) as {
      id: string;
      method: string;
      params: Record<string, unknown>;
    };
    setTimeout(() => {
      try {
        this.deliver({ kind: 'response', id, result: this.answer(method, params) });
      } catch (error) {
        this.deliver({ kind: 'response', id, error: { message: (error as Error).message } });
      }
    }, 1);
  }

  private deliver(message: Message, buffers: ArrayBuffer[] = []): void {
    if (!this.up) return;
    for (const listener of this.listeners) listener(message, buffers);
  }

  private event(event: string, params: unknown, buffers: ArrayBuffer[] = []): void {
    this.deliver({ kind: 'event', event, params }, buffers);
  }

  private opened(title: string): unknown {
    this.sent.clear();
    return { document: this.document, revision: ++this.revision, title, file: null, dirty: false, seed: 42 };
  }

  private answer(method: string, params: Record<string, unknown>): unknown {
    switch (method) {
      case 'hello':
        return {
          ...(this.opened('photographs') as object),
          protocol: 1,
          session: 'page',
          version: '0.1.0',
          read_only: false,
          device: 'CPU, 2 cores',
          capabilities: {
            samples: [
              {
                name: 'photographs',
                title: 'Photographs',
                summary: 'Reader, decoder, augmentations: pictures at every node.',
              },
            ],
            gallery: [
              {
                name: 'classification',
                title: 'Classification',
                summary: 'What a network for pictures is trained with.',
              },
            ],
            list_files: true,
            export: [
              { to: 'python', title: 'Python', language: 'python' },
              { to: 'json', title: 'Graph file', language: 'json' },
            ],
          },
        };
      case 'catalogue':
        return catalogue;
      case 'edit': {
        const changes = (params as unknown as { changes: Changes }).changes;
        const meaning = changesMeaning(changes, this.document);
        this.document = apply(this.document, changes);
        if (meaning) setTimeout(() => this.event('problems', { revision: this.revision, problems: [] }), 5);
        return { revision: ++this.revision };
      }
      case 'open': {
        const request = params as unknown as { sample?: string; gallery?: string; text?: string };
        this.document = request.text
          ? (JSON.parse(request.text) as GraphDocument)
          : (samples[request.sample ?? '']?.() ?? emptyDocument());
        return this.opened(request.sample ?? 'opened');
      }
      case 'new':
        this.document = emptyDocument();
        return this.opened('Untitled');
      case 'save':
        return {
          file: { path: '/data/photographs.dali.json', name: 'photographs.dali.json' },
          title: 'photographs',
        };
      case 'list_files':
        return {
          path: '/data',
          parent: '/',
          entries: [
            { name: 'photographs', path: '/data/photographs', kind: 'folder', images: 8 },
            { name: 'cats.dali.json', path: '/data/cats.dali.json', kind: 'graph', size: 4200 },
          ],
        };
      case 'export':
        return {
          text:
            params['to'] === 'json'
              ? JSON.stringify(this.document, null, 2)
              : 'from dali_lab import fn, pipeline_def, types\n\n\n@pipeline_def(batch_size=8, num_threads=2, seed=42)\ndef photographs():\n    files, labels = fn.readers.file(file_root="photographs")\n    # what training gets\n    return files, labels\n',
          filename: params['to'] === 'json' ? 'photographs.dali.json' : 'photographs.py',
          language: params['to'],
        };
      case 'preview':
        void this.preview(params as unknown as PreviewRequest & { fresh: boolean });
        return { run: params['run'] };
      case 'run':
        this.measure(Number(params['run']), Number(params['batches']));
        return { run: params['run'] };
      default:
        return {};
    }
  }

  private measure(run: number, total: number): void {
    let done = 0;
    const timer = setInterval(() => {
      done += 2;
      this.event('run.progress', { run, done, total, images_per_second: 1234 });
      if (done < total) return;
      clearInterval(timer);
      const nodes = Object.fromEntries(
        Object.keys(this.document.nodes).map((id) => [id, { time_ms: 3.2, images_per_second: 2500 }]),
      );
      this.event('run.done', {
        run,
        status: 'done',
        batches: total,
        samples: total * 8,
        seconds: 1.2,
        images_per_second: 1266,
        nodes,
      });
    }, 120);
  }

  private async preview(request: PreviewRequest & { fresh: boolean }): Promise<void> {
    const { run, samples: count, thumb } = request;
    this.current = run;
    if (request.fresh) this.sent.clear();
    this.event('preview.started', { run, nodes: Object.keys(this.document.nodes).length });
    const started = performance.now();
    const made = new Map<string, Made | null>();
    const keys = new Map<string, string>();
    const unchanged: Record<string, number> = {};
    const off = new Map<string, string>();
    for (const id of this.sorted()) {
      if (this.current !== run) return;
      const node = this.document.nodes[id];
      if (!node) continue;
      const needed =
        catalogue.operators.find(({ name }) => name === node.op)?.inputs.filter(({ variadic }) => !variadic)
          .length ?? 0;
      const inputs = [...(node.inputs ?? []), ...Object.values(node.connections ?? {})];
      const sources = inputs.map((reference) => parseEdge(reference ?? '').node);
      const cause = this.document.view.nodes[id]?.disabled
        ? id
        : sources.map((source) => off.get(source)).find((each) => each !== undefined);
      if (cause !== undefined) {
        off.set(id, cause);
        const message = cause === id ? 'Disabled.' : `Off: '${cause}' is disabled.`;
        const skipped = { message, node: cause, off: true };
        this.event('preview.node', { run, node: id, time_ms: null, outputs: [], skipped });
        continue;
      }
      const waits = Array.from({ length: needed }, (_, index) => node.inputs?.[index]).some(
        (reference) => reference == null,
      );
      const failed = inputs.find(
        (reference) => reference !== null && made.get(parseEdge(reference).node) === null,
      );
      if (waits || failed != null) {
        made.set(id, null);
        this.event('preview.node', {
          run,
          node: id,
          time_ms: null,
          outputs: [],
          skipped: { message: waits ? 'Waits for its input.' : `Waits for ${String(failed)}.`, node: failed },
        });
        continue;
      }
      const key = JSON.stringify([
        node.op,
        node.arguments,
        inputs.map((reference) => keys.get(parseEdge(reference ?? '').node)),
        count,
        thumb,
        request.iteration,
        this.document.view.nodes[id]?.bypass,
      ]);
      keys.set(id, key);
      const begin = performance.now();
      const error = this.problem(id);
      if (error) {
        made.set(id, null);
        this.event('preview.node', { run, node: id, time_ms: null, outputs: [], error });
        this.sent.delete(id);
        continue;
      }
      const result = this.make(id, made, count, request.iteration);
      made.set(id, result);
      if (this.sent.get(id) === key) {
        unchanged[id] = 0.4 + noise(id.length) * 6;
        continue;
      }
      this.sent.set(id, key);
      const buffers: ArrayBuffer[] = [];
      const outputs = await this.outputs(id, result, thumb, buffers);
      this.event(
        'preview.node',
        { run, node: id, time_ms: performance.now() - begin + noise(id.length) * 8, outputs },
        buffers,
      );
    }
    if (Object.keys(unchanged).length > 0) this.event('preview.unchanged', { run, nodes: unchanged });
    for (const { node, output } of request.focus) {
      const pictures = made.get(node)?.pictures;
      if (!pictures || output > 0) continue;
      const buffers: ArrayBuffer[] = [];
      const images = await Promise.all(
        pictures.map((picture) => this.encode(picture, request.focus_size, buffers)),
      );
      if (this.current === run) this.event('preview.focus', { run, node, output, images }, buffers);
    }
    if (this.current === run) {
      this.event('preview.done', {
        run,
        status: 'done',
        total_ms: performance.now() - started,
        seed: 42,
        iteration: request.iteration,
      });
    }
  }

  private problem(id: string): { message: string; argument: string } | null {
    const node = this.document.nodes[id];
    const sigma = asNumber(node?.arguments?.['sigma']);
    if (node?.op === 'gaussian_blur' && sigma === 0) {
      return {
        message: 'sigma and window_size cannot both be 0: one of them has to say how wide the blur is.',
        argument: 'sigma',
      };
    }
    return null;
  }

  private sorted(): string[] {
    const order: string[] = [];
    const visit = (id: string): void => {
      if (order.includes(id) || !this.document.nodes[id]) return;
      const node = this.document.nodes[id];
      for (const reference of [...(node.inputs ?? []), ...Object.values(node.connections ?? {})]) {
        if (reference !== null) visit(parseEdge(reference).node);
      }
      order.push(id);
    };
    for (const id of Object.keys(this.document.nodes)) visit(id);
    return order;
  }

  private make(id: string, made: Map<string, Made | null>, count: number, iteration: number): Made {
    const node = this.document.nodes[id];
    if (!node) return {};
    const first = node.inputs?.[0];
    const before = first == null ? undefined : (made.get(parseEdge(first).node) ?? undefined);
    const number = (name: string, sample: number, fallback: number): number => {
      const reference = node.connections?.[name];
      const drawn =
        reference === undefined ? undefined : made.get(parseEdge(reference).node)?.numbers?.[sample];
      return drawn ?? asNumber(node.arguments?.[name]) ?? fallback;
    };
    const samplesOf = Array.from({ length: count }, (_, index) => index);
    if (node.op.startsWith('random.')) {
      const [low, high] = (node.arguments?.['range'] as number[] | undefined) ?? [0, 1];
      return {
        numbers: samplesOf.map(
          (sample) => (low ?? 0) + noise(sample + 13 * iteration + id.length) * ((high ?? 1) - (low ?? 0)),
        ),
      };
    }
    if (node.op === 'readers.file') {
      return {
        pictures: samplesOf.map((sample) => paint(sample + iteration * 8, 320, sample % 3 === 1 ? 300 : 214)),
        labels: samplesOf.map((sample) => sample % 3),
      };
    }
    if (this.document.view.nodes[id]?.bypass) return before ?? {};
    return {
      pictures: (before?.pictures ?? []).map((picture, sample) => {
        const square = node.op === 'resize' || node.op.startsWith('crop');
        const canvas = new OffscreenCanvas(square ? 256 : picture.width, square ? 256 : picture.height);
        const context = canvas.getContext('2d') as OffscreenCanvasRenderingContext2D;
        context.translate(canvas.width / 2, canvas.height / 2);
        if (node.op === 'rotate') context.rotate((number('angle', sample, 0) * Math.PI) / 180);
        if (node.op === 'flip' || number('mirror', sample, 0) > 0.5)
          context.scale(number('horizontal', sample, 1) > 0.5 ? -1 : 1, 1);
        const filters = {
          brightness_contrast: `brightness(${number('brightness', sample, 1)}) contrast(${number('contrast', sample, 1)})`,
          hsv: `hue-rotate(${number('hue', sample, 0)}deg) saturate(${number('saturation', sample, 1)})`,
          color_twist: `hue-rotate(${number('hue', sample, 0)}deg) saturate(${number('saturation', sample, 1)})`,
          gaussian_blur: `blur(${number('sigma', sample, 1)}px)`,
        } as Record<string, string>;
        context.filter = filters[node.op] ?? 'none';
        const scale = node.op.startsWith('crop') ? 1.2 : 1;
        context.drawImage(
          picture,
          (-canvas.width / 2) * scale,
          (-canvas.height / 2) * scale,
          canvas.width * scale,
          canvas.height * scale,
        );
        return canvas;
      }),
    };
  }

  private async outputs(
    id: string,
    made: Made,
    thumb: number,
    buffers: ArrayBuffer[],
  ): Promise<OutputPreview[]> {
    const node = this.document.nodes[id];
    const histogram = Array.from({ length: 32 }, (_, bin) =>
      Math.round(1000 * Math.exp(-((bin - 14 - id.length) ** 2) / 60) + 200 * noise(bin + id.length)),
    );
    if (made.numbers) {
      return [
        {
          kind: 'tensor',
          dtype: 'FLOAT',
          layout: '',
          batch: 8,
          shapes: made.numbers.map(() => []),
          range: [Math.min(...made.numbers), Math.max(...made.numbers)],
          values: made.numbers.map((value) => value.toPrecision(3)),
          numbers: made.numbers.map((value) => [value]),
        },
      ];
    }
    const normalised = node?.op === 'crop_mirror_normalize';
    const pictures = made.pictures ?? [];
    const output: OutputPreview = {
      kind: node?.op === 'readers.file' ? 'encoded' : 'image',
      dtype: normalised ? 'FLOAT' : 'UINT8',
      layout: node?.op === 'readers.file' ? '' : normalised ? 'CHW' : 'HWC',
      batch: 8,
      shapes: pictures.map(({ width, height }) =>
        node?.op === 'readers.file'
          ? [41000 + width * 13]
          : normalised
            ? [3, height, width]
            : [height, width, 3],
      ),
      range: normalised ? [-2.1, 2.6] : [0, 255],
      histogram,
      images: await Promise.all(pictures.map((picture) => this.encode(picture, thumb, buffers))),
      files: FILES.slice(0, pictures.length),
    };
    if (!made.labels) return [output];
    return [
      output,
      {
        kind: 'tensor',
        dtype: 'INT32',
        layout: '',
        batch: 8,
        shapes: made.labels.map(() => [1]),
        values: made.labels.map(String),
        numbers: made.labels.map((label) => [label]),
      },
    ];
  }

  private async encode(picture: OffscreenCanvas, size: number, buffers: ArrayBuffer[]): Promise<PictureRef> {
    const scale = Math.min(1, size / Math.max(picture.width, picture.height));
    const canvas = new OffscreenCanvas(Math.round(picture.width * scale), Math.round(picture.height * scale));
    canvas.getContext('2d')?.drawImage(picture, 0, 0, canvas.width, canvas.height);
    const blob = await canvas.convertToBlob({ type: 'image/jpeg', quality: 0.85 });
    buffers.push(await blob.arrayBuffer());
    return { buffer: buffers.length - 1, mime: 'image/jpeg', width: canvas.width, height: canvas.height };
  }
}
