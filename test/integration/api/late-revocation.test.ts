import { request } from "node:http";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test, vi } from "vitest";
import type { Store } from "../../../src/control-plane/store/store.ts";
import { Browser } from "../../support/browser.ts";
import { startControlPlane } from "../../support/control-plane.ts";
import { openStream } from "../../support/event-stream.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { waitFor } from "../../support/wait-for.ts";

async function setUp(decorateStore?: (store: Store) => Store) {
  const clock = new FakeClock(Date.now());
  const control = await startControlPlane({ clock, ...(decorateStore && { decorateStore }) });
  onTestFinished(() => control[Symbol.asyncDispose]());
  const account = await control.account();
  const admin = new Browser(control, (await control.session(account)).cookie);
  const key = await control.key(account, [], { role: "operator" });
  return { clock, control, account, admin, key };
}

test("a stream ends whose key was revoked after it was checked and before the stream was watched", async () => {
  const held = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  const { control, admin, key } = await setUp((store) => {
    const read = store.accountEvents.read.bind(store.accountEvents);
    vi.spyOn(store.accountEvents, "read").mockImplementation(async (...args) => {
      reached.resolve();
      await held.promise;
      return read(...args);
    });
    return store;
  });
  const opening = openStream(`${control.url}/v1/events`, { headers: { "X-API-Key": key.apiKey } });
  await reached.promise;
  expect(await admin.call("DELETE", `/v1/api-keys/${key.keyId}`)).toMatchObject({ status: 204 });
  held.resolve();
  using stream = await opening;
  await stream.ended;
});

/** A request whose head has been accepted and whose body follows when `finish` is called. */
async function begin(rig: Awaited<ReturnType<typeof setUp>>) {
  const { control, key } = rig;
  const body = JSON.stringify({ serial_number: "LATE-1" });
  const sent = request(`${control.url}/v1/assets`, {
    method: "POST",
    headers: { "X-API-Key": key.apiKey, "Content-Type": "application/json", "Content-Length": body.length },
  });
  const answer = new Promise<{ status: number; body: string }>((resolve, reject) => {
    sent.once("error", reject);
    sent.once("response", (response) => {
      text(response).then((content) => resolve({ status: response.statusCode ?? 0, body: content }), reject);
    });
  });
  sent.write(body.slice(0, 5));
  await waitFor("the key to be accepted", async () => {
    return (await control.store.keys.findKey(key.keyId))?.lastUsedAt !== undefined;
  });
  return {
    finish: () => {
      sent.end(body.slice(5));
      return answer;
    },
  };
}

test("a change is not made whose body came after its key was revoked", async () => {
  const rig = await setUp();
  const { finish } = await begin(rig);
  expect(await rig.admin.call("DELETE", `/v1/api-keys/${rig.key.keyId}`)).toMatchObject({ status: 204 });
  await rig.clock.advance(5_000);
  expect(await finish()).toMatchObject({ status: 401 });
  expect(await rig.control.store.assets.findAsset(rig.account.accountId, "LATE-1")).toBeUndefined();
});

test("a change whose body came late is made while its key is as it was", async () => {
  const rig = await setUp();
  const { finish } = await begin(rig);
  await rig.clock.advance(5_000);
  expect(await finish()).toMatchObject({ status: 201 });
});
