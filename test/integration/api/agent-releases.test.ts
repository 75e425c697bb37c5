import { buffer } from "node:stream/consumers";
import { describe, expect, test } from "vitest";
import { hashSecret } from "../../../src/control-plane/accounts/secrets.ts";
import { PIECE_BYTES } from "../../../src/control-plane/store/agent-releases.ts";
import { digestOf, RELEASE_TYPES } from "../../../src/lib/release/read-release.ts";
import { verifiedStatement } from "../../../src/lib/release/statement.ts";
import { BLOBS, bytesOf, MANIFESTS, serveRelease } from "../../support/control-plane/served-release.ts";
import { apiClient } from "../../support/api-client.ts";
import { openStream } from "../../support/event-stream.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { client, failure, soon } from "../../contract/registry/rig.ts";

describe("a device that fetches a release from the service", () => {
  test("gets it with the agent's own client of registries: index, signature, and its layer from any byte on", async () => {
    const { control, release, digest, layer, token } = await serveRelease();
    const registry = new URL(control.url).host;
    const auth = { kind: "token", token } as const;
    const agent = client();
    const arm64 = { os: "linux", architecture: "arm64" };
    const image = await agent.resolve(`${registry}/edge-agent:1.5.0`, arm64, auth, soon());
    expect(image).toMatchObject({ indexDigest: digest, layers: [{ size: layer.length }] });
    expect((await agent.resolve(`${registry}/edge-agent@${digest}`, arm64, auth, soon())).digest).toBe(image.digest);
    expect(await agent.headDigest(`${registry}/edge-agent:1.5.0`, auth, soon())).toBe(digest);
    const subject = { ...image, digest };
    const signature = await agent.findArtifact(subject, RELEASE_TYPES.signature, auth, soon());
    const read = async (offset: number, blob: { digest: string; size: number; mediaType: string }, length?: number) => {
      const { stream } = await agent.openBlob(image, blob, { offset, length, auth, signal: soon() });
      return await buffer(stream);
    };
    const envelope = await read(0, signature!.blobs[0]!);
    expect(verifiedStatement(envelope, [release.publicKey])).toMatchObject({ version: "1.5.0", index: digest });
    const [blob] = image.layers;
    expect((await read(0, blob!)).equals(layer)).toBe(true);
    expect((await read(PIECE_BYTES - 1, blob!)).equals(layer.subarray(PIECE_BYTES - 1))).toBe(true);
    expect((await read(PIECE_BYTES - 1, blob!, 2)).equals(layer.subarray(PIECE_BYTES - 1, PIECE_BYTES + 1))).toBe(true);
    expect(await agent.findArtifact(subject, "application/vnd.example", auth, soon())).toBeUndefined();
    const unknown = await failure(agent.resolve(`${registry}/edge-agent:9.9.9`, arm64, auth, soon()));
    expect(unknown).toMatchObject({ kind: "image_not_found" });
    const refused = await failure(
      agent.resolve(`${registry}/edge-agent:1.5.0`, arm64, { kind: "token", token: "ed_wrong" }, soon()),
    );
    expect(refused).toMatchObject({ kind: "image_denied" });
  });

  test("gets documents by version and by digest, and only documents as manifests", async () => {
    const { get, digest, layerPath } = await serveRelease();
    const byVersion = await get(`${MANIFESTS}/1.5.0`);
    expect(Object.fromEntries(byVersion.headers)).toMatchObject({
      "content-type": RELEASE_TYPES.index,
      "docker-content-digest": digest,
      "docker-distribution-api-version": "registry/2.0",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
      etag: `"${digest}"`,
    });
    const bytes = await bytesOf(byVersion);
    expect(digestOf(bytes)).toBe(digest);
    expect((await bytesOf(await get(`${MANIFESTS}/${digest}`))).equals(bytes)).toBe(true);
    const head = await get(`${MANIFESTS}/1.5.0`, {}, "HEAD");
    expect([head.status, head.headers.get("content-length"), await head.text()]).toEqual([200, `${bytes.length}`, ""]);
    expect((await get(layerPath.replace(BLOBS, MANIFESTS))).status).toBe(404);
    const version = await get("/v2/");
    expect([version.status, await version.json()]).toEqual([200, {}]);
  });

  test("gets the bytes of a range, or all if the range has no meaning", async () => {
    const { get, layer, layerPath } = await serveRelease();
    const ranges = [
      ["bytes=0-0", 206, 0, 1],
      ["bytes=100-199", 206, 100, 200],
      [`bytes=${PIECE_BYTES - 1}-${PIECE_BYTES}`, 206, PIECE_BYTES - 1, PIECE_BYTES + 1],
      [`bytes=${PIECE_BYTES}-`, 206, PIECE_BYTES, 300_000],
      ["bytes=-5", 206, 299_995, 300_000],
      ["bytes=-900000", 206, 0, 300_000],
      ["bytes=299999-999999999999999999999", 206, 299_999, 300_000],
      // What has no meaning is ignored, as the standard allows.
      ["bytes=5-4", 200, 0, 300_000],
      ["bytes=0-1,5-6", 200, 0, 300_000],
      ["bytes=a-b", 200, 0, 300_000],
      ["bytes=-", 200, 0, 300_000],
      ["bytes=0x1-2", 200, 0, 300_000],
      ["lines=0-1", 200, 0, 300_000],
      [`bytes=${"1".repeat(4000)}-`, 200, 0, 300_000],
    ] as const;
    for (const [range, status, from, to] of ranges) {
      const what = range.slice(0, 40);
      const response = await get(layerPath, { Range: range });
      expect(response.status, what).toBe(status);
      const named = status === 206 ? `bytes ${from}-${to - 1}/300000` : null;
      expect(response.headers.get("content-range"), what).toBe(named);
      expect(response.headers.get("content-length"), what).toBe(String(to - from));
      expect((await bytesOf(response)).equals(layer.subarray(from, to)), what).toBe(true);
      const head = await get(layerPath, { Range: range }, "HEAD");
      const facts = [head.status, head.headers.get("content-length"), await head.text()];
      expect(facts, what).toEqual([status, String(to - from), ""]);
    }
  });

  test("gets no range behind the end, and everything if it knows another state", async () => {
    const { get, layer, layerPath } = await serveRelease();
    for (const range of ["bytes=300000-", "bytes=999999999-", "bytes=-0"]) {
      const response = await get(layerPath, { Range: range });
      expect([response.status, response.headers.get("content-range")]).toEqual([416, "bytes */300000"]);
      expect(await response.json()).toMatchObject({ errors: [{ code: "RANGE_INVALID" }] });
    }
    const other = await get(layerPath, { Range: "bytes=1-2", "If-Range": '"another"' });
    expect([other.status, (await bytesOf(other)).length]).toEqual([200, layer.length]);
    const same = await get(layerPath, { Range: "bytes=1-2", "If-Range": `"${digestOf(layer)}"` });
    expect(same.status).toBe(206);
    await same.body?.cancel();
  });

  test("is told what there is not", async () => {
    const { get } = await serveRelease();
    const absent = [
      [`${BLOBS}/sha256:${"0".repeat(64)}`, "BLOB_UNKNOWN"],
      [`${BLOBS}/sha256:xyz`, "BLOB_UNKNOWN"],
      [`${BLOBS}/1.5.0`, "BLOB_UNKNOWN"],
      [`${BLOBS}/..%2f..%2fedge-control.sqlite`, "BLOB_UNKNOWN"],
      [`${MANIFESTS}/1.6.0`, "MANIFEST_UNKNOWN"],
      [`${MANIFESTS}/latest`, "MANIFEST_UNKNOWN"],
      [`${MANIFESTS}/%00`, "MANIFEST_UNKNOWN"],
    ] as const;
    for (const [path, code] of absent) {
      const response = await get(path);
      expect([response.status, await response.json()], path).toEqual([
        404,
        { errors: [{ code, message: expect.any(String) }] },
      ]);
      const head = await get(path, {}, "HEAD");
      expect([head.status, await head.text()], path).toEqual([404, ""]);
    }
  });

  test("gets nothing but releases, and changes nothing", async () => {
    const { get, layerPath } = await serveRelease();
    for (const path of ["/v2/other/manifests/1.5.0", "/v2/_catalog", "/v2/edge-agent/tags/list"])
      expect((await get(path)).status, path).toBe(404);
    for (const [method, path] of [
      ["PUT", `${MANIFESTS}/1.5.0`],
      ["DELETE", layerPath],
      ["POST", "/v2/"],
    ] as const)
      expect((await get(path, {}, method)).status, path).toBe(405);
    const referrers = await get(`/v2/edge-agent/referrers/sha256:${"0".repeat(64)}`);
    expect(await referrers.json()).toMatchObject({ manifests: [] });
  });
});

