/** Code to read and to copy. */
import { useState } from 'react';
import { Highlighted } from '../canvas/dialogs/Highlighted';
import { t } from '../core/language';
import { Button } from '../canvas/controls/buttons';
import './Code.css';

export function Code({ text }: { text: string }) {
  const [state, setState] = useState<'idle' | 'copied' | 'refused'>('idle');
  async function copy(): Promise<void> {
    try {
      await navigator.clipboard.writeText(text);
      setState('copied');
    } catch {
      setState('refused');
    }
    setTimeout(() => setState('idle'), 2000);
  }
  return (
    <div className="gallery-code">
      <Button data-action="copy" onClick={() => void copy()}>
        {state === 'copied' ? t('Copied') : state === 'refused' ? t('Select and copy the text') : t('Copy')}
      </Button>
      <pre className="code" data-testid="gallery-code" tabIndex={0} aria-label={t('Python code')}>
        <Highlighted text={text} language="python" />
      </pre>
    </div>
  );
}
