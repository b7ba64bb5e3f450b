/** The editor's own icons: 16-pixel strokes in the colour of the text. */
import type { ReactNode } from 'react';

const READ = 'M1.5 12.5v-9h4.5l1.5 2h7v7zM5 9h6M9 7l2 2-2 2';
const STAR = 'm8 2 1.8 3.900 4.200.5-3.100 2.900.8 4.200L8 11.400l-3.700 2.100.8-4.200L2 6.400l4.200-.5z';

const PATHS: Record<string, ReactNode> = {
  // Commands.
  undo: <path d="M5.5 3 2.5 6l3 3M3 6h6.5a4 4 0 0 1 0 8H7" />,
  redo: <path d="m10.5 3 3 3-3 3M13 6H6.5a4 4 0 0 0 0 8H9" />,
  run: <path d="M4.5 2.8v10.400l8.5-5.200z" fill="currentColor" />,
  cluster: <path d="M6 2.500h4v3.500h-4zM1.500 10h4v3.500h-4zM10.500 10h4v3.500h-4zM8 6v2M3.500 10v-2h9v2" />,
  stop: <rect x="3.5" y="3.5" width="9" height="9" rx="1.5" fill="currentColor" />,
  step: <path d="m4 3.5 6 4.5-6 4.5zM12.5 3.5v9" />,
  'step-back': <path d="m12 3.5-6 4.5 6 4.5zM3.5 3.5v9" />,
  open: <path d="M2 12.5v-9h4l1.5 2H14v2M2 12.5l1.8-5H15l-1.8 5z" />,
  save: <path d="M2.5 2.5h8.5l2.5 2.5v8.5h-11zM5 2.5v3.5h5v-3.5M5 13.5v-4h6v4" />,
  export: <path d="M8 10V2M5 4.8 8 2l3 2.8M3 8.5v5h10v-5" />,
  probe: <path d="M2.5 2v11.5H14M4.500 10.500l2.500-2 2.500 1 4-5.500" />,
  new: <path d="M4 1.5h5l3.5 3.5v9.5H4zM9 1.5v3.5h3.5" />,
  arrange: <path d="M1.5 5.5h4v5h-4zM10.5 2h4v4h-4zM10.5 10h4v4h-4zM5.5 8H8M8 4v8M8 4h2.5M8 12h2.5" />,
  subgraph: <path d="M2 2h12v12H2zM4.5 8h3M8.5 5.5h3v5h-3z" />,
  fit: <path d="M2 5.5V2h3.5M10.5 2H14v3.5M14 10.5V14h-3.5M5.5 14H2v-3.5" />,
  search: <path d="M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10M10.8 10.8 14 14" />,
  dice: (
    <>
      <rect x="2.5" y="2.5" width="11" height="11" rx="2" />
      <g fill="currentColor" stroke="none">
        <circle cx="5.5" cy="5.5" r="1" />
        <circle cx="10.5" cy="5.5" r="1" />
        <circle cx="8" cy="8" r="1" />
        <circle cx="5.5" cy="10.5" r="1" />
        <circle cx="10.5" cy="10.5" r="1" />
      </g>
    </>
  ),
  reset: <path d="M3 8a5 5 0 1 1 1.5 3.600M3 12.5V9.5h3" />,
  unplug: (
    <path d="M5.5 10.5 2 14M10.5 5.5 14 2M6 6l4 4-1.5 1.5a2.8 2.8 0 0 1-4-4zM8 4l1-1a2.8 2.8 0 0 1 4 4l-1 1" />
  ),
  close: <path d="m4 4 8 8M12 4l-8 8" />,
  down: <path d="m4 6 4 4 4-4" />,
  right: <path d="m6 4 4 4-4 4" />,
  more: (
    <g fill="currentColor" stroke="none">
      <circle cx="3.5" cy="8" r="1.200" />
      <circle cx="8" cy="8" r="1.200" />
      <circle cx="12.5" cy="8" r="1.200" />
    </g>
  ),
  star: <path d={STAR} />,
  'star-full': <path d={STAR} fill="currentColor" />,
  sun: (
    <path d="M8 11a3 3 0 1 0 0-6 3 3 0 0 0 0 6M8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M13 3l-1 1M4 12l-1 1" />
  ),
  moon: <path d="M13.5 9.5A6 6 0 1 1 6.5 2.5a4.700 4.700 0 0 0 7 7z" />,
  warning: <path d="M8 2 1.5 13.5h13zM8 6.5v3.5M8 11.5v.5" />,
  info: <path d="M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13M8 7.200v4M8 4.8v.5" />,
  keyboard: <path d="M1.5 4h13v8.5h-13zM4 6.5h.5M6.5 6.5H7M9 6.5h.5M11.5 6.5h.5M4.5 10h7" />,
  copy: <path d="M5.5 5.5h8v8h-8zM3 10.5h-.5v-8h8V3" />,
  folder: <path d="M1.5 12.5v-9h4.5l1.5 2h7v7z" />,
  file: <path d="M4 1.5h5l3.5 3.5v9.5H4zM9 1.5v3.5h3.5" />,
  pin: <path d="M6 2h4l-.5 4L12 8.5H4L6.5 6zM8 8.5V14" />,
  history: <path d="M2.5 8a5.5 5.5 0 1 0 1.8-4M2.5 2v3h3M8 5v3.200l2.200 1.5" />,
  settings: (
    <path d="M2 4.5h7M13 4.5h1M2 11.5h1M7 11.5h7M11 6.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4M5 13.5a2 2 0 1 0 0-4 2 2 0 0 0 0 4" />
  ),
  'panel-left': <path d="M1.5 2.5h13v11h-13zM5.5 2.5v11" />,
  'panel-right': <path d="M1.5 2.5h13v11h-13zM10.5 2.5v11" />,
  beside: <path d="M1.5 2.5h13v11h-13zM8 2.5v11" />,
  'panel-bottom': <path d="M1.5 2.5h13v11h-13zM1.5 9.5h13" />,
  plus: <path d="M8 3v10M3 8h10" />,
  bypass: <path d="M1.5 10h2.5c1.5 0 2-5 4-5s2.5 5 4 5h2.5M12.5 8l2 2-2 2" />,
  disable: <path d="M8 14.5a6.5 6.5 0 1 0 0-13 6.5 6.5 0 0 0 0 13M3.5 3.5l9 9" />,
  download: <path d="M8 2v8M5 7.200 8 10l3-2.8M3 10.5v3h10v-3" />,
  gallery: <path d="M1.5 2.5h13v11h-13zM1.5 11l3.5-3.5 3 3 2-2 4.5 4M10.5 6.5a1 1 0 1 0 0-2 1 1 0 0 0 0 2" />,
  dataset: (
    <path d="M2 2h3.2v3.2H2zM6.4 2h3.2v3.2H6.4zM10.8 2H14v3.2h-3.2zM2 6.4h3.2v3.2H2zM6.4 6.4h3.2v3.2H6.4zM10.800 6.4H14v3.2h-3.2zM2 10.8h3.2V14H2zM6.4 10.8h3.2V14H6.4zM10.8 10.8H14V14h-3.2z" />
  ),
  check: <path d="m3 8.5 3.5 3.5L13 4.5" />,
  // Families.
  readers: <path d={READ} />,
  io: <path d={READ} />,
  decoders: <path d="M2 3h5v5H2zM9.5 3.5H14M9.5 7.5H14M2 11.5h12M2 14h8" />,
  geometry: <path d="M4 1.5V12h10.5M1.5 4H12v10.5" />,
  color: (
    <path d="M8 14.5a6.5 6.5 0 1 1 6.5-6.5c0 2-1.5 2.5-3 2.5h-1.5c-1.5 0-1.5 1.5-1 2.200.5.8 0 1.8-1 1.8M5 7h.1M8 4.8h.1M11 7h.1" />
  ),
  filters: <path d="M8 1.8c2.5 3 4.5 5.200 4.5 8a4.5 4.5 0 0 1-9 0c0-2.8 2-5 4.5-8M6 10.5a2 2 0 0 0 2 2" />,
  tensor: <path d="M2 5 8 2l6 3v6l-6 3-6-3zM2 5l6 3 6-3M8 8v6" />,
  mixing: <path d="M2 4.5h3.5l5 7H14M2 11.5h3.5l5-7H14M12 2.5l2 2-2 2M12 9.5l2 2-2 2" />,
  reductions: <path d="M2 3h12M4 6.5h8M6 10h4M7.5 13.5h1" />,
  transforms: <path d="M2.5 2.5h6v6h-6zM7 11.5l4.5 2 2-4.5-4.5-2" />,
  boxes: <path d="M2 2h8v8H2zM6.5 6.5h7.5v7.5H6.5z" />,
  audio: <path d="M1.5 8h1M4.5 5v6M7 2.5v11M9.5 5.5v5M12 4v8M14.5 7v2" />,
  video: <path d="M1.5 3.5h9.5v9H1.5zM11 7l3.5-2v6L11 9z" />,
  random: (
    <>
      <rect x="2.5" y="2.5" width="11" height="11" rx="2" />
      <g fill="currentColor" stroke="none">
        <circle cx="5.5" cy="5.5" r="1.100" />
        <circle cx="8" cy="8" r="1.100" />
        <circle cx="10.5" cy="10.5" r="1.100" />
      </g>
    </>
  ),
  arithmetic: <path d="M2 4.5h5M4.5 2v5M9.5 4.5h4.5M2.5 9.5l4 4M6.5 9.5l-4 4M9.5 10.5h4.5M9.5 13h4.5" />,
  plain: <path d="M3 3h10v10H3z" />,
};

export function Icon({ name, size = 16 }: { name: string; size?: number }) {
  return (
    <svg
      className="icon"
      width={size}
      height={size}
      viewBox="0 0 16 16"
      fill="none"
      stroke="currentColor"
      strokeWidth={1.25}
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {PATHS[name] ?? PATHS['plain']}
    </svg>
  );
}

export function FamilyIcon({
  family,
  color,
  icon,
  size = 16,
}: {
  family: string;
  color: string;
  icon?: string | null;
  size?: number;
}) {
  const name = icon != null && icon in PATHS ? icon : family;
  return (
    <span className="family-icon" style={{ color }}>
      <Icon name={name in PATHS ? name : 'plain'} size={size} />
    </span>
  );
}
