/** Graphs for the development page. */
import { emptyDocument, type GraphDocument, type GraphNode } from '../src/core/document';

function graph(nodes: Record<string, GraphNode>, outputs: string[]): GraphDocument {
  return { ...emptyDocument(), nodes, outputs };
}

const reader: GraphNode = {
  op: 'readers.file',
  device: 'cpu',
  inputs: [],
  arguments: { file_root: '/data/photographs' },
  connections: {},
};

function photographs(): GraphDocument {
  return graph(
    {
      reader,
      decode: {
        op: 'decoders.image',
        device: 'cpu',
        inputs: ['reader'],
        arguments: { output_type: 'RGB' },
        connections: {},
      },
      resize: {
        op: 'resize',
        device: 'cpu',
        inputs: ['decode'],
        arguments: { size: [256, 256] },
        connections: {},
      },
      random_angle: {
        op: 'random.uniform',
        device: 'cpu',
        inputs: [],
        arguments: { range: [-25, 25] },
        connections: {},
      },
      rotate: {
        op: 'rotate',
        device: 'cpu',
        inputs: ['resize'],
        arguments: { keep_size: true },
        connections: { angle: 'random_angle' },
      },
      brightness_contrast: {
        op: 'brightness_contrast',
        device: 'cpu',
        inputs: ['rotate'],
        arguments: { brightness: 1.1, contrast: 1.2 },
        connections: {},
      },
      normalize: {
        op: 'crop_mirror_normalize',
        device: 'cpu',
        inputs: ['brightness_contrast'],
        arguments: { crop: [224, 224], mean: [124, 116, 104], std: [58, 57, 57] },
        connections: {},
      },
    },
    ['normalize', 'reader:1'],
  );
}

function three(): GraphDocument {
  return graph(
    {
      reader,
      decode: { op: 'decoders.image', device: 'mixed', inputs: ['reader'], arguments: {}, connections: {} },
      blur: {
        op: 'gaussian_blur',
        device: 'gpu',
        inputs: ['decode'],
        arguments: { sigma: 2.5 },
        connections: {},
      },
    },
    ['blur'],
  );
}

/** A wrong value, an unfinished node, an unknown operator, and text that looks like markup. */
function trouble(): GraphDocument {
  const document = photographs();
  const nodes = document.nodes;
  nodes['blur <b>bold</b>'] = {
    op: 'gaussian_blur',
    device: 'cpu',
    inputs: ['resize'],
    arguments: { sigma: 0 },
    connections: {},
  };
  nodes['hsv'] = { op: 'hsv', device: 'cpu', inputs: ['blur <b>bold</b>'], arguments: {}, connections: {} };
  nodes['flip'] = { op: 'flip', device: 'cpu', inputs: [], arguments: {}, connections: {} };
  nodes['mine'] = {
    op: 'my_company.watermark',
    device: 'cpu',
    inputs: ['resize'],
    arguments: { text: 'hello', strength: 0.3 },
    connections: {},
  };
  document.view.notes = [
    {
      id: 'note',
      text: 'Angles above 30 degrees cut too much.\n<img src=x onerror=alert(1)>',
      x: 900,
      y: -160,
      w: 240,
      h: 80,
    },
  ];
  document.view.groups = [{ id: 'group', title: 'Augment', nodes: ['rotate', 'brightness_contrast'] }];
  return document;
}

function long(count: number): GraphDocument {
  const nodes: Record<string, GraphNode> = {};
  const ops = ['rotate', 'brightness_contrast', 'hsv', 'gaussian_blur', 'flip', 'color_twist', 'resize'];
  const outputs: string[] = [];
  const rows = Math.ceil(count / 12);
  for (let row = 0; row < rows; row++) {
    nodes[`reader_${row}`] = reader;
    nodes[`decode_${row}`] = {
      op: 'decoders.image',
      device: 'cpu',
      inputs: [`reader_${row}`],
      arguments: {},
      connections: {},
    };
    let last = `decode_${row}`;
    for (let column = 0; column < 10; column++) {
      const op = ops[(row + column) % ops.length] as string;
      const id = `${op}_${row}_${column}`;
      nodes[id] = {
        op,
        device: 'cpu',
        inputs: [last],
        arguments: op === 'rotate' ? { angle: column * 3 } : {},
        connections: {},
      };
      last = id;
    }
    outputs.push(last);
  }
  return graph(nodes, outputs);
}

export const samples: Record<string, () => GraphDocument> = {
  photographs,
  classification: photographs,
  three,
  trouble,
  long: () => long(200),
  longer: () => long(300),
};
