import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['src/**/*.test.ts'],
    environment: 'node',
    globalSetup: 'testing/catalogue.ts',
    // Only a failure takes so long: the machine may have other work.
    testTimeout: 120_000,
    hookTimeout: 120_000,
  },
});
