import type * as fs from "node:fs/promises";
import { beforeEach, expect, test, vi } from "vitest";
import { clockFactsReader } from "../../../../src/agent/host/clock-facts.ts";

const host = vi.hoisted(() => ({ localtime: "", timezone: "", isSynchronized: false }));
vi.mock("node:fs/promises", async (load) => {
  const missing = new Error("no such file");
  const orMissing = (text: string): string => {
    if (text === "") throw missing;
    return text;
  };
  return {
    ...(await load<typeof fs>()),
    readlink: async (path: string) => orMissing(path === "/etc/localtime" ? host.localtime : ""),
    readFile: async (path: string) => orMissing(path === "/etc/timezone" ? host.timezone : ""),
    access: async () => void orMissing(host.isSynchronized ? "yes" : ""),
  };
});

const kernel = { state: -1, isThere: true };
beforeEach(() => {
  Object.assign(host, { localtime: "", timezone: "", isSynchronized: false });
  Object.assign(kernel, { state: -1, isThere: true });
  vi.spyOn(process, "getBuiltinModule").mockImplementation((name: string) => {
    if (name !== "node:ffi" || !kernel.isThere) throw new Error(`no ${name}`);
    return { dlopen: () => ({ functions: { adjtimex: () => kernel.state } }) };
  });
  return () => vi.restoreAllMocks();
});

const timeZone = async () => (await clockFactsReader()()).time_zone;
const isSynced = async () => (await clockFactsReader()()).clock_synced;

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
  Object.assign(host, { localtime, timezone });
  expect(await timeZone()).toBe(expected);
});

test("the kernel says whether the clock is synchronised", async () => {
  for (const [state, expected] of [
    [0, true],
    [1, true],
    [5, false],
  ] as const) {
    kernel.state = state;
    for (const isSynchronized of [false, true]) {
      host.isSynchronized = isSynchronized;
      expect(await isSynced(), `state ${state}`).toBe(expected);
    }
  }
});

test("where the kernel may not be asked, timesyncd's file says that it is, and its absence says nothing", async () => {
  for (const isThere of [true, false]) {
    kernel.isThere = isThere;
    host.isSynchronized = true;
    expect(await isSynced()).toBe(true);
    host.isSynchronized = false;
    expect(await isSynced()).toBe(null);
  }
});
