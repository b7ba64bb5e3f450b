// Turns the plugin's sources into modules for the labextension's build, beside which lies the editor's bundle.
import { build } from 'esbuild';
import { rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));

// The builder leaves a copy of package.json behind.
if (process.argv.includes('--clean')) {
  rmSync(here('../../dali_lab/labextension/schemas/dali-lab/package.json.orig'), { force: true });
  process.exit();
}

await build({
  entryPoints: [here('src/index.ts')],
  outfile: here('lib/index.js'),
  bundle: true,
  packages: 'external',
  external: ['*/studio/static/editor.js'],
  format: 'esm',
  target: 'es2022',
  logLevel: 'info',
});
