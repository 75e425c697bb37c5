import { defineConfig } from "vitest/config";

const project = (name: string, options: { parallel: boolean; timeout: number }) => ({
  test: {
    name,
    include: [`test/${name}/**/*.test.ts`],
    testTimeout: options.timeout,
    hookTimeout: options.timeout,
    fileParallelism: options.parallel,
    globals: false,
    restoreMocks: true,
  },
});

export default defineConfig({
  test: {
    projects: [
      project("unit", { parallel: true, timeout: 30_000 }),
      project("repo", { parallel: true, timeout: 120_000 }),
      project("contract", { parallel: false, timeout: 120_000 }),
      project("integration", { parallel: false, timeout: 120_000 }),
      project("e2e", { parallel: false, timeout: 180_000 }),
      project("device", { parallel: false, timeout: 300_000 }),
      project("chaos", { parallel: false, timeout: 300_000 }),
    ],
  },
});
