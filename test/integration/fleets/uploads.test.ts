import { expect, test } from "vitest";
import { startFleetRig } from "../../support/fleets/fleet-rig.ts";
import { SimulatedDevice } from "../../support/fleets/simulated-device.ts";
import { noise, putAll, sha256Of, someUpload } from "../../support/uploads/upload.ts";

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
