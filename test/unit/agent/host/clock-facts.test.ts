import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeEach, expect, test, vi } from "vitest";
import { clockFactsReader } from "../../../../src/agent/host/clock-facts.ts";
import { tempDir } from "../../../support/temp-dir.ts";

const root = await tempDir();
const SYNCHRONIZED = join(root.path, "run/systemd/timesync/synchronized");
afterAll(() => root[Symbol.asyncDispose]());

const kernel = { state: -1, isThere: true };
beforeEach(async () => {
  await rm(join(root.path, "etc"), { recursive: true, force: true });
  await rm(SYNCHRONIZED, { force: true });
  for (const folder of ["etc", "run/systemd/timesync"]) await mkdir(join(root.path, folder), { recursive: true });
  Object.assign(kernel, { state: -1, isThere: true });
  vi.spyOn(process, "getBuiltinModule").mockImplementation((name: string) => {
    if (name !== "node:ffi" || !kernel.isThere) throw new Error(`no ${name}`);
    return { dlopen: () => ({ functions: { adjtimex: () => kernel.state } }) };
  });
  return () => vi.restoreAllMocks();
});

const timeZone = async () => (await clockFactsReader(root.path)()).time_zone;
const isSynced = async () => (await clockFactsReader(root.path)()).clock_synced;

test.each([
  ["/usr/share/zoneinfo/Europe/Berlin", "Asia/Tokyo\n", "Europe/Berlin"],
  ["../usr/share/zoneinfo/Etc/UTC", "", "Etc/UTC"],
  ["/usr/share/zoneinfo/posix/Asia/Kolkata", "", "Asia/Kolkata"],
  ["", "America/Argentina/Buenos_Aires\n", "America/Argentina/Buenos_Aires"],
  ["/somewhere/else", "Europe/Paris\n", "Europe/Paris"],
  // The service finds out that there is no such zone.
  ["/usr/share/zoneinfo/Mars/Olympus", "", "Mars/Olympus"],
  ["/usr/share/zoneinfo/../../../etc/passwd", "", null],
  ["", "not a zone", null],
  ["", "x".repeat(100), null],
  ["", "", null],
])("with the link %j and the file %j the time zone is %j", async (localtime, timezone, expected) => {
  if (localtime !== "") await symlink(localtime, join(root.path, "etc/localtime"));
  if (timezone !== "") await writeFile(join(root.path, "etc/timezone"), timezone);
  expect(await timeZone()).toBe(expected);
});

test("the kernel says whether the clock is synchronised", async () => {
  for (const [state, expected] of [
    [0, true],
    [1, true],
    [5, false],
  ] as const) {
    kernel.state = state;
    expect(await isSynced(), `state ${state}`).toBe(expected);
    await writeFile(SYNCHRONIZED, "");
    expect(await isSynced(), `state ${state}`).toBe(expected);
    await rm(SYNCHRONIZED);
  }
});

test("where the kernel may not be asked, timesyncd's file says that it is, and its absence says nothing", async () => {
  for (const isThere of [true, false]) {
    kernel.isThere = isThere;
    await writeFile(SYNCHRONIZED, "");
    expect(await isSynced()).toBe(true);
    await rm(SYNCHRONIZED);
    expect(await isSynced()).toBe(null);
  }
});
