import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { MAX_UPLOADS } from "../../src/control-plane/store/uploads.ts";
import { apiClient } from "../support/api-client.ts";
import { type ControlPlane, startControlPlane } from "../support/control-plane.ts";
import { openStream } from "../support/event-stream.ts";
import { noise, putAll, putPiece, sha256Of, someUpload } from "../support/uploads/upload.ts";

const KIB = 1024;

let control: ControlPlane;
beforeAll(async () => {
  control = await startControlPlane();
});
afterAll(() => control[Symbol.asyncDispose]());

test("a piece whose body has no end is refused at the bound of a request, and nothing of it is stored", async () => {
  const account = await control.account();
  const sha256 = sha256Of(Buffer.from("endless"));
  const sent = request(`${control.url}/v1/uploads/${sha256}/pieces/0`, {
    method: "PUT",
    headers: { "X-API-Key": account.apiKey, "Content-Type": "application/json", "Transfer-Encoding": "chunked" },
  });
  const answered = once(sent, "response") as Promise<[IncomingMessage]>;
  sent.write('{"bytes":1000000,"content_base64":"');
  // The request does not end: the response comes all the same.
  sent.write(Buffer.alloc(320 * KIB, "A"));
  expect((await answered)[0].statusCode).toBe(413);
  sent.on("error", () => {}).destroy();
  expect(await control.store.uploads.findUpload({ accountId: account.accountId, sha256 })).toBeUndefined();
});

test("an account that begins upload after upload gets no more than its number, and the others theirs", async () => {
  const [flooder, other] = [await control.account(), await control.account()];
  const { uploads } = control.store;
  const keyOf = (number: number) => ({ accountId: flooder.accountId, sha256: sha256Of(Buffer.from(`${number}`)) });
  const now = Math.floor(Date.now() / 1000);
  for (let number = 5; number < MAX_UPLOADS; number++)
    await uploads.addPiece(keyOf(number), { bytes: 9, position: 0, content: Buffer.from("x") }, now);
  const flood = apiClient(control, flooder);
  const statuses = await Promise.all(
    Array.from({ length: 30 }, async (_value, number) => {
      return (await putPiece(flood, someUpload(Buffer.from(`upload ${number}`)), 0)).status;
    }),
  );
  expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([]);
  expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(5);
  expect((await uploads.listUploads(flooder.accountId)).length).toBeLessThanOrEqual(MAX_UPLOADS);
  expect((await putAll(apiClient(control, other), someUpload(noise(10 * KIB)))).status).toBe(200);
});

test("a device that asks for an upload and reads none of it keeps no other one from its own", async () => {
  const account = await control.account();
  const upload = someUpload(noise(2_048 * KIB));
  await putAll(apiClient(control, account), upload);
  const devices = [await control.asset(account), await control.asset(account)];
  for (const { uuid } of devices) {
    await openStream(`${control.url}/v1/assets/${uuid}/edge/apps`, {
      apiKey: account.apiKey,
      method: "POST",
      body: { name: "map", image: "map:1", files: [upload.file], wait_for_device_s: 3_600 },
    });
  }
  const path = `/v2/uploads/blobs/sha256:${upload.sha256}`;
  const [lazy, eager] = devices.map(({ deviceToken }) => deviceToken);
  const sockets = Array.from({ length: 4 }, () => connect(control.server.port, "127.0.0.1").pause());
  for (const socket of sockets)
    socket.write(`GET ${path} HTTP/1.1\r\nHost: service\r\nAuthorization: Bearer ${lazy}\r\n\r\n`);
  const response = await fetch(control.url + path, { headers: { Authorization: `Bearer ${eager}` } });
  expect(sha256Of(Buffer.from(await response.arrayBuffer()))).toBe(upload.sha256);
  for (const socket of sockets) socket.destroy();
});
