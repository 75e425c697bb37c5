import { addEntries } from "./add-entries.ts";
import {
  findEntryPath,
  type PackageLock,
  type LockEntry,
  type MissingPackage,
  findMissingPackages,
} from "./missing-packages.ts";

/** Added packages may require others; for platform packages one or two rounds suffice. */
const MAX_ROUNDS = 10;

/** Resolves packages with npm. Packages that the registry lacks are omitted. */
export type ResolvePackages = (wanted: Readonly<Record<string, string>>) => Promise<PackageLock["packages"]>;

export type CompletionResult<L extends PackageLock> =
  | { readonly kind: "complete"; readonly lock: L; readonly added: readonly string[] }
  /** The registry in use lacks these. */
  | { readonly kind: "lacking"; readonly packages: readonly MissingPackage[] };

/** Adds the packages that `npm ci` misses in a lock file, or returns those the registry lacks. */
export async function completeLock<L extends PackageLock>(
  lock: L,
  resolve: ResolvePackages,
): Promise<CompletionResult<L>> {
  let current = lock;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const missing = findMissingPackages(current);
    if (missing.length === 0) {
      return {
        kind: "complete",
        lock: current,
        added: Object.keys(current.packages).filter((path) => current.packages[path] !== lock.packages[path]),
      };
    }
    // One version of each name per round, since npm resolves one version for a name.
    const wanted = Object.fromEntries(missing.toReversed().map(({ name, range }) => [name, range]));
    const requested = missing.filter(({ name, range }) => wanted[name] === range);
    const resolved = await resolve(wanted);
    const found = Object.fromEntries(
      Object.keys(wanted).flatMap((name): [string, LockEntry][] => {
        const entry = resolved[findEntryPath(resolved, "", name)];
        return entry?.version === undefined ? [] : [[name, entry]];
      }),
    );
    const lacking = requested.filter(({ name }) => !(name in found));
    if (lacking.length > 0) return { kind: "lacking", packages: lacking };
    current = addEntries(current, requested, found);
  }
  throw new Error(`the lock file is not complete after ${MAX_ROUNDS} rounds`);
}
