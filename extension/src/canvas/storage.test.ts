import { afterEach, beforeEach, expect, it, vi } from 'vitest';

let stored: Map<string, string>;

beforeEach(() => {
  stored = new Map();
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => stored.get(key) ?? null,
    setItem: (key: string, value: string) => stored.set(key, value),
  });
});

afterEach(() => {
  vi.unstubAllGlobals();
  vi.resetModules();
});

/** What a page at this address remembers. */
async function page(pathname: string): Promise<typeof import('./storage')> {
  vi.stubGlobal('location', { pathname });
  vi.resetModules();
  return import('./storage');
}

it('keeps what belongs to one person of a hub from the others', async () => {
  (await page('/hub/user/ann/lab/tree/a.dali.json')).toggleFavourite('flip');
  expect((await page('/hub/user/bob/lab')).favourites.get()).toEqual([]);
  expect((await page('/hub/user/ann/doc/workspaces/x')).favourites.get()).toEqual(['flip']);
});

it('keeps it for all pages of an app', async () => {
  (await page('/')).toggleFavourite('flip');
  expect((await page('/gallery')).favourites.get()).toEqual(['flip']);
});