test("a client sees the releases of the service, and may have a device brought to one", async () => {
  const { control, digest } = await serveRelease();
  const account = await control.account();
  const reader = await control.key(account, [], { role: "viewer" });
  const listed = await apiClient(control, reader).get("/v1/agent-releases");
  const sizes = { bytes: 300_000, unpacked_bytes: 600_000 };
  const images = [
    { architecture: "amd64", ...sizes },
    { architecture: "arm64", ...sizes },
  ];
  expect(listed.body).toEqual({ agent_releases: [{ version: "1.5.0", digest, images, added_at: 1 }] });
  const { uuid, deviceToken } = await control.asset(account);
  await using device = await FakeDevice.connect(control.agentUrl, deviceToken);
  const stream = await openStream(`${control.url}/v1/assets/${uuid}/edge/agent`, {
    apiKey: account.apiKey,
    method: "POST",
    body: { version: "1.5.0" },
  });
  expect(await device.next("update_agent")).toMatchObject({
    request: { version: "1.5.0", served: { repository: "edge-agent", digest } },
  });
  device.event(stream.deploymentId, { status: "Success", step: "done", message: "Done." });
  expect(await stream.ended).toBe(true);
});

describe("releases are for devices", () => {
  test("neither keys, nor sessions, nor codes, nor tokens that are wrong or revoked get in", async () => {
    const { control, digest, layerPath, token } = await serveRelease();
    const account = await control.account();
    const { cookie } = await control.session(account);
    const gone = await control.asset(account);
    await control.store.assets.removeAsset(gone.uuid);
    const replaced = await control.asset(account);
    const credentials: Readonly<Record<string, string>>[] = [
      {},
      { "X-API-Key": account.apiKey },
      { Authorization: `Bearer ${account.apiKey}` },
      { "X-API-Key": token },
      { Cookie: cookie },
      { Authorization: `Basic ${Buffer.from(`device:${token}`).toString("base64")}` },
      { Authorization: token },
      { Authorization: `Bearer ${gone.deviceToken}` },
      { Authorization: "Bearer ed_" },
      { Authorization: `Bearer ${token.slice(0, -1)}` },
      { Authorization: `Bearer ${Buffer.from(hashSecret(replaced.deviceToken)).toString("base64url")}` },
    ];
    const paths = ["/v2/", `${MANIFESTS}/1.5.0`, layerPath, `/v2/edge-agent/referrers/${digest}`];
    for (const headers of credentials)
      for (const path of paths) {
        const response = await fetch(`${control.url}${path}`, { headers });
        expect(response.status, `${path} with ${JSON.stringify(headers)}`).toBe(401);
        expect(response.headers.get("www-authenticate")).toBe('Bearer realm="edge-control"');
        expect(await response.json()).toMatchObject({ errors: [{ code: "UNAUTHORIZED" }] });
      }
    expect((await fetch(`${control.url}/v2/`, { headers: { Authorization: `Bearer ${token}` } })).status).toBe(200);
  });

  test("a device's token opens nothing else", async () => {
    const { get, token } = await serveRelease();
    for (const path of ["/v1/assets", "/v1/agent-releases", "/v1/session"]) {
      expect((await get(path)).status, path).not.toBe(200);
      expect((await get(path, { "X-API-Key": token })).status, path).not.toBe(200);
    }
  });
});
