import { EXECUTABLES, type Modules, git } from "./modules.ts";
import { isBelow } from "./tiers.ts";

/** Tests that a change below a place may break although they do not import it. */
const BY_FOLDER: readonly (readonly [place: string, tests: string])[] = [
  ["Dockerfile", "test/e2e/executables/"],
  ["README.md", "test/adversary/mount-policy.test.ts"],
  ["README.md", "test/e2e/real-app.test.ts"],
  ["docs/configuration.md", "test/adversary/mount-policy.test.ts"],
  ["docs/install.md", "test/e2e/executables/container.test.ts"],
  ["docs/service-setup.md", "test/e2e/executables/by-hand.test.ts"],
  ["examples/", "test/e2e/recipes/"],
  ["examples/", "test/examples/"],
  ["man/", "test/device/"],
  ["man/", "test/unit/scripts/"],
  ["packaging/", "test/device/"],
  ["packaging/", "test/e2e/executables/"],
  ["packaging/recipes/", "test/e2e/recipes/"],
  ["scripts/bundling/", "test/e2e/executables/"],
  ["scripts/quickstart/", "test/e2e/executables/"],
  ["src/console/", "test/e2e/console/"],
  ["systemd/", "test/device/"],
];

/** Changes that may break any test. */
const EVERYTHING = ["package-lock.json", "package.json", "test/fixtures/", "tsconfig.base.json", "vitest.config.ts"];

/** Returns the paths that differ from a commit, with new files. */
export function changedSince(commit: string): string[] {
  return [...git("diff", "--name-only", commit), ...git("ls-files", "--others", "--exclude-standard")];
}

/**
 * Returns those of the tests that a change touches, by what they import and by folder. Tests of the executables in dist/
 * are not touched by each change of what these are built from: nearly every change would touch all of them.
 */
export function affectedTests(modules: Modules, changed: readonly string[], tests: readonly string[]): string[] {
  if (changed.some((path) => isBelow(path, EVERYTHING))) return [...tests];
  const touched = usersOf(modules, changed);
  const folders = BY_FOLDER.filter(([place]) => changed.some((path) => isBelow(path, [place]))).map(([, of]) => of);
  // These read all files.
  const ofRepository = changed.length > 0 ? ["test/repo/"] : [];
  return tests.filter((test) => touched.has(test) || isBelow(test, [...folders, ...ofRepository]));
}

/** Returns the given files and every module that reaches one of them. */
function usersOf(modules: Modules, files: readonly string[]): ReadonlySet<string> {
  const users = Map.groupBy(
    [...modules].flatMap(([user, used]) => used.map((path) => ({ user, path }))),
    ({ path }) => path,
  );
  const found = new Set(files);
  for (const path of found) {
    if (path === EXECUTABLES) continue;
    for (const { user } of users.get(path) ?? []) found.add(user);
  }
  return found;
}
