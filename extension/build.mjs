// Builds the editor as one self-contained ES module: React, styles and icons inside, nothing loaded from elsewhere.
import { build, context } from 'esbuild';
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

const here = (path) => fileURLToPath(new URL(path, import.meta.url));
const development = process.argv.includes('--dev');
const outfile = here('../dali_lab/studio/static/editor.js');

const editor = {
  entryPoints: [here('src/index.ts')],
  outfile,
  bundle: true,
  format: 'esm',
  target: 'es2022',
  legalComments: 'none',
  minify: !development,
  sourcemap: development ? 'inline' : false,
  define: { 'process.env.NODE_ENV': development ? '"development"' : '"production"' },
  plugins: [{ name: 'styles-in-script', setup: ({ onEnd }) => onEnd(putStylesIntoScript) }],
  write: false,
  logLevel: 'info',
};

/** Writes the script, with the text of the style sheets that its components import in the place of `STYLES`. */
function putStylesIntoScript({ outputFiles = [] }) {
  const textOf = (ending) => outputFiles.find(({ path }) => path.endsWith(ending))?.text;
  const [script, styles] = [textOf('.js'), textOf('.css')];
  mkdirSync(here('../dali_lab/studio/static'), { recursive: true }); // not there in a fresh clone
  if (script)
    writeFileSync(
      outfile,
      script.replace(/\bSTYLES\b/, () => JSON.stringify(styles)),
    );
}

/** The licences of what is in the bundle, beside it. */
function writeLicences(metafile) {
  const packages = new Set(
    Object.keys(metafile.inputs).flatMap(
      (path) => /node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(path)?.[1] ?? [],
    ),
  );
  const texts = [...packages].sort().map((name) => {
    const folder = here(`node_modules/${name}/`);
    const { version, license } = JSON.parse(readFileSync(`${folder}package.json`, 'utf8'));
    const file = readdirSync(folder).find((each) => /^licen[sc]e/i.test(each));
    const text = file && existsSync(folder + file) ? readFileSync(folder + file, 'utf8').trim() : '';
    return `${name} ${version} (${license})\n\n${text}\n`;
  });
  writeFileSync(here('../dali_lab/studio/static/editor.licences.txt'), texts.join(`\n${'-'.repeat(72)}\n\n`));
}

if (process.argv.includes('--watch')) {
  await (await context(editor)).watch();
} else {
  const { metafile } = await build({ ...editor, metafile: true });
  writeLicences(metafile);
  const bytes = readFileSync(outfile);
  console.log(
    `editor.js: ${(bytes.length / 1024).toFixed(0)} KB, ${(gzipSync(bytes).length / 1024).toFixed(0)} KB gzipped`,
  );
}
