import { spawnSync } from "node:child_process";
import { readdirSync, readlinkSync } from "node:fs";
import { readdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { PartStore } from "../../../../src/agent/download/part-store.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const digest = (digit: string): string => `sha256:${digit.repeat(64)}`;
const blob = (digit: string) => ({ digest: digest(digit), size: 100 });

let directory: Awaited<ReturnType<typeof tempDir>>;
let parts: PartStore;
beforeEach(async () => {
  directory = await tempDir();
  parts = new PartStore(directory.path);
});
afterEach(() => directory[Symbol.asyncDispose]());

/** Ranges of three blobs, of which two describe the layer `a`, and a part of it. */
async function fill(): Promise<void> {
  await using owned = new AsyncDisposableStack();
  owned.use(await parts.lease(blob("a")));
  owned.use(await parts.leaseRanges(blob("a")));
  owned.use(await parts.leaseRanges(blob("b"), digest("a")));
  owned.use(await parts.leaseRanges(blob("c"), digest("a")));
  owned.use(await parts.leaseRanges(blob("d"), digest("e")));
}

test("what describes a layer is removed together with it, also after a restart, and nothing else", async () => {
  await fill();
  expect(await readdir(directory.path)).toHaveLength(5);
  await new PartStore(directory.path).remove([digest("a")]);
  expect(await readdir(directory.path)).toEqual([`${"e".repeat(64)}.${"d".repeat(64)}.ranges`]);
});

test("what a crash has left of a record is removed with the parts", async () => {
  const { pid } = spawnSync("true");
  await writeFile(join(directory.path, `uncompressed-layers.json.${pid}.tmp`), "{");
  await writeFile(join(directory.path, "uncompressed-layers.json"), "{}");
  await parts.remove([]);
  expect(await readdir(directory.path)).toEqual(["uncompressed-layers.json"]);
});

test("what is in use is neither removed nor idle", async () => {
  await fill();
  {
    await using _lease = await parts.leaseRanges(blob("b"), digest("a"));
    await parts.remove([digest("a"), digest("d")]);
    expect(await readdir(directory.path)).toEqual([`${"a".repeat(64)}.${"b".repeat(64)}.ranges`]);
    expect(await parts.idle()).toEqual([]);
  }
  expect((await parts.idle()).map((idle) => idle.digest)).toEqual([digest("b")]);
  await parts.remove([digest("b")]);
  expect(await readdir(directory.path)).toEqual([]);
});

test("a part that is removed while it is open can be read until it is closed, and the next one begins anew", async () => {
  const bytes = Buffer.from("bytes of a layer");
  const lease = await parts.lease(blob("a"));
  await lease.part.append(bytes);
  lease.remove();
  expect(await readdir(directory.path)).toEqual([]);
  await using next = await parts.lease(blob("a"));
  expect(next.part.size).toBe(0);
  expect(Buffer.concat(await lease.part.read(0, bytes.length, Buffer.alloc(80_000)))).toEqual(bytes);
  lease.remove();
  await lease[Symbol.asyncDispose]();
  expect(await readdir(directory.path)).toHaveLength(1);
  await using same = await parts.lease(blob("a"));
  expect(same.part).toBe(next.part);
});

test("a part that others have leased too is not removed by one of them", async () => {
  await using other = await parts.lease(blob("a"));
  await using lease = await parts.lease(blob("a"));
  lease.remove();
  expect(await readdir(directory.path)).toHaveLength(1);
  await lease[Symbol.asyncDispose]();
  other.remove();
  expect(await readdir(directory.path)).toEqual([]);
});

test("two layers that one blob describes share its part, and the last one removes its file", async () => {
  const first = await parts.leaseRanges(blob("c"), digest("a"));
  await using second = await parts.leaseRanges(blob("c"), digest("e"));
  expect(second.part).toBe(first.part);
  first.remove();
  await first[Symbol.asyncDispose]();
  expect(await readdir(directory.path)).toEqual([`${"a".repeat(64)}.${"c".repeat(64)}.ranges`]);
  second.remove();
  expect(await readdir(directory.path)).toEqual([]);
});

/** Whether this process has a file open. */
function isOpen(path: string): boolean {
  return readdirSync("/proc/self/fd").some((descriptor) => {
    try {
      return readlinkSync(`/proc/self/fd/${descriptor}`) === path;
    } catch {
      return false;
    }
  });
}

// Node.js ends the process with an error when it collects a handle that nobody has closed.
test.each([
  ["part", () => parts.lease(blob("a"))],
  ["ranges", () => parts.leaseRanges(blob("a"))],
])("a file that cannot be read (%s) is an error, and is not left open", async (extension, lease) => {
  // It can be opened, but not cut to a length.
  await symlink("/dev/full", join(directory.path, `${"a".repeat(64)}.${extension}`));
  await expect(lease()).rejects.toThrow();
  expect(isOpen("/dev/full")).toBe(false);
});
