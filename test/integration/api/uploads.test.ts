import { afterAll, beforeAll, expect, test } from "vitest";
import { MAX_UPLOADS } from "../../../src/control-plane/store/uploads.ts";
import { MAX_UPLOAD_BYTES, UPLOAD_PIECE_BYTES } from "../../../src/protocol/apps/uploads.ts";
import { type ApiClient, apiClient } from "../../support/api-client.ts";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { openStream } from "../../support/event-stream.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { noise, putAll, putPiece, sha256Of, type SomeUpload, someUpload } from "../../support/uploads/upload.ts";

const NOW = 1_800_000_000;

let control: ControlPlane;
let account: TestAccount;
let api: ApiClient;
beforeAll(async () => {
  control = await startControlPlane();
  account = await control.account();
  api = apiClient(control, account);
});
afterAll(() => control[Symbol.asyncDispose]());

const blobPath = (sha256: string) => `/v2/uploads/blobs/sha256:${sha256}`;
const getBlob = (token: string, sha256: string, headers: Readonly<Record<string, string>> = {}, method = "GET") =>
  fetch(control.url + blobPath(sha256), { method, headers: { Authorization: `Bearer ${token}`, ...headers } });
const bytesOf = async (response: Response) => Buffer.from(await response.arrayBuffer());

const deploy = ({ uuid }: TestAsset, { file }: Pick<SomeUpload, "file">, query = "", by = account) =>
  openStream(`${control.url}/v1/assets/${uuid}/edge/apps${query}`, {
    apiKey: by.apiKey,
    method: "POST",
    body: { name: "map", image: "map:1", files: [file] },
  });

test("a content is uploaded in pieces, and complete when all are there", async () => {
  const upload = someUpload(noise(2 * UPLOAD_PIECE_BYTES, "pieces"));
  const { sha256, packed } = upload;
  expect(await putPiece(api, upload, 2)).toMatchObject({
    status: 200,
    body: { sha256, bytes: packed.length, received_bytes: packed.length - 2 * UPLOAD_PIECE_BYTES, complete: false },
  });
  await putPiece(api, upload, 0);
  // Again, as after a response that was lost.
  expect((await putPiece(api, upload, 0)).body).toMatchObject({ received_bytes: packed.length - UPLOAD_PIECE_BYTES });
  expect((await putPiece(api, upload, 1)).body).toMatchObject({ complete: true, received_bytes: packed.length });
  expect((await putPiece(api, upload, 1)).body).toMatchObject({ complete: true });
  const { body } = await api.get("/v1/uploads");
  expect(body["uploads"]).toContainEqual(expect.objectContaining({ sha256, bytes: packed.length, complete: true }));
  const audit = await api.get("/v1/audit?action=upload.");
  const entries = (audit.body["entries"] as { subject: { id: string } }[]).filter(
    ({ subject }) => subject.id === sha256,
  );
  expect(entries).toHaveLength(1);
});

test("bytes that do not have the hash are removed, and can be sent right then", async () => {
  const upload = someUpload(noise(UPLOAD_PIECE_BYTES, "wrong"));
  const { sha256, packed } = upload;
  const wrong = Buffer.from(packed);
  wrong[5]! ^= 1;
  await putPiece(api, upload, 1);
  expect(await putPiece(api, { sha256, packed: wrong }, 0)).toMatchObject({
    status: 422,
    body: { code: "InvalidRequest" },
  });
  expect(await control.store.uploads.findUpload({ accountId: account.accountId, sha256 })).toBeUndefined();
  expect(await control.store.uploads.readPiece({ accountId: account.accountId, sha256 }, 0)).toBeUndefined();
  await putAll(api, upload);
});

test.each([
  ["a piece that is too short", 0, 10, 9],
  ["a piece that is too long", 0, 10, 11],
  ["a piece behind the end", 1, 10, 10],
  ["an upload that is too large", 0, MAX_UPLOAD_BYTES + 1, 10],
])("%s is refused", async (what, number, bytes, length) => {
  const body = { bytes, content_base64: noise(length, what).toString("base64") };
  const path = `/v1/uploads/${sha256Of(Buffer.from(what))}/pieces/${number}`;
  expect(await api.put(path, body)).toMatchObject({ status: 422, body: { code: "InvalidRequest" } });
  expect(
    await control.store.uploads.findUpload({ accountId: account.accountId, sha256: sha256Of(Buffer.from(what)) }),
  ).toBeUndefined();
});

test("an upload that was begun with another size is refused", async () => {
  const path = `/v1/uploads/${sha256Of(Buffer.from("other size"))}/pieces/0`;
  const piece = { content_base64: noise(UPLOAD_PIECE_BYTES).toString("base64") };
  expect(await api.put(path, { ...piece, bytes: UPLOAD_PIECE_BYTES + 1 })).toMatchObject({ status: 200 });
  expect(await api.put(path, { ...piece, bytes: UPLOAD_PIECE_BYTES + 2 })).toMatchObject({ status: 422 });
});

