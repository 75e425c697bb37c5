import { connect } from "node:net";
import { expect, test } from "vitest";
import {
  MAX_TRANSFERS,
  MAX_TRANSFERS_PER_DEVICE,
  RELEASE_REQUESTS,
} from "../../../src/control-plane/api/releases/serve-releases.ts";
import { removeRelease } from "../../../src/control-plane/releases/add-release.ts";
import { type AgentReleaseStore, PIECE_BYTES } from "../../../src/control-plane/store/agent-releases.ts";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { digestOf } from "../../../src/lib/release/read-release.ts";
import { captureLogText } from "../../support/captured-log.ts";
import { createAccount, createAsset } from "../../support/control-plane.ts";
import { someAudit } from "../../support/control-plane/people.ts";
import { addSomeRelease, BLOBS, bytesOf, serveRelease } from "../../support/control-plane/served-release.ts";
import { TestInstances } from "../../support/control-plane/test-instances.ts";
import { withProperty } from "../../support/control-plane/with-property.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { waitFor } from "../../support/wait-for.ts";
import { whileTimePasses } from "../../support/while-time-passes.ts";

/** Holds back reads of pieces from a position on until they are let go. */
function heldPieces(from = 0) {
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  let reads = 0;
  const decorateStore = (plain: Store): Store => {
    const readPiece: AgentReleaseStore["readPiece"] = async (digest, position) => {
      if (position >= from) {
        reads++;
        await released;
      }
      return plain.agentReleases.readPiece(digest, position);
    };
    return withProperty(plain, "agentReleases", withProperty(plain.agentReleases, "readPiece", readPiece));
  };
  return { decorateStore, release, reads: () => reads };
}

/** The others wait for the clock. */
async function firstRefusal(requests: readonly Promise<number>[]): Promise<number> {
  return await new Promise((resolve) => {
    for (const request of requests) void request.then((status) => status !== 200 && resolve(status));
  });
}

test("200 devices at once get every byte", async () => {
  const { control, layer, layerPath } = await serveRelease();
  const account = await control.account();
  const devices = await Promise.all(Array.from({ length: 200 }, () => control.asset(account)));
  const bodies = await Promise.all(
    devices.map(async ({ deviceToken }) => {
      const headers = { Authorization: `Bearer ${deviceToken}` };
      return await bytesOf(await fetch(`${control.url}${layerPath}`, { headers }));
    }),
  );
  expect(bodies.filter((body) => !body.equals(layer))).toEqual([]);
});

test("one device has few transfers at once, and gets its places back when it is gone", async () => {
  const held = heldPieces();
  const { get, layer, layerPath, control, token } = await serveRelease({ decorateStore: held.decorateStore });
  const leaving = new AbortController();
  const headers = { Authorization: `Bearer ${token}` };
  const open = Array.from({ length: MAX_TRANSFERS_PER_DEVICE }, () =>
    fetch(`${control.url}${layerPath}`, { headers, signal: leaving.signal }),
  );
  await waitFor("the transfers", () => held.reads() === MAX_TRANSFERS_PER_DEVICE);
  const refused = await get(layerPath);
  expect([refused.status, refused.headers.get("retry-after")]).toEqual([429, "5"]);
  expect(await refused.json()).toMatchObject({ errors: [{ code: "TOOMANYREQUESTS" }] });
  // Documents, and the facts about a part, take no place.
  expect((await get(layerPath, {}, "HEAD")).status).toBe(200);
  leaving.abort();
  await Promise.allSettled(open);
  held.release();
  const body = await waitFor("a place", async () => {
    const response = await get(layerPath);
    const bytes = await bytesOf(response);
    return response.status === 200 && bytes;
  });
  expect(body.equals(layer)).toBe(true);
});

test("above the transfers of the instance devices are told to come later", async () => {
  const held = heldPieces();
  const { control, get, layerPath } = await serveRelease({ decorateStore: held.decorateStore });
  const account = await control.account();
  const devices = await Promise.all(
    Array.from({ length: MAX_TRANSFERS / MAX_TRANSFERS_PER_DEVICE }, () => control.asset(account)),
  );
  const open = devices.flatMap(({ deviceToken }) => {
    const headers = { Authorization: `Bearer ${deviceToken}` };
    return Array.from({ length: MAX_TRANSFERS_PER_DEVICE }, () => fetch(`${control.url}${layerPath}`, { headers }));
  });
  await waitFor("the transfers", () => held.reads() === MAX_TRANSFERS);
  const refused = await get(layerPath);
  expect(refused.status).toBe(503);
  expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
  held.release();
  for (const response of await Promise.all(open)) await response.body?.cancel();
  await waitFor("a place", async () => {
    const response = await get(layerPath, { Range: "bytes=0-0" });
    await response.arrayBuffer();
    return response.status === 206;
  });
});

