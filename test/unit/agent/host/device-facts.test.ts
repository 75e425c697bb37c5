import { tmpdir } from "node:os";
import { beforeEach, expect, test } from "vitest";
import { deviceFactsReader } from "../../../../src/agent/host/device-facts.ts";

const disk = { blocks: 1000, bavail: 500, bsize: 4096, isMissing: false };
const readDisk = async () => {
  if (disk.isMissing) throw new Error("no such directory");
  return { ...disk };
};
const reader = () => deviceFactsReader("1.2.3", 0.15, readDisk);

const ENGINE = { kind: "docker", version: "26", dataRoot: tmpdir() } as const;

beforeEach(() => void Object.assign(disk, { blocks: 1000, bavail: 500, isMissing: false }));

test("how much of the disk is free changes the facts only when it becomes low, and when clearly more is free again", async () => {
  const read = reader();
  const first = await read(ENGINE);
  expect(first).toMatchObject({ disk_total_bytes: 4_096_000, disk_low: false });
  const seen: (boolean | undefined)[] = [];
  for (const bavail of [499, 150, 149, 10, 150, 179, 180, 150, 149]) {
    disk.bavail = bavail;
    const facts = await read(ENGINE);
    expect({ ...facts, disk_low: false }).toEqual(first);
    seen.push(facts.disk_low);
  }
  expect(seen).toEqual([false, false, true, true, true, true, false, false, true]);
});

test("a disk that cannot be read is not said to be low or not, and what it was is remembered", async () => {
  const read = reader();
  disk.bavail = 100;
  expect((await read(ENGINE)).disk_low).toBe(true);
  disk.isMissing = true;
  expect(await read(ENGINE)).not.toHaveProperty("disk_low");
  expect(await read(undefined)).not.toHaveProperty("disk_low");
  Object.assign(disk, { isMissing: false, bavail: 160 });
  expect((await read(ENGINE)).disk_low).toBe(true);
  disk.blocks = 0;
  expect(await read(ENGINE)).not.toHaveProperty("disk_low");
});

test("with a limit of 0 no disk is low", async () => {
  disk.bavail = 0;
  expect((await deviceFactsReader("1.2.3", 0)(ENGINE)).disk_low).toBe(false);
});
