import { defineConfig } from "vitest/config";

/** Tests that compute. As many at once as a small machine has processors; the modules are loaded once for a worker. */
const QUICK = { groupOrder: 0, maxWorkers: 2, isolate: false };
/** Tests with servers and links in their own process. */
const SERVERS = { groupOrder: 1, maxWorkers: 3, isolate: false };
/** Tests with engines and processes, which wait most of the time. They share nothing that has a fixed name. */
const SYSTEM = { groupOrder: 1, maxWorkers: 3, isolate: true };

const project = (name: string, { groupOrder, maxWorkers, isolate }: typeof QUICK, timeout: number) => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    testTimeout: timeout,
    hookTimeout: timeout,
    maxWorkers,
    isolate,
    sequence: { groupOrder },
    globals: false,
    restoreMocks: true,
    // Only against hangs, as in `test/support/wait-for.ts`.
    expect: { poll: { timeout: 180_000 } },
  },
});

export default defineConfig({
  test: {
    projects: [
      project("unit", QUICK, 300_000),
      project("repo", QUICK, 300_000),
      project("contract", SERVERS, 600_000),
      project("integration", SERVERS, 600_000),
      project("e2e", SYSTEM, 600_000),
      project("adversary", SYSTEM, 600_000),
      project("examples", SYSTEM, 600_000),
      project("device", SYSTEM, 600_000),
      project("chaos", SYSTEM, 600_000),
    ],
  },
});
