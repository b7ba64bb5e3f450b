/** A small catalogue for the development page. */
import type { ArgumentDeclaration, CatalogueData, Kind, Operator } from '../src/core/catalogue';
import type { Device } from '../src/core/document';

const number = (name: string, more: Partial<ArgumentDeclaration> = {}): ArgumentDeclaration => ({
  name,
  type: 'float',
  tensor: true,
  doc: `The ${name.replace(/_/g, ' ')}.`,
  ...more,
});

function operator(
  name: string,
  family: string,
  summary: string,
  inputs: Kind[],
  outputs: [string, Kind][],
  args: ArgumentDeclaration[],
  more: Partial<Operator> = {},
): Operator {
  const short = name.slice(name.lastIndexOf('.') + 1);
  return {
    name,
    family,
    title: (short.charAt(0).toUpperCase() + short.slice(1)).replace(/_/g, ' '),
    summary,
    doc: `${summary}\n\nThe output has the type of the input unless \`dtype\` says otherwise.`,
    devices: ['cpu', 'gpu'],
    inputs: inputs.map((kind, index) => ({
      name: index === 0 ? 'data' : `data_${index + 1}`,
      kind,
      layouts: kind === 'image' ? ['HWC', 'FHWC'] : null,
    })),
    outputs: outputs.map(([output, kind]) => ({ name: output, kind })),
    arguments: args,
    ...more,
  };
}

const image: [string, Kind][] = [['output', 'image']];
const interp: ArgumentDeclaration = {
  name: 'interp_type',
  type: 'enum',
  tensor: true,
  default: 'INTERP_LINEAR',
  choices: ['INTERP_NN', 'INTERP_LINEAR', 'INTERP_CUBIC', 'INTERP_LANCZOS3'],
  doc: 'How pixels between pixels are made.',
};
const dtype: ArgumentDeclaration = {
  name: 'dtype',
  type: 'dtype',
  default: null,
  choices: ['UINT8', 'FLOAT', 'FLOAT16', 'INT32'],
  doc: 'Type of the output.',
};
const fill = number('fill_value', {
  default: 0,
  minimum: 0,
  soft_maximum: 255,
  tensor: false,
  doc: 'What stands outside the picture.',
});
const cpu: { devices: Device[] } = { devices: ['cpu'] };

