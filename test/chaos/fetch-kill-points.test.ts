import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, expect, test } from "vitest";
import { newRecord } from "../../src/agent/core/records.ts";
import { BlobDownloader } from "../../src/agent/download/blob-download.ts";
import { PartStore } from "../../src/agent/download/part-store.ts";
import { FileFetcher } from "../../src/agent/files/fetcher.ts";
import { removeUnusedFetched } from "../../src/agent/files/fetched-contents.ts";
import { placeName, removeOtherPlaces } from "../../src/agent/files/place.ts";
import { placeFiles } from "../../src/agent/files/placer.ts";
import { OPEN_GATE } from "../../src/agent/ledger/pull-gate.ts";
import { writeDirectoryArchive } from "../../src/lib/directory-archive.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { Semaphore } from "../../src/lib/semaphore.ts";
import { parseAppSpec } from "../../src/protocol/apps/app-spec.ts";
import { captureLogText } from "../support/captured-log.ts";
import { DyingDisk } from "../support/chaos/dying-disk.ts";
import { CountingLedger } from "../support/counting-ledger.ts";
import { FakeClock } from "../support/fake-clock.ts";
import { FakeEngine } from "../support/fake-engine.ts";
import { tempDir } from "../support/temp-dir.ts";
import { noise, someUpload } from "../support/uploads/upload.ts";

/*
 * Kills the agent at each change of the disk while it fetches the content of a directory, stores and unpacks it; then it starts again.
 * The downloader, the contents and the place of the app are the real ones.
 */

const IN_MEMORY = "/dev/shm";
/** What the downloader has in its two buffers when it dies, with the frame that it had begun. */
const MAX_LOST_BYTES = 2 * 256 * 1024 + 64 * 1024;

const TILES = ["a", "b/c", "b/d"].map((path) => ({ path, mode: 0o444, content: noise(300_000, path) }));
const upload = someUpload(writeDirectoryArchive([...TILES, { path: "empty", mode: 0o755 }]), "/tiles");
const IMAGE = "example/app:1";
const described = {
  target: "/tiles",
  directory: true,
  mode: "0444",
  size: upload.content.length,
  sha256: upload.file.sha256,
};
const parsed = parseAppSpec({ name: "map", image: IMAGE });
if (!parsed.ok) throw parsed.error;
const spec = { ...parsed.spec, files: [described] };
const { sha256, bytes, size } = upload.file.upload;
const record = {
  ...newRecord("dep_1", 1, spec),
  fetches: [{ sha256: upload.file.sha256, size, upload: { sha256, bytes } }],
};

const signal = new AbortController().signal;
const engine = new FakeEngine(new FakeClock());
engine.addImage(IMAGE);

/** Fetches and places, as a process that has just started. Returns the bytes that were received. */
async function live(stateDir: string, ledger: CountingLedger): Promise<void> {
  const store = { fileContent: () => undefined };
  const rules = {
    clock: systemClock,
    random: () => 0.5,
    bounds: { patienceMs: 600_000, baseMs: 1, maxMs: 20 },
    stallMs: 600_000,
    rate: () => undefined,
  };
  const registry = {
    openBlob: async (_image: object, _blob: object, { offset = 0 }: { readonly offset?: number }) => {
      const chunks = Array.from({ length: Math.ceil((bytes - offset) / 50_000) }, (_, index) =>
        upload.packed.subarray(offset + index * 50_000, offset + (index + 1) * 50_000),
      );
      return { stream: Readable.from(chunks), status: 206 as const, offset, host: "service.example" };
    },
  };
  const parts = new PartStore(join(stateDir, "downloads"));
  const fetcher = new FileFetcher({
    store,
    blobs: new BlobDownloader({ registry, parts, makeRoom: async () => false, rules }),
    locate: () => ({ registry: "service.example", repository: "uploads", auth: { kind: "token", token: "t" } }),
    gate: OPEN_GATE,
    ledger,
    pullSlots: new Semaphore(1),
    maxDownloadBytes: undefined,
    stateDir,
    freeBytes: async () => undefined,
    clock: systemClock,
    logger: captureLogText().logger,
  });
  await fetcher.fetch({ record, emit: () => {}, signal });
  const context = { engine, host: { readMounts: async () => [] }, store, config: { stateDir }, signal };
  await placeFiles(context, { spec, name: placeName(record.id), image: async () => IMAGE });
}

function filesIn(directory: string): string[] {
  const all = readdirSync(directory, { recursive: true, withFileTypes: true });
  return all.flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name).slice(directory.length + 1)] : [],
  );
}

let points = 0;
afterAll(() => console.log(`${points} points tried`));

test("a kill at any change of the disk loses nothing, costs no byte twice, and leaves nothing behind", async () => {
  for (let at = 1; ; at++) {
    await using home = await tempDir(IN_MEMORY);
    const stateDir = home.path;
    const [before, after] = [new CountingLedger(), new CountingLedger()];
    let diedAt: string | undefined;
    {
      using disk = new DyingDisk(stateDir, at);
      await live(stateDir, before).catch((error: unknown) => {
        if (disk.diedAt === undefined) throw error;
      });
      diedAt = disk.diedAt;
    }
    const point = `change ${at}, of ${diedAt?.slice(stateDir.length) ?? "none"}`;
    await live(stateDir, after);
    const place = `files/${placeName(record.id)}/0.d`;
    const expected = [`uploads/${upload.file.sha256}.${size}.tar`, ...TILES.map(({ path }) => `${place}/${path}`)];
    expect(filesIn(stateDir).toSorted(), point).toEqual(expected.toSorted());
    for (const { path, content } of TILES)
      expect(content.equals(readFileSync(join(stateDir, place, path))), point).toBe(true);
    // Once it was fetched as a whole, it costs nothing any more.
    const isFetched = /^\/(uploads|files)/.test(diedAt?.slice(stateDir.length) ?? "/files");
    expect(after.bytes(), point).toBeLessThanOrEqual(isFetched ? 0 : bytes);
    expect(before.bytes() + after.bytes(), point).toBeLessThanOrEqual(bytes + MAX_LOST_BYTES);
    removeUnusedFetched(stateDir, { apps: () => [], deployments: () => [] });
    removeOtherPlaces(stateDir, []);
    expect(filesIn(stateDir), point).toEqual([]);
    if (diedAt === undefined) break;
    points++;
  }
  expect(points).toBeGreaterThan(40);
});
