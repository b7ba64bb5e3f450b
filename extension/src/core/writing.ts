/** Fields that keys write into. */

/** Whether an event happens in a field that is being written in, also in one inside a shadow root. */
export function isWriting(event: Event): boolean {
  const [target] = event.composedPath();
  if (!(target instanceof Element)) return false;
  return (
    target.closest(
      'input:not([type=checkbox]):not([type=range]), textarea, select, [contenteditable=true]',
    ) !== null
  );
}
