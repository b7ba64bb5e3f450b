/** Boxes, points and masks of a sample, over its picture. */
import type { Picture } from '../core/pictures';
import type { FocusResult } from '../core/previews';
import { Mask, Shapes } from '../pictures/Overlays';

interface Properties {
  focus: FocusResult | undefined;
  sample: number;
  picture: Picture;
}

export function Overlays({ focus, sample, picture: { width, height } }: Properties) {
  return focus?.overlays.map((overlay) => {
    const key = `${overlay.kind}:${overlay.node}:${overlay.output}`;
    if (overlay.kind === 'mask') {
      const mask = overlay.images[sample];
      return mask && <Mask key={key} url={mask.url} />;
    }
    const items = overlay.items[sample] ?? [];
    const label = `${items.length} ${overlay.kind} of ${overlay.node}`;
    return <Shapes key={key} kind={overlay.kind} items={items} width={width} height={height} label={label} />;
  });
}