test("a device fetches what a deployment that it carries out names, from any byte on, and no other device does", async () => {
  const upload = someUpload(noise(UPLOAD_PIECE_BYTES + 1_000, "fetched"));
  const { sha256, packed, file } = upload;
  await putAll(api, upload);
  const [asset, neighbour] = [await control.asset(account), await control.asset(account)];
  const stranger = await control.account();
  const foreign = await control.asset(stranger);
  await putAll(apiClient(control, stranger), upload);
  await using device = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
  expect((await getBlob(asset.deviceToken, sha256)).status).toBe(404);
  const stream = await deploy(asset, upload);
  expect(await device.next("deploy")).toMatchObject({ spec: { files: [file] } });
  const whole = await getBlob(asset.deviceToken, sha256);
  expect([whole.status, whole.headers.get("docker-content-digest")]).toEqual([200, `sha256:${sha256}`]);
  expect((await bytesOf(whole)).equals(packed)).toBe(true);
  const rest = await getBlob(asset.deviceToken, sha256, { Range: `bytes=${UPLOAD_PIECE_BYTES - 1}-` });
  expect([rest.status, (await bytesOf(rest)).equals(packed.subarray(UPLOAD_PIECE_BYTES - 1))]).toEqual([206, true]);
  const head = await getBlob(asset.deviceToken, sha256, {}, "HEAD");
  expect([head.status, head.headers.get("content-length")]).toEqual([200, `${packed.length}`]);
  // Who knows the hash has no right by that.
  for (const token of [neighbour.deviceToken, foreign.deviceToken]) {
    const refused = await getBlob(token, sha256);
    expect([refused.status, await refused.json()]).toMatchObject([404, { errors: [{ code: "BLOB_UNKNOWN" }] }]);
  }
  for (const token of [account.apiKey, "ed_wrong"]) expect((await getBlob(token, sha256)).status).toBe(401);
  expect((await getBlob(asset.deviceToken, sha256.toUpperCase())).status).toBe(404);
  device.event(stream.deploymentId, { status: "Success", step: "done", message: "App map is running." });
  expect(await stream.ended).toBe(true);
  expect((await getBlob(asset.deviceToken, sha256)).status).toBe(404);
});

test("a request that names an upload which the account does not have becomes no deployment; a dry run does", async () => {
  const upload = someUpload(noise(2_000, "missing"));
  const asset = await control.asset(account);
  const stranger = await control.account();
  await putAll(apiClient(control, stranger), upload);
  const refused = await deploy(asset, upload);
  await refused.ended;
  expect(refused.events).toMatchObject([
    { status: "Fail", code: "InvalidRequest", deployment_id: "", details: { issues: [{ path: "files[0].upload" }] } },
  ]);
  await using device = await FakeDevice.connect(control.agentUrl, asset.deviceToken);
  await deploy(asset, upload, "?dry_run=true");
  expect(await device.next("deploy")).toMatchObject({ options: { dry_run: true } });
  const apply = await openStream(`${control.url}/v1/assets/${asset.uuid}/edge/apply`, {
    apiKey: account.apiKey,
    method: "POST",
    body: { project: "maps", apps: [{ app: { name: "map", image: "map:1", files: [upload.file] } }] },
  });
  await apply.ended;
  expect(apply.events).toMatchObject([{ details: { issues: [{ path: "apps[0].app.files[0].upload" }] } }]);
});

test.each([
  ["without the hash of the content", { sha256: undefined }],
  ["with a content", { sha256: undefined, content: "x" }],
  ["of a secret", { secret: true }],
])("an upload %s is refused", async (_what, fields) => {
  const upload = someUpload(noise(1_000, "shape"));
  await putAll(api, upload);
  const stream = await deploy(await control.asset(account), {
    file: { ...upload.file, ...fields } as SomeUpload["file"],
  });
  await stream.ended;
  expect(stream.events).toMatchObject([{ status: "Fail", code: "InvalidRequest" }]);
});

test("a revision of a fleet keeps its uploads, and is refused without them", async () => {
  const upload = someUpload(noise(1_000, "fleet"));
  await api.post("/v1/fleets", { name: "maps", selector: "*", apps: ["map"] });
  const image = `registry.example.com/map@sha256:${"1".repeat(64)}`;
  const revision = { apps: [{ app: { name: "map", image, files: [upload.file] } }] };
  const make = () => api.post("/v1/fleets/maps/revisions", revision);
  expect(await make()).toMatchObject({
    status: 422,
    body: { details: { issues: [{ path: "apps[0].app.files[0].upload" }] } },
  });
  await putAll(api, upload);
  expect(await make()).toMatchObject({ status: 201 });
  // Whatever its age.
  await control.store.uploads.removeUnused(Math.floor(Date.now() / 1000) + 1_000_000, 1_000, account.accountId);
  expect(await control.store.uploads.findUpload({ accountId: account.accountId, sha256: upload.sha256 })).toBeDefined();
  expect((await api.get("/v1/fleets/maps/revisions/1")).body["entries"]).toMatchObject([
    { app: { files: [{ target: upload.file.target, size: upload.content.length }] } },
  ]);
});

test("an account that has as many uploads as it may gets the room of those that nothing needs for an hour", async () => {
  const clock = new FakeClock(NOW * 1000);
  await using own = await startControlPlane({ clock });
  const tenant = await own.account();
  const { uploads } = own.store;
  for (let number = 0; number < MAX_UPLOADS; number++) {
    const key = { accountId: tenant.accountId, sha256: sha256Of(Buffer.from(`${number}`)) };
    await uploads.addPiece(
      key,
      { bytes: 1, position: 0, content: Buffer.from("x") },
      NOW - (number === 7 ? 3_601 : 3_000),
    );
  }
  const client = apiClient(own, tenant);
  await putAll(client, someUpload(Buffer.from("one more")));
  expect(await uploads.findUpload({ accountId: tenant.accountId, sha256: sha256Of(Buffer.from("7")) })).toBeUndefined();
  const refused = await putPiece(client, someUpload(Buffer.from("another")), 0);
  expect(refused).toMatchObject({ status: 429, body: { code: "QuotaExceeded", details: { quota: "uploads" } } });
});
