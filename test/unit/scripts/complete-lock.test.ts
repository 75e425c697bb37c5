import { describe, expect, it } from "vitest";
import { completeLock, type ResolvePackages } from "../../../scripts/lock/complete.ts";
import { findEntryPath, type PackageLock, findMissingPackages } from "../../../scripts/lock/missing-packages.ts";

const lockOf = (packages: PackageLock["packages"]): PackageLock & { readonly lockfileVersion: number } => ({
  lockfileVersion: 3,
  packages,
});

const TOOL = {
  version: "2.0.0",
  integrity: "sha512-tool",
  dev: true,
  optionalDependencies: { "@tool/darwin": "2.0.0", "@tool/linux": "2.0.0", "@tool/wasm": "2.0.0" },
};
const PARTIAL = lockOf({
  "": { devDependencies: { tool: "^2.0.0" } },
  // The entry that npm writes for a package the registry lacks.
  "node_modules/@tool/darwin": { dev: true, optional: true },
  "node_modules/@tool/linux": { version: "2.0.0", integrity: "sha512-linux", dev: true, optional: true },
  "node_modules/tool": TOOL,
});

/** A registry with these packages, which records the requests. */
function registry(has: PackageLock["packages"]): {
  readonly resolve: ResolvePackages;
  readonly asked: Record<string, string>[];
} {
  const asked: Record<string, string>[] = [];
  const resolve: ResolvePackages = async (wanted) => {
    asked.push({ ...wanted });
    const found = Object.entries(wanted).flatMap(([name, range]) => {
      const entry = has[`${name}@${range}`];
      return entry ? [[`node_modules/${name}`, entry] as const] : [];
    });
    // As npm does: an unavailable package gets an empty entry.
    const absent = Object.keys(wanted).map((name) => [`node_modules/${name}`, { optional: true }]);
    return { "": {}, ...Object.fromEntries(absent), ...Object.fromEntries(found) };
  };
  return { resolve, asked };
}

const platform = (name: string, more: object = {}): object => ({
  version: "2.0.0",
  resolved: "https://registry.invalid/package.tgz",
  integrity: `sha512-${name}`,
  os: [name],
  ...more,
});

describe("a lock file", () => {
  it("misses dependencies that do not resolve, including the project's own", () => {
    const nested = lockOf({
      "": { dependencies: { a: "1", absent: "1" }, optionalDependencies: { platform: "3" } },
      "node_modules/a": { version: "1.0.0", dependencies: { b: "1", c: "1" } },
      "node_modules/a/node_modules/b": { version: "1.0.0", dependencies: { c: "1", d: "1" } },
      "node_modules/c": { version: "1.0.0" },
    });
    expect(findMissingPackages(nested).map(({ name, requiredBy }) => `${requiredBy}: ${name}`)).toEqual([
      ": absent",
      ": platform",
      "node_modules/a/node_modules/b: d",
    ]);
    // An entry elsewhere in the tree does not count.
    expect(
      findMissingPackages(lockOf({ ...nested.packages, "node_modules/a/node_modules/absent": { version: "1.0.0" } })),
    ).toHaveLength(3);
  });

  it("gets the missing packages and their dependencies, as npm writes them, without URLs; the rest is unchanged", async () => {
    const { resolve, asked } = registry({
      "@tool/darwin@2.0.0": platform("darwin", { cpu: ["arm64"], license: "MIT", engines: { node: ">=20" } }),
      "@tool/wasm@2.0.0": platform("wasm", { dependencies: { runtime: "^1.0.0" } }),
      "runtime@^1.0.0": { version: "1.4.0", integrity: "sha512-runtime" },
    });
    const result = await completeLock(PARTIAL, resolve);
    if (result.kind !== "complete") throw new Error("not complete");
    expect(result.added).toEqual(["node_modules/@tool/darwin", "node_modules/@tool/wasm", "node_modules/runtime"]);
    expect(findMissingPackages(result.lock)).toEqual([]);
    expect(asked).toEqual([{ "@tool/darwin": "2.0.0", "@tool/wasm": "2.0.0" }, { runtime: "^1.0.0" }]);
    expect(JSON.stringify(result.lock.packages["node_modules/@tool/darwin"])).toBe(
      '{"version":"2.0.0","integrity":"sha512-darwin","cpu":["arm64"],"dev":true,"license":"MIT","optional":true,"os":["darwin"],"engines":{"node":">=20"}}',
    );
    expect(result.lock.packages["node_modules/runtime"]).toMatchObject({ dev: true, optional: true });
    expect(JSON.stringify(result.lock)).not.toContain("registry.invalid");
    expect(result.lock).toMatchObject(PARTIAL);
    expect(Object.keys(result.lock.packages)).toEqual([
      "",
      "node_modules/@tool/darwin",
      "node_modules/@tool/linux",
      "node_modules/@tool/wasm",
      "node_modules/runtime",
      "node_modules/tool",
    ]);
  });

  it("is not changed if the registry lacks packages, and each is named", async () => {
    const before = JSON.stringify(PARTIAL);
    const result = await completeLock(PARTIAL, registry({ "@tool/darwin@2.0.0": platform("darwin") }).resolve);
    expect(result).toEqual({
      kind: "lacking",
      packages: [{ name: "@tool/wasm", range: "2.0.0", requiredBy: "node_modules/tool" }],
    });
    expect(JSON.stringify(PARTIAL)).toBe(before);
  });

  it("that is complete needs no resolution", async () => {
    const { resolve, asked } = registry({});
    const lock = lockOf({ "": { dependencies: { a: "1" } }, "node_modules/a": { version: "1.0.0" } });
    expect(await completeLock(lock, resolve)).toEqual({ kind: "complete", lock, added: [] });
    expect(asked).toEqual([]);
  });

  it("has two versions of one package if both are required", async () => {
    const lock = lockOf({
      "": { dependencies: { a: "1", b: "1" } },
      "node_modules/a": { version: "1.0.0", optionalDependencies: { watcher: "1.0.9" } },
      "node_modules/b": { version: "1.0.0", optionalDependencies: { watcher: "2.0.9" } },
    });
    const has = { "watcher@1.0.9": { version: "1.0.9" }, "watcher@2.0.9": { version: "2.0.9" } };
    const result = await completeLock(lock, registry(has).resolve);
    if (result.kind !== "complete") throw new Error("not complete");
    const got = ["a", "b"].map((name) => {
      const { packages } = result.lock;
      return packages[findEntryPath(packages, `node_modules/${name}`, "watcher")]?.version;
    });
    expect(got).toEqual(["1.0.9", "2.0.9"]);
  });

  it("keeps an older version that another package uses, and nests the missing one below its parent", async () => {
    const lock = lockOf({
      "": { dependencies: { old: "1", tool: "2" } },
      "node_modules/@tool/darwin": { version: "1.0.0", optional: true },
      "node_modules/old": { version: "1.0.0", optionalDependencies: { "@tool/darwin": "1.0.0" } },
      "node_modules/tool": { version: "2.0.0", optionalDependencies: { "@tool/darwin": "2.0.0" } },
    });
    expect(findMissingPackages(lock)).toEqual([
      { name: "@tool/darwin", range: "2.0.0", requiredBy: "node_modules/tool" },
    ]);
    const result = await completeLock(lock, registry({ "@tool/darwin@2.0.0": platform("darwin") }).resolve);
    expect(result).toMatchObject({ kind: "complete", added: ["node_modules/tool/node_modules/@tool/darwin"], lock });
  });
});
