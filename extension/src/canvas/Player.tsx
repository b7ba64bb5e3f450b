/** One sample played: a clip by its frames, a volume by its slices, a sound with its waveform and spectrogram. */
import { useEffect, useState, type ReactNode } from 'react';
import { browserPictures, pictureOf, type Picture } from '../core/pictures';
import { shownBatch } from '../core/focus';
import type { OutputResult } from '../core/previews';
import { t } from '../core/language';
import { useEditor, useValue } from './context';
import { Icon } from './icons';
import { SampleChoice } from './TrayViews';
import './Player.css';

const FRAME_MS = 100;
/** Marks of an axis, from its beginning to its end. */
const MARKS = [0, 0.25, 0.5, 0.75, 1];

type Kind = 'clip' | 'volume' | 'sound';

/** How an output is played; null where a picture shows all of it. */
export function playable(output: OutputResult | undefined): Kind | null {
  if (!output) return null;
  if (output.kind === 'audio') return 'sound';
  if (!output.layout.includes('H') || !output.layout.includes('W')) return null;
  return output.layout.includes('F') ? 'clip' : output.layout.includes('D') ? 'volume' : null;
}

interface Media {
  frames: (Picture | null)[];
  sound: string | null;
  seconds: number;
  highest: number;
}

const release = (urls: readonly string[]): void => {
  for (const url of urls) browserPictures.release(url);
};

function useMedia(id: string, index: number, sample: number, output: OutputResult): Media | string | null {
  const editor = useEditor();
  const iteration = useValue(editor.batch, (batch) => batch.iteration);
  const pins = useValue(editor.batch, (batch) => batch.pins);
  const size = useValue(editor.tray, (tray) => tray.size);
  const [media, setMedia] = useState<Media | string | null>(null);
  useEffect(() => {
    let current = true;
    let urls: string[] = [];
    const ask = async (): Promise<void> => {
      const params = {
        node: id,
        output: index,
        sample,
        ...shownBatch({ iteration, pins }),
        size: Math.max(320, size),
      };
      const { result, buffers } = await editor.connection.request('play', params);
      const frames = result.images.map((each) => pictureOf(each, buffers));
      const bytes = result.sound == null ? undefined : buffers[result.sound];
      const sound = bytes ? browserPictures.make(bytes, 'audio/wav') : null;
      urls = [...frames.map((each) => each?.url ?? ''), sound ?? ''];
      const { seconds = 0, highest = 0 } = result;
      if (current) setMedia({ frames, sound, seconds, highest });
      else release(urls);
    };
    ask().catch((error: unknown) => current && setMedia((error as Error).message));
    return () => {
      current = false;
      release(urls);
    };
  }, [editor, id, index, sample, iteration, pins, output, size]);
  return media;
}

export function Player({ id, index, output }: { id: string; index: number; output: OutputResult }) {
  const editor = useEditor();
  const count = Math.max(1, output.shapes.length);
  const sample = Math.min(
    useValue(editor.tray, (tray) => tray.sample),
    count - 1,
  );
  const media = useMedia(id, index, sample, output);
  const kind = playable(output);
  return (
    <>
      <SampleChoice sample={sample} count={count} />
      {media === null ? (
        <p className="muted hint">{t('Reading the sample…')}</p>
      ) : typeof media === 'string' ? (
        <p className="muted hint" role="alert">
          {media}
        </p>
      ) : kind === 'sound' ? (
        <Sound media={media} name={`${id} ${sample + 1}`} />
      ) : (
        <Frames media={media} clip={kind === 'clip'} />
      )}
    </>
  );
}

function Frames({ media: { frames }, clip }: { media: Media; clip: boolean }) {
  const [at, setAt] = useState(clip ? 0 : Math.floor(frames.length / 2));
  const [playing, setPlaying] = useState(false);
  const shown = Math.min(at, frames.length - 1);
  useEffect(() => {
    if (!playing) return undefined;
    const timer = setInterval(() => setAt((before) => (before + 1) % frames.length), FRAME_MS);
    return () => clearInterval(timer);
  }, [playing, frames.length]);
  const words = clip
    ? t('frame %1 of %2', shown + 1, frames.length)
    : t('slice %1 of %2', shown + 1, frames.length);
  const picture = frames[shown];
  return (
    <figure className="player stack" data-testid="player">
      <div className="line">
        <button
          type="button"
          className="icon-button"
          aria-label={playing ? t('Stop') : t('Play')}
          title={playing ? t('Stop') : t('Play')}
          onClick={() => setPlaying(!playing)}
        >
          <Icon name={playing ? 'stop' : 'run'} size={14} />
        </button>
        <input
          type="range"
          min={0}
          max={frames.length - 1}
          value={shown}
          aria-label={clip ? t('Frame') : t('Slice')}
          aria-valuetext={words}
          onChange={(event) => {
            setPlaying(false);
            setAt(Number(event.target.value));
          }}
        />
        <span className="muted player-at">{words}</span>
      </div>
      {picture && <img src={picture.url} alt={words} draggable={false} />}
    </figure>
  );
}

function Sound({ media, name }: { media: Media; name: string }) {
  const { frames, sound, seconds, highest } = media;
  const time = MARKS.map((share) => t('%1 s', (share * seconds).toFixed(seconds < 10 ? 2 : 1)));
  return (
    <figure className="player sound stack" data-testid="player">
      {sound && <audio controls src={sound} aria-label={name} />}
      <Axes picture={frames[0]} name={t('Waveform')} below={time} beside={['1', '0', '−1']} />
      <Axes
        picture={frames[1]}
        name={t('Spectrogram')}
        below={time}
        beside={[1, 0.5, 0].map((share) => t('%1 kHz', ((share * highest) / 1000).toFixed(1)))}
      />
    </figure>
  );
}

interface AxesProperties {
  picture: Picture | null | undefined;
  name: string;
  below: readonly string[];
  beside: readonly string[];
}

function Axes({ picture, name, below, beside }: AxesProperties): ReactNode {
  if (!picture) return null;
  return (
    <div className="axes">
      <div className="axis beside muted">
        {beside.map((mark) => (
          <span key={mark}>{mark}</span>
        ))}
      </div>
      <img src={picture.url} alt={name} draggable={false} />
      <div className="axis below muted">
        {below.map((mark, index) => (
          <span key={index}>{mark}</span>
        ))}
      </div>
    </div>
  );
}
