/** The catalogue of operators as Python declares them. */
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { TestProject } from 'vitest/node';
import type { CatalogueData } from '../src/core/catalogue';

declare module 'vitest' {
  export interface ProvidedContext {
    catalogue: CatalogueData;
  }
}

const PROGRAM =
  'import msgspec; from dali_lab.studio.catalogue import catalogue; print(msgspec.json.encode(catalogue()).decode())';

/** Asks Python once, before the tests; they get it by `inject('catalogue')`. */
export default function setup(project: TestProject): void {
  const json = execFileSync('python', ['-c', PROGRAM], {
    cwd: fileURLToPath(new URL('../..', import.meta.url)),
    encoding: 'utf8',
    maxBuffer: 1 << 26,
  });
  project.provide('catalogue', JSON.parse(json) as CatalogueData);
}
