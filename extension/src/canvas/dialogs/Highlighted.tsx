/** Code with a little colour: strings, numbers, comments and keywords. */
import { memo } from 'react';
import './Highlighted.css';

const PYTHON =
  /(#[^\n]*)|("""[\s\S]*?"""|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')|\b(def|return|import|from|as|with|for|in|if|else|elif|not|and|or|None|True|False|class|lambda)\b|(@[\w.]+)|\b(\d+\.?\d*(?:e[-+]?\d+)?)\b/g;
const JSON_LIKE =
  /(\/\/[^\n]*)|("(?:[^"\\\n]|\\.)*")|\b(true|false|null|digraph|node|edge)\b|(@@never)|\b(-?\d+\.?\d*(?:e[-+]?\d+)?)\b/g;
const CLASSES = ['comment', 'string', 'keyword', 'decorator', 'number'];

export const Highlighted = memo(function Highlighted({ text, language }: { text: string; language: string }) {
  if (text.length > 100000) return <>{text}</>;
  const pattern = language === 'python' ? PYTHON : JSON_LIKE;
  const parts: React.ReactNode[] = [];
  let at = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > at) parts.push(text.slice(at, match.index));
    const kind = match.slice(1).findIndex((group) => Boolean(group));
    parts.push(
      <span key={match.index} className={`code-${CLASSES[kind] ?? ''}`}>
        {match[0]}
      </span>,
    );
    at = match.index + match[0].length;
  }
  parts.push(text.slice(at));
  return <>{parts}</>;
});
