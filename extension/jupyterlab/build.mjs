// Turns the plugin's sources into modules for the labextension's build, beside which lies the editor's bundle.
import { build } from 'esbuild';
import { readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const sources = readdirSync(here('src')).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));

await build({
  entryPoints: sources.map((name) => here(`src/${name}`)),
  outdir: here('lib'),
  format: 'esm',
  target: 'es2022',
  logLevel: 'info',
});
