import { crc32 } from "node:zlib";
import { type Modules } from "./modules.ts";
import { needsOf } from "./needs.ts";

/** Folders of the quick tier, but for tests that need a program of the machine. */
const QUICK = ["test/unit/", "test/repo/", "test/contract/", "test/integration/api/"];

/** Files and folders with real parts that are in the main tier beside the quick tests: one for each main promise. */
export const MAIN: readonly string[] = [
  "test/unit/",
  "test/contract/engine/docker.test.ts",
  "test/contract/registry/",
  "test/integration/agent-store/",
  "test/integration/control-plane/",
  "test/integration/download/faulty-registries.test.ts",
  "test/integration/edgectl/apply.test.ts",
  "test/integration/edgectl/apps.test.ts",
  "test/integration/edgectl/deploy.test.ts",
  "test/integration/edgectl/fleets.test.ts",
  "test/integration/fleets/rollout.test.ts",
  "test/integration/link/",
  "test/e2e/app-life.test.ts",
  "test/e2e/apply.test.ts",
  "test/e2e/console/journey.test.ts",
  "test/e2e/executables/launcher.test.ts",
  "test/e2e/executables/by-hand.test.ts",
  "test/e2e/failures.test.ts",
  "test/e2e/interruptions.test.ts",
  "test/e2e/processes.test.ts",
  "test/e2e/pull.test.ts",
  "test/e2e/refusals.test.ts",
  "test/e2e/secrets.test.ts",
  "test/e2e/success.test.ts",
  "test/e2e/unreachable.test.ts",
  "test/adversary/crash-loop.test.ts",
  "test/chaos/process-kill-points.test.ts",
  "test/chaos/store-power-loss.test.ts",
];

/** How many landings it takes until every test has run in CI. */
const SHARES = 5;

/** The test files of the project by tier. Each tier contains the one before. */
export interface Tiers {
  /** What needs npm packages only: no root, no program of the machine, no build. */
  readonly quick: readonly string[];
  /** The quick tests, and the main promises on real parts. */
  readonly main: readonly string[];
  readonly all: readonly string[];
}

export function readTiers(modules: Modules): Tiers {
  const all = [...modules.keys()].filter((path) => path.endsWith(".test.ts"));
  const isQuick = (path: string): boolean => isBelow(path, QUICK) && needsOf(modules, path).length === 0;
  return {
    quick: all.filter(isQuick),
    main: all.filter((path) => isBelow(path, MAIN) || isQuick(path)),
    all,
  };
}

/** Returns the tests beyond the main tier that are due at a landing. A test's share depends on its path only. */
export function shareOf({ main, all }: Tiers, landing: number): string[] {
  const known = new Set(main);
  return all.filter((path) => !known.has(path) && crc32(path) % SHARES === landing % SHARES);
}

/** Whether a path is one of the given files, or below one of the given folders, which end with a slash. */
export function isBelow(path: string, places: readonly string[]): boolean {
  return places.some((place) => path === place || (place.endsWith("/") && path.startsWith(place)));
}
