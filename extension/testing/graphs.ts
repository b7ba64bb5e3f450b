/** Graphs for tests. */
import { emptyDocument, type GraphDocument, type GraphNode } from '../src/core/document';

function node(op: string, inputs: string[], more: Partial<GraphNode> = {}): GraphNode {
  return { op, device: 'cpu', inputs, arguments: {}, connections: {}, ...more };
}

function graph(nodes: Record<string, GraphNode>, outputs: string[]): GraphDocument {
  return { ...emptyDocument(), nodes, outputs };
}

const reader = node('readers.file', [], { arguments: { file_root: '/data/photographs' } });

/** From files to normalised pictures, rotated by a random angle. */
export function photographs(): GraphDocument {
  return graph(
    {
      reader,
      decode: node('decoders.image', ['reader'], { arguments: { output_type: 'RGB' } }),
      resize: node('resize', ['decode'], { arguments: { size: [256, 256] } }),
      random_angle: node('random.uniform', [], { arguments: { range: [-25, 25] } }),
      rotate: node('rotate', ['resize'], {
        arguments: { keep_size: true },
        connections: { angle: 'random_angle' },
      }),
      brightness_contrast: node('brightness_contrast', ['rotate'], {
        arguments: { brightness: 1.1, contrast: 1.2 },
      }),
      normalize: node('crop_mirror_normalize', ['brightness_contrast'], {
        arguments: { crop: [224, 224], mean: [124, 116, 104], std: [58, 57, 57] },
      }),
    },
    ['normalize', 'reader:1'],
  );
}

/** A graph on the GPU. */
export function three(): GraphDocument {
  return graph(
    {
      reader,
      decode: node('decoders.image', ['reader'], { device: 'mixed' }),
      blur: node('gaussian_blur', ['decode'], { device: 'gpu', arguments: { sigma: 2.5 } }),
    },
    ['blur'],
  );
}

/** A wrong value, an unfinished node, an unknown operator, and text that looks like markup. */
export function trouble(): GraphDocument {
  const document = photographs();
  Object.assign(document.nodes, {
    'blur <b>bold</b>': node('gaussian_blur', ['resize'], { arguments: { sigma: 0 } }),
    hsv: node('hsv', ['blur <b>bold</b>']),
    flip: node('flip', []),
    mine: node('my_company.watermark', ['resize'], { arguments: { text: 'hello', strength: 0.3 } }),
  });
  document.view.notes = [
    { id: 'note', text: '<img src=x onerror=alert(1)>', x: 900, y: -160, w: 240, h: 80 },
  ];
  document.view.groups = [{ id: 'group', title: 'Augment', nodes: ['rotate', 'brightness_contrast'] }];
  return document;
}

/** 17 chains of twelve nodes. */
export function long(): GraphDocument {
  const nodes: Record<string, GraphNode> = {};
  const outputs: string[] = [];
  for (let row = 0; row < 17; row++) {
    nodes[`reader_${row}`] = reader;
    let last = `decode_${row}`;
    nodes[last] = node('decoders.image', [`reader_${row}`]);
    for (let column = 0; column < 10; column++) {
      const id = `rotate_${row}_${column}`;
      nodes[id] = node('rotate', [last], { arguments: { angle: column * 3 } });
      last = id;
    }
    outputs.push(last);
  }
  return graph(nodes, outputs);
}
