/** The icons of the file type and of the toolbar. */
import { LabIcon } from '@jupyterlab/ui-components';

const graph = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" width="16" fill="none">
  <path class="jp-icon3" stroke="#616161" stroke-width="1.3" stroke-linecap="round" d="M4 4h3c2.5 0 2.5 7 5 7M4 11.5h3"/>
  <circle cx="3.5" cy="4" r="2" fill="#4a7df0"/><circle cx="3.5" cy="11.5" r="2" fill="#1f9d8b"/>
  <circle cx="12.5" cy="11" r="2" fill="#e0823d"/></svg>`;

function stroked(name: string, path: string): LabIcon {
  const svgstr = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16" width="16" fill="none"><path class="jp-icon3"
    stroke="#616161" stroke-width="1.4" stroke-linecap="round" stroke-linejoin="round" d="${path}"/></svg>`;
  return new LabIcon({ name: `dali-lab:${name}`, svgstr });
}

export const graphIcon = new LabIcon({ name: 'dali-lab:graph', svgstr: graph });
export const galleryIcon = stroked(
  'gallery',
  'M1.5 2.5h13v11h-13zM1.5 11 5 7.5l3 3 2-2 4.5 4M10.5 6.5a1 1 0 1 0 0-2 1 1 0 0 0 0 2',
);
export const stepIcon = stroked('step', 'M4 3.5v9l6-4.5zM12.5 3.5v9');
export const stepBackIcon = stroked('step-back', 'M12 3.5v9L6 8zM3.5 3.5v9');
export const arrangeIcon = stroked('arrange', 'M2 3h4v4H2zM10 2h4v4h-4zM10 10h4v4h-4zM6 5h2v7h2M8 5V4h2');
export const fitIcon = stroked('fit', 'M2.5 6V2.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10');
export const zoomInIcon = stroked(
  'zoom-in',
  'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5 14 14M7 5v4M5 7h4',
);
export const zoomOutIcon = stroked(
  'zoom-out',
  'M7 2.5a4.5 4.5 0 1 0 0 9 4.5 4.5 0 0 0 0-9zM10.5 10.5 14 14M5 7h4',
);
export const exportIcon = stroked('export', 'M8 10V2M5 5l3-3 3 3M3 9v4.5h10V9');
