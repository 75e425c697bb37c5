import { addEntries } from "./add-entries.ts";
import {
  findEntryPath,
  type PackageLock,
  type LockEntry,
  type MissingPackage,
  findMissingPackages,
} from "./missing-packages.ts";

/** Packages that are added may name others; platform packages do so once or twice. */
const MAX_ROUNDS = 10;

/** What npm resolves of these, by name; those that the registry in use does not have are left out. */
export type ResolvePackages = (wanted: Readonly<Record<string, string>>) => Promise<PackageLock["packages"]>;

export type CompletionResult<L extends PackageLock> =
  | { readonly kind: "complete"; readonly lock: L; readonly added: readonly string[] }
  /** The registry in use lacks these. */
  | { readonly kind: "lacking"; readonly packages: readonly MissingPackage[] };

/** Adds what `npm ci` misses in a lock file, or tells what the registry in use does not have. */
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
    // One version of each name at a time: npm installs one under one name.
    const wanted = Object.fromEntries(missing.toReversed().map(({ name, range }) => [name, range]));
    const asked = missing.filter(({ name, range }) => wanted[name] === range);
    const resolved = await resolve(wanted);
    const found = Object.fromEntries(
      Object.keys(wanted).flatMap((name): [string, LockEntry][] => {
        const entry = resolved[findEntryPath(resolved, "", name)];
        return entry?.version === undefined ? [] : [[name, entry]];
      }),
    );
    const lacking = asked.filter(({ name }) => !(name in found));
    if (lacking.length > 0) return { kind: "lacking", packages: lacking };
    current = addEntries(current, asked, found);
  }
  throw new Error(`the lock file is not complete after ${MAX_ROUNDS} rounds`);
}
