import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { readDirectoryArchive } from "../../../src/lib/directory-archive.ts";
import type { FileUpload } from "../../../src/protocol/apps/uploads.ts";
import { apiClient } from "../../support/api-client.ts";
import { startControlPlane } from "../../support/control-plane.ts";
import { edgectlUser } from "../../support/edgectl/process.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { noise, sha256Of } from "../../support/uploads/upload.ts";

const SERIAL = "GW-2026-000123";
const HASH = "0123456789abcdef".repeat(4);
const COMPOSE = `services: {map: {image: "map:1", restart: always, volumes: ["./tiles:/tiles"]}}`;

interface SentFile {
  readonly sha256: string;
  readonly upload: FileUpload;
}

const filesOf = (frame: object): SentFile[] =>
  (frame as { request: { apps: { app: { files: SentFile[] } }[] } }).request.apps.flatMap(({ app }) => app.files);

test("a directory that no request takes is uploaded once, after the dry run, without being told to", async () => {
  await using plane = await startControlPlane();
  await using user = await edgectlUser();
  const account = await plane.account();
  const api = apiClient(plane, account);
  const { uuid, deviceToken } = await plane.asset(account, { serialNumber: SERIAL });
  await using device = await FakeDevice.connect(plane.agentUrl, deviceToken);
  const directory = join(user.configDirectory, "maps");
  await mkdir(join(directory, "tiles"), { recursive: true });
  await writeFile(join(directory, "compose.yaml"), COMPOSE);
  const tiles = noise(2_000_000);
  await writeFile(join(directory, "tiles/1.png"), tiles);
  const env = { EDGECTL_URL: plane.url, EDGECTL_API_KEY: account.apiKey };
  const args = ["apply", SERIAL, "-f", join(directory, "compose.yaml"), "--yes"];

  for (const isFirst of [true, false]) {
    await using command = user.start(args, { env });
    const dryRun = await device.next("apply");
    const [planned] = filesOf(dryRun);
    const key = { accountId: account.accountId, sha256: planned?.upload.sha256 ?? "" };
    expect(await plane.store.uploads.findUpload(key)).toEqual(
      isFirst ? undefined : expect.objectContaining({ isComplete: true }),
    );
    device.event(dryRun.deployment_id, {
      status: "Success",
      step: "done",
      message: "Nothing was changed.",
      details: {
        dry_run: true,
        plan: [{ app: "maps.map", change: "create", fields: [] }],
        plan_hash: HASH,
        download_bytes: planned?.upload.bytes,
      },
    });
    const real = await device.next("apply");
    const [sent] = filesOf(real);
    expect(sent).toEqual(planned);
    const response = await fetch(`${plane.url}/v2/uploads/blobs/sha256:${key.sha256}`, {
      headers: { Authorization: `Bearer ${deviceToken}` },
    });
    const packed = Buffer.from(await response.arrayBuffer());
    expect([packed.length, sha256Of(packed)]).toEqual([sent?.upload.bytes, key.sha256]);
    const archive = gunzipSync(packed);
    expect([archive.length, sha256Of(archive)]).toEqual([sent?.upload.size, sent?.sha256]);
    const [tile] = readDirectoryArchive(archive);
    expect([tile?.path, tiles.equals(tile?.content ?? Buffer.alloc(0))]).toEqual(["1.png", true]);
    device.event(real.deployment_id, {
      status: "Success",
      step: "done",
      message: "maps is applied.",
      details: { changed: ["maps.map"], removed: [], unchanged: [] },
    });
    expect(await command.exited).toBe(0);
    const note = "Sending 2.00 MB of files to the service";
    expect(command.stderr().includes(note), command.stderr()).toBe(isFirst);
  }
  expect((await api.get("/v1/uploads")).body["uploads"]).toHaveLength(1);
  const { body } = await api.get(`/v1/assets/${uuid}/edge/deployments`);
  expect(body["deployments"]).toHaveLength(4);
});

test("a single app with a large file is deployed the same way", async () => {
  await using plane = await startControlPlane();
  await using user = await edgectlUser();
  const account = await plane.account();
  const { deviceToken } = await plane.asset(account, { serialNumber: SERIAL });
  await using device = await FakeDevice.connect(plane.agentUrl, deviceToken);
  const path = join(user.configDirectory, "model.bin");
  await writeFile(path, noise(1_000_000));
  const env = { EDGECTL_URL: plane.url, EDGECTL_API_KEY: account.apiKey };
  const args = ["deploy", SERIAL, "--name", "model", "--image", "model:1", "--file", `${path}:/model.bin`];
  await using command = user.start(args, { env });
  const deploy = await device.next("deploy");
  expect(deploy).toMatchObject({ spec: { files: [{ target: "/model.bin", upload: { size: 1_000_000 } }] } });
  device.event(deploy.deployment_id, { status: "Success", step: "done", message: "App model is running." });
  expect(await command.exited).toBe(0);
});