export const catalogue: CatalogueData = {
  families: [
    { name: 'readers', title: 'Readers' },
    { name: 'decoders', title: 'Decoders' },
    { name: 'geometry', title: 'Geometry' },
    { name: 'color', title: 'Colour' },
    { name: 'filters', title: 'Filters' },
    { name: 'tensor', title: 'Tensors' },
    { name: 'random', title: 'Random' },
    { name: 'audio', title: 'Sound' },
  ],
  operators: [
    operator(
      'readers.file',
      'readers',
      'Reads files of a folder, with labels from its sub-folders.',
      [],
      [
        ['files', 'encoded'],
        ['labels', 'tensor'],
      ],
      [
        {
          name: 'file_root',
          type: 'string',
          widget: 'folder',
          important: true,
          required: true,
          default: null,
          doc: 'The folder.',
        },
        {
          name: 'random_shuffle',
          type: 'bool',
          default: false,
          important: true,
          doc: 'Whether samples come in random order.',
        },
        {
          name: 'shard_id',
          type: 'int',
          default: 0,
          minimum: 0,
          advanced: true,
          doc: 'Which part of the data.',
        },
        {
          name: 'num_shards',
          type: 'int',
          default: 1,
          minimum: 1,
          advanced: true,
          doc: 'Into how many parts the data is split.',
        },
      ],
      cpu,
    ),
    operator(
      'decoders.image',
      'decoders',
      'Decodes pictures: JPEG, PNG, TIFF, WebP and more.',
      ['encoded'],
      image,
      [
        {
          name: 'output_type',
          type: 'enum',
          default: 'RGB',
          choices: ['RGB', 'BGR', 'GRAY', 'YCbCr', 'ANY_DATA'],
          important: true,
          doc: 'The colour space.',
        },
        {
          name: 'adjust_orientation',
          type: 'bool',
          default: true,
          doc: 'Whether the EXIF orientation is applied.',
        },
      ],
      { devices: ['cpu', 'mixed'] },
    ),
    operator(
      'decoders.image_random_crop',
      'decoders',
      'Decodes a random part of a picture.',
      ['encoded'],
      image,
      [
        {
          name: 'random_area',
          type: 'float',
          list: true,
          length: 2,
          default: [0.08, 1],
          minimum: 0,
          maximum: 1,
          important: true,
          doc: 'Range of the area.',
        },
      ],
      { devices: ['cpu', 'mixed'], random: true },
    ),
    operator('resize', 'geometry', 'Resizes pictures.', ['image'], image, [
      number('size', { list: true, length: 2, default: null, minimum: 1, unit: 'px', important: true }),
      number('resize_x', { default: null, minimum: 1, soft_maximum: 1024, unit: 'px', doc: 'The width.' }),
      number('resize_y', { default: null, minimum: 1, soft_maximum: 1024, unit: 'px', doc: 'The height.' }),
      { ...interp, important: true },
      {
        name: 'antialias',
        type: 'bool',
        default: true,
        doc: 'Whether fine detail is smoothed when it gets smaller.',
      },
      {
        name: 'mode',
        type: 'string',
        default: 'default',
        choices: ['default', 'stretch', 'not_larger', 'not_smaller'],
        widget: 'choice',
        important: true,
        doc: 'How the size is meant.',
      },
    ]),
    operator('rotate', 'geometry', 'Rotates pictures by an angle.', ['image'], image, [
      number('angle', {
        default: 0,
        soft_minimum: -180,
        soft_maximum: 180,
        step: 1,
        unit: 'deg',
        important: true,
        required: false,
      }),
      fill,
      interp,
      {
        name: 'keep_size',
        type: 'bool',
        default: false,
        important: true,
        doc: 'Whether the canvas keeps its size.',
      },
    ]),
    operator('flip', 'geometry', 'Mirrors pictures.', ['image'], image, [
      number('horizontal', { type: 'int', default: 1, minimum: 0, maximum: 1, important: true }),
      number('vertical', { type: 'int', default: 0, minimum: 0, maximum: 1, important: true }),
    ]),
    operator('crop', 'geometry', 'Cuts out a part.', ['image'], image, [
      number('crop', { list: true, length: 2, default: null, minimum: 1, unit: 'px', important: true }),
      number('crop_pos_x', { default: 0.5, minimum: 0, maximum: 1, important: true }),
      number('crop_pos_y', { default: 0.5, minimum: 0, maximum: 1, important: true }),
    ]),
    operator(
      'crop_mirror_normalize',
      'geometry',
      'Crops, mirrors and normalises in one go, ready for a network.',
      ['image'],
      [['output', 'tensor']],
      [
        number('crop', { list: true, length: 2, default: null, minimum: 1, unit: 'px', important: true }),
        number('mirror', { type: 'int', default: 0, minimum: 0, maximum: 1, important: true }),
        number('mean', { list: true, default: [0], important: true }),
        number('std', { list: true, default: [1], important: true }),
        {
          name: 'output_layout',
          type: 'layout',
          default: 'CHW',
          choices: ['CHW', 'HWC'],
          doc: 'Layout of the output.',
        },
        { ...dtype, default: 'FLOAT' },
      ],
    ),
    operator('erase', 'geometry', 'Erases regions.', ['image'], image, [
      number('anchor', { list: true, length: 2, default: [0, 0], important: true }),
      number('shape', { list: true, length: 2, default: [64, 64], important: true }),
      {
        name: 'fill_value',
        type: 'float',
        list: true,
        widget: 'colour',
        default: [0, 0, 0],
        important: true,
        doc: 'The colour put there.',
      },
    ]),
    operator('warp_affine', 'geometry', 'Applies an affine transform.', ['image', 'tensor'], image, [
      number('matrix', { list: true, length: 6, default: null, important: true }),
      fill,
    ]),
    operator('brightness_contrast', 'color', 'Changes brightness and contrast.', ['image'], image, [
      number('brightness', { default: 1, minimum: 0, soft_maximum: 2, step: 0.01, important: true }),
      number('contrast', { default: 1, minimum: 0, soft_maximum: 2, step: 0.01, important: true }),
      dtype,
    ]),
    operator('hsv', 'color', 'Changes hue, saturation and value.', ['image'], image, [
      number('hue', {
        default: 0,
        soft_minimum: -180,
        soft_maximum: 180,
        unit: 'deg',
        step: 1,
        important: true,
      }),
      number('saturation', { default: 1, minimum: 0, soft_maximum: 2, step: 0.01, important: true }),
      number('value', { default: 1, minimum: 0, soft_maximum: 2, step: 0.01, important: true }),
    ]),
    operator('color_twist', 'color', 'Changes hue, saturation, brightness and contrast.', ['image'], image, [
      number('brightness', { default: 1, minimum: 0, soft_maximum: 2, step: 0.01, important: true }),
      number('contrast', { default: 1, minimum: 0, soft_maximum: 2, step: 0.01, important: true }),
      number('hue', {
        default: 0,
        soft_minimum: -180,
        soft_maximum: 180,
        unit: 'deg',
        step: 1,
        important: true,
      }),
      number('saturation', { default: 1, minimum: 0, soft_maximum: 2, step: 0.01, important: true }),
    ]),
    operator('gaussian_blur', 'filters', 'Blurs with a Gaussian window.', ['image'], image, [
      number('sigma', { default: 1, minimum: 0, soft_maximum: 10, unit: 'px', step: 0.1, important: true }),
      number('window_size', { type: 'int', default: null, minimum: 1, unit: 'px', important: true }),
    ]),
    operator(
      'cast',
      'tensor',
      'Changes the type of the numbers.',
      ['any'],
      [['output', 'any']],
      [{ ...dtype, default: 'FLOAT', important: true, required: true }],
    ),
    operator(
      'transpose',
      'tensor',
      'Reorders the axes.',
      ['any'],
      [['output', 'any']],
      [number('perm', { type: 'int', list: true, default: [2, 0, 1], important: true, tensor: false })],
    ),
    operator(
      'cat',
      'tensor',
      'Joins tensors along an axis.',
      ['any'],
      [['output', 'any']],
      [number('axis', { type: 'int', default: 0, important: true, tensor: false })],
      {
        inputs: [{ name: 'parts', kind: 'any', variadic: true }],
      },
    ),
    operator(
      'random.uniform',
      'random',
      'Numbers drawn evenly from a range.',
      [],
      [['output', 'tensor']],
      [
        {
          name: 'range',
          type: 'float',
          list: true,
          length: 2,
          default: [-1, 1],
          important: true,
          doc: 'Lowest and highest.',
        },
        { name: 'values', type: 'float', list: true, default: null, doc: 'Values to choose from.' },
      ],
      { random: true, ...cpu },
    ),
    operator(
      'random.normal',
      'random',
      'Numbers drawn around a mean.',
      [],
      [['output', 'tensor']],
      [
        number('mean', { default: 0, important: true }),
        number('stddev', { default: 1, minimum: 0, important: true }),
      ],
      { random: true, ...cpu },
    ),
    operator(
      'random.coin_flip',
      'random',
      'Ones and zeros.',
      [],
      [['output', 'tensor']],
      [number('probability', { default: 0.5, minimum: 0, maximum: 1, step: 0.01, important: true })],
      { random: true, ...cpu },
    ),
    operator(
      'decoders.audio',
      'audio',
      'Decodes sound.',
      ['encoded'],
      [
        ['sound', 'audio'],
        ['rate', 'tensor'],
      ],
      [
        {
          name: 'downmix',
          type: 'bool',
          default: false,
          important: true,
          doc: 'Whether channels are mixed to one.',
        },
      ],
      cpu,
    ),
    operator(
      'spectrogram',
      'audio',
      'Power spectrum over time.',
      ['audio'],
      [['output', 'tensor']],
      [number('nfft', { type: 'int', default: null, minimum: 1, important: true, tensor: false })],
    ),
  ],
};
