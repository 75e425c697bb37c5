import { defineConfig } from "vitest/config";

/** Those that compute. As many at once as a small machine has processors; the modules are loaded once for a worker. */
const QUICK = { groupOrder: 0, maxWorkers: 2, isolate: false };
/** Those with engines, processes and links, which wait most of the time. They share nothing that has a fixed name. */
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
  },
});

export default defineConfig({
  test: {
    projects: [
      project("unit", QUICK, 300_000),
      project("repo", QUICK, 300_000),
      ...["contract", "integration", "e2e", "adversary", "examples", "device", "chaos"].map((name) =>
        project(name, SYSTEM, 600_000),
      ),
    ],
  },
});
