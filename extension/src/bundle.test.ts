import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';

const file = fileURLToPath(new URL('../../dali_lab/studio/static/editor.js', import.meta.url));

describe.skipIf(!existsSync(file))('the bundle', () => {
  const content = existsSync(file) ? readFileSync(file) : Buffer.alloc(0);

  it('is under 500 KB, gzipped', () => {
    expect(gzipSync(content).length).toBeLessThan(500_000);
  });

  it('loads nothing from elsewhere and needs no JupyterLab', () => {
    const text = content.toString();
    expect(/@jupyterlab|@lumino/.test(text)).toBe(false);
    const hosts = new Set([...text.matchAll(/https?:\/\/([\w.-]+)/g)].map(([, host]) => host));
    // Names of XML dialects, and where an error of React or React Flow is explained: none is ever asked for.
    expect(
      [...hosts].filter(
        (host) => !/^(www\.)?(w3\.org|reactjs\.org|react\.dev|reactflow\.dev)$/.test(host ?? ''),
      ),
    ).toEqual([]);
  });
});
