import { join } from "node:path";
import { expect, test } from "vitest";
import { BlobDownloader } from "../../../src/agent/download/blob-download.ts";
import { PartStore } from "../../../src/agent/download/part-store.ts";
import { readWhole } from "../../../src/agent/files/content.ts";
import { findFetched } from "../../../src/agent/files/fetched-contents.ts";
import { FileFetcher } from "../../../src/agent/files/fetcher.ts";
import { OPEN_GATE } from "../../../src/agent/ledger/pull-gate.ts";
import { openSqliteStore } from "../../../src/agent/store/sqlite-store.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { Semaphore } from "../../../src/lib/semaphore.ts";
import type { EventContent } from "../../../src/protocol/deployments/deployment-event.ts";
import { apiClient } from "../../support/api-client.ts";
import { startControlPlane } from "../../support/control-plane.ts";
import { CountingLedger } from "../../support/counting-ledger.ts";
import { plainClient } from "../../support/download/layer-rig.ts";
import { openStream } from "../../support/event-stream.ts";
import { LossyLink } from "../../support/link/lossy-link.ts";
import { captureLogText } from "../../support/captured-log.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { noise, putAll, someUpload } from "../../support/uploads/upload.ts";
import { waitFor } from "../../support/wait-for.ts";

const KIB = 1024;
const HEADER_BYTES = 4 * 1024;
/** What a connection may lose when it breaks off, with the headers of its response. */
const PER_CUT_BYTES = 64 * 1024 + HEADER_BYTES;

test("4 MiB arrive over a link that breaks every 512 KiB, with a kill in the middle, and no byte is paid twice", async () => {
  await using control = await startControlPlane();
  const account = await control.account();
  const { uuid, deviceToken } = await control.asset(account);
  const api = apiClient(control, account);
  const upload = someUpload(noise(4_096 * KIB));
  await putAll(api, upload);
  await openStream(`${control.url}/v1/assets/${uuid}/edge/apps`, {
    apiKey: account.apiKey,
    method: "POST",
    body: { name: "map", image: "map:1", files: [upload.file], wait_for_device_s: 3_600 },
  });
  await using link = await LossyLink.to(control.server.port, { cutAfter: 512 * KIB, holdAt: 2_048 * KIB });
  await using directory = await tempDir();
  const store = openSqliteStore({ path: ":memory:", clock: systemClock, bootId: "boot" });
  const ledger = new CountingLedger();
  const events: EventContent[] = [];
  const { sha256, upload: packed } = upload.file;
  const record = {
    id: "dep_1",
    app: "map",
    spec: undefined,
    options: {},
    fetches: [{ sha256, size: packed.size, upload: { sha256: packed.sha256, bytes: packed.bytes } }],
  };
  /** As a process has it that has just started: only what is on disk is known. */
  const begin = (signal: AbortSignal) => {
    const parts = new PartStore(join(directory.path, "downloads"));
    const bounds = { patienceMs: 600_000, baseMs: 1, maxMs: 20 };
    const rules = { clock: systemClock, random: () => 0.5, bounds, stallMs: 600_000, rate: () => undefined };
    const fetcher = new FileFetcher({
      store,
      blobs: new BlobDownloader({ registry: plainClient(), parts, makeRoom: async () => false, rules }),
      locate: () => ({ registry: link.host, repository: "uploads", auth: { kind: "token", token: deviceToken } }),
      gate: OPEN_GATE,
      ledger,
      pullSlots: new Semaphore(1),
      maxDownloadBytes: undefined,
      stateDir: directory.path,
      freeBytes: async () => undefined,
      clock: systemClock,
      logger: captureLogText().logger,
    });
    return fetcher.fetch({ record, emit: (event) => void events.push(event), signal });
  };
  const killed = new AbortController();
  const first = begin(killed.signal);
  // All that was delivered has been read: what is in the buffers of the machine would be lost.
  const isRead = () => ledger.bytes() >= link.received - link.connections * HEADER_BYTES;
  await waitFor("the link to stand still", () => link.received >= 2_048 * KIB && isRead());
  killed.abort(new Error("killed"));
  await expect(first).rejects.toThrow("killed");
  link.conditions = { cutAfter: 512 * KIB };
  await begin(new AbortController().signal);
  expect(upload.content.equals(await readWhole(findFetched(directory.path, sha256)!))).toBe(true);
  expect(link.cuts).toBeGreaterThanOrEqual(7);
  expect(link.received).toBeLessThanOrEqual(packed.bytes + link.connections * PER_CUT_BYTES);
  expect(ledger.bytes()).toBeLessThanOrEqual(link.received);
  // Nothing is left of the download, and it does not begin again.
  expect(await new PartStore(join(directory.path, "downloads")).idle()).toEqual([]);
  const before = link.connections;
  expect(await begin(new AbortController().signal)).toEqual([]);
  expect(link.connections).toBe(before);
  store[Symbol.dispose]();
});
