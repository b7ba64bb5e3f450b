import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts'],
    environment: 'node',
    globalSetup: 'testing/catalogue.ts',
    // Test files share the modules that they import: reading them for each file takes two thirds of the time.
    pool: 'threads',
    isolate: false,
    // Only a failure takes so long: the machine may have other work.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