test("a device that takes nothing is cut off, and only what it could take was read for it", async () => {
  const clock = new FakeClock();
  const log = captureLogText();
  let reads = 0;
  const { control, layerPath, token } = await serveRelease(
    {
      clock,
      logger: log.logger,
      decorateStore: (plain) =>
        withProperty(
          plain,
          "agentReleases",
          withProperty(plain.agentReleases, "readPiece", async (...place) => {
            reads++;
            return plain.agentReleases.readPiece(...place);
          }),
        ),
    },
    32 * 1024 * 1024,
  );
  const socket = connect(control.server.port, "127.0.0.1");
  socket.pause();
  const closed = new Promise<void>((resolve) => {
    socket.once("close", () => resolve());
    socket.on("error", () => undefined);
  });
  socket.write(`GET ${layerPath} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n\r\n`);
  await waitFor("the cut", async () => {
    await clock.advance(10_000);
    return log.text().includes("its transfer is cut");
  });
  expect(reads).toBeGreaterThan(0);
  expect(reads * PIECE_BYTES).toBeLessThan(32 * 1024 * 1024);
  socket.resume();
  await closed;
});

test("a device that asks too often waits, and is refused then", async () => {
  const clock = new FakeClock();
  const { get } = await serveRelease({ clock });
  // Those that wait do so for 2 s at most.
  const waiting = 2 * RELEASE_REQUESTS.perSecond + 1;
  const requests = Array.from({ length: RELEASE_REQUESTS.burst + waiting + 1 }, async () => (await get("/v2/")).status);
  expect(await firstRefusal(requests)).toBe(429);
  const statuses = await whileTimePasses(clock, Promise.all(requests));
  expect(statuses.filter((status) => status === 200).length).toBeGreaterThanOrEqual(RELEASE_REQUESTS.burst);
});

test("a release that is removed meanwhile ends the transfer before its end", async () => {
  const held = heldPieces(1);
  const { control, get, layerPath } = await serveRelease({ decorateStore: held.decorateStore });
  const response = await get(layerPath);
  expect(response.status).toBe(200);
  const body = bytesOf(response);
  body.catch(() => undefined);
  await waitFor("the second piece", () => held.reads() === 1);
  await removeRelease(control.store.agentReleases, "1.5.0", someAudit("agent_release.removed", ""));
  held.release();
  await expect(body).rejects.toThrow();
  expect((await get(layerPath)).status).toBe(404);
});

test("a release that is removed before its first byte is not found", async () => {
  const held = heldPieces();
  const { control, get, layerPath } = await serveRelease({ decorateStore: held.decorateStore });
  const response = get(layerPath, { Range: "bytes=0-9" });
  await waitFor("the first piece", () => held.reads() === 1);
  await removeRelease(control.store.agentReleases, "1.5.0", someAudit("agent_release.removed", ""));
  held.release();
  const { status, headers } = await response;
  expect([status, headers.get("content-range"), headers.get("etag")]).toEqual([404, null, null]);
  expect(await (await response).json()).toMatchObject({ errors: [{ code: "BLOB_UNKNOWN" }] });
});

test("every instance serves the same releases", async () => {
  await using instances = await TestInstances.open();
  const [a, b] = [await instances.start(), await instances.start()];
  const release = await addSomeRelease(instances.store, "1.5.0");
  const clock = new FakeClock();
  const account = await createAccount(instances.store, clock);
  const { deviceToken } = await createAsset(instances.store, clock, account);
  const layer = release.layers["amd64"]!;
  for (const { url } of [a, b]) {
    const headers = { Authorization: `Bearer ${deviceToken}` };
    const body = await bytesOf(await fetch(`${url}${BLOBS}/${digestOf(layer)}`, { headers }));
    expect(body.equals(layer)).toBe(true);
  }
});
