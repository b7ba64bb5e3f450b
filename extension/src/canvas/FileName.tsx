/** The name of a file, cut in its middle where there is no room: names of many files differ at their ends. */
import './FileName.css';

/** The last part of a name, which always stays. */
const END = 8;

export function FileName({ name }: { name: string }) {
  const letters = [...name];
  return (
    <span className="file-name">
      <span className="ellipsis">{letters.slice(0, -END).join('')}</span>
      <span>{letters.slice(-END).join('')}</span>
    </span>
  );
}
