import { expect, test } from "vitest";
import { MAX_UPLOADS_BYTES } from "../../../src/control-plane/store/uploads.ts";
import { startFleetRig } from "../../support/fleets/fleet-rig.ts";
import { SimulatedDevice } from "../../support/fleets/simulated-device.ts";
import { noise, putAll, putPiece, sha256Of, someUpload } from "../../support/uploads/upload.ts";

test("a rollout brings one upload to each member, which fetches it while its own deployment goes on", async () => {
  await using rig = await startFleetRig(0);
  const { control, account, api } = rig;
  await using devices = new AsyncDisposableStack();
  const upload = someUpload(noise(200_000));
  const get = async (token: string) => {
    const path = `/v2/uploads/blobs/sha256:${upload.sha256}`;
    const response = await fetch(control.url + path, { headers: { Authorization: `Bearer ${token}` } });
    return { status: response.status, sha256: sha256Of(Buffer.from(await response.arrayBuffer())) };
  };
  const fetched = new Map<string, object>();
  const tokens: string[] = [];
  for (let number = 0; number < 3; number++) {
    const { uuid, deviceToken } = await control.asset(account);
    await api.put(`/v1/assets/${uuid}/tags`, { role: "kiosk" });
    const device = devices.use(new SimulatedDevice(control.agentUrl, deviceToken));
    device.behave = async ({ request }) => {
      expect(request.apps[0]?.app["files"]).toEqual([upload.file]);
      fetched.set(deviceToken, await get(deviceToken));
      return "succeed" as const;
    };
    await device.connect();
    tokens.push(deviceToken);
  }
  await putAll(api, upload);
  await rig.fleet("kiosks");
  expect(await rig.revision("kiosks", "one", { files: [upload.file] })).toBe(1);
  // However long it takes until it is rolled out.
  expect(await control.store.uploads.removeUnused(Number.MAX_SAFE_INTEGER, 10)).toBe(0);
  const id = await rig.rollOut("kiosks");
  expect(await rig.reach("kiosks", id, "succeeded")).toMatchObject({ counts: { succeeded: 3 } });
  expect([...fetched.keys()].toSorted()).toEqual(tokens.toSorted());
  for (const result of fetched.values()) expect(result).toEqual({ status: 200, sha256: upload.sha256 });
  for (const token of tokens) expect((await get(token)).status).toBe(404);
});

test("uploads of revisions that are not in use give way; such a revision is not rolled out, and a refusal says what holds the room", async () => {
  await using rig = await startFleetRig(0);
  const { control, account, api } = rig;
  const { uploads } = control.store;
  await rig.fleet("kiosks");
  const files = [1, 2, 3].map((number) => someUpload(noise(1_000, `${number}`)));
  const longAgo = 1_000;
  for (const [index, upload] of files.entries()) {
    await putAll(api, upload);
    expect(await rig.revision("kiosks", `v${index}`, { files: [upload.file] })).toBe(index + 1);
    await uploads.useUpload(
      { accountId: account.accountId, sha256: upload.sha256 },
      upload.packed.length,
      longAgo + index,
    );
  }
  // As an upload that was begun long ago.
  const fill = async (name: string, bytes: number, at = longAgo) => {
    const key = { accountId: account.accountId, sha256: sha256Of(Buffer.from(name)) };
    return await uploads.addPiece(key, { bytes, position: 0, content: Buffer.from("x") }, at);
  };
  const now = Math.floor(Date.now() / 1000);
  const used = files.reduce((sum, { packed }) => sum + packed.length, 0);
  expect(await fill("much", MAX_UPLOADS_BYTES / 2, now)).toBe("added");
  expect(await fill("the rest", MAX_UPLOADS_BYTES / 2 - used, now)).toBe("added");
  const next = someUpload(noise(500, "next"));
  await putAll(api, next);
  const listed = async () => {
    const { body } = await api.get("/v1/uploads");
    return new Set((body["uploads"] as { sha256: string }[]).map(({ sha256 }) => sha256));
  };
  const kept = await listed();
  expect(files.map(({ sha256 }) => kept.has(sha256))).toEqual([false, true, true]);
  const refused = await api.post("/v1/fleets/kiosks/rollouts", { revision: 1 });
  expect(refused).toMatchObject({ status: 422, body: { code: "InvalidRequest" } });
  expect(refused.body["message"]).toContain("revision 1 needs an upload that was removed to make room");
  const last = someUpload(noise(3_000, "last"));
  const full = await putPiece(api, last, 0);
  expect(full).toMatchObject({ status: 429, body: { code: "QuotaExceeded" } });
  expect(full.body["message"]).toMatch(
    /less than 1 MiB by revision 3 of the fleet kiosks, 512 MiB by uploads of the last hour/,
  );
  expect((await api.post("/v1/fleets/kiosks/rollouts", { revision: 3 })).status).toBe(201);
});
