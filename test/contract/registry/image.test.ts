import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { sha256 } from "../../support/images/image.ts";
import { BASIC, MACHINE, USER, client, failure, soon, RegistryRig } from "./rig.ts";

let rig: RegistryRig;

beforeAll(async () => {
  rig = await RegistryRig.start();
});

afterAll(() => rig[Symbol.asyncDispose]());

describe("an image", () => {
  test("is resolved to its platform's manifest, configuration and layers", async () => {
    const resolved = await client().resolve(`${rig.open.host}/team/app:1`, MACHINE, undefined, soon());
    expect(resolved).toMatchObject({ registry: rig.open.host, repository: "team/app" });
    expect(resolved.indexDigest).toBe(await rig.open.digest("team/app:1"));
    expect(resolved.digest).toBe(sha256(resolved.manifest));
    expect(resolved.config.digest).toBe(rig.image.id);
    expect(Buffer.from(resolved.configBytes)).toEqual(rig.image.config);
    expect(resolved.diffIds).toEqual(rig.image.layers.map(({ diffId }) => diffId));
    expect(resolved.layers.map(({ digest, size }) => ({ digest, size }))).toEqual(
      rig.image.layers.map(({ digest, compressed }) => ({ digest, size: compressed.length })),
    );
  });

  test("is found by the digest of its index and of its manifest, with or without a tag", async () => {
    const { digest, indexDigest } = await client().resolve(`${rig.open.host}/team/app:1`, MACHINE, undefined, soon());
    for (const reference of [`@${indexDigest}`, `:1@${indexDigest}`, `:other@${digest}`]) {
      const resolved = await client().resolve(`${rig.open.host}/team/app${reference}`, MACHINE, undefined, soon());
      expect(resolved.digest).toBe(digest);
    }
  });

  test("has the digest of its tag told by one request without a body", async () => {
    const watched = await rig.front({ tokens: { user: USER } });
    const digest = await client().headDigest(`${watched.host}/team/app:1`, BASIC, soon());
    expect(digest).toBe(await rig.open.digest("team/app:1"));
    const asked = watched.requests.filter(({ path }) => path.startsWith("/v2/"));
    // The first without a token.
    expect(asked.map(({ method }) => method)).toEqual(["HEAD", "HEAD"]);
    expect(await client().headDigest(`${rig.closed.host}/team/app:1`, BASIC, soon())).toBe(digest);
    expect(await client().headDigest(`${rig.open.host}/team/app@${digest}`, undefined, soon())).toBe(digest);
  });

  test("has its digest left to the whole question where the registry does not tell it", async () => {
    const answers = [
      { status: 405 },
      { status: 404 },
      { status: 200 },
      { status: 200, headers: { "Docker-Content-Digest": "sha256:short" } },
      { status: 500 },
    ];
    for (const answer of answers) {
      const odd = await rig.front({ intercept: () => answer });
      expect(await client().headDigest(`${odd.host}/team/app:1`, undefined, soon())).toBeUndefined();
    }
    const denied = client().headDigest(`${rig.closed.host}/team/app:1`, undefined, soon());
    expect(await failure(denied)).toMatchObject({ kind: "image_denied" });
  });

  test("that does not match its digest is rejected", async () => {
    const { digest } = await client().resolve(`${rig.open.host}/team/app:1`, MACHINE, undefined, soon());
    const liar = await rig.front({
      intercept: ({ path }) => (path.includes("/manifests/") ? { status: 200, body: "{}" } : undefined),
    });
    const error = await failure(client().resolve(`${liar.host}/team/app@${digest}`, MACHINE, undefined, soon()));
    expect(error).toMatchObject({ kind: "wrong_content", message: expect.stringContaining(digest) });
  });

  test("of another platform is rejected before a layer is requested", async () => {
    const watched = await rig.front();
    const error = await failure(client().resolve(`${watched.host}/team/foreign:1`, MACHINE, undefined, soon()));
    const offered = MACHINE.architecture === "arm64" ? "linux/s390x" : "linux/arm64";
    expect(error.kind).toBe("wrong_platform");
    expect(error.message).toBe(`this device is linux/${MACHINE.architecture}, and the image is for ${offered} only`);
    expect(watched.requests.filter(({ path }) => path.includes("/blobs/"))).toEqual([]);
  });

  test("without an index is checked by its configuration", async () => {
    const list = await client().resolve(`${rig.open.host}/team/app:1`, MACHINE, undefined, soon());
    const reference = `${rig.open.host}/team/app@${list.digest}`;
    expect(await client().resolve(reference, MACHINE, undefined, soon())).not.toHaveProperty("indexDigest");
    const error = await failure(client().resolve(reference, { os: "linux", architecture: "mips" }, undefined, soon()));
    expect(error.kind).toBe("wrong_platform");
  });

  test("that does not exist, or is not an image, is reported as such", async () => {
    for (const name of ["team/app:2", "team/other:1"]) {
      const error = await failure(client().resolve(`${rig.open.host}/${name}`, MACHINE, undefined, soon()));
      expect(error).toMatchObject({ kind: "image_not_found", message: expect.stringContaining("HTTP 404") });
    }
    const chart = { schemaVersion: 2, config: { mediaType: "x/chart", digest: rig.image.id, size: 1 }, layers: [] };
    for (const body of ["[]", "{}", JSON.stringify(chart), '{"schemaVersion":1}']) {
      const odd = await rig.front({ intercept: () => ({ status: 200, body }) });
      const error = await failure(client().resolve(`${odd.host}/team/app:1`, MACHINE, undefined, soon()));
      expect(error.kind).toBe("unsupported");
    }
  });

  test("manifest that is too large is not read to its end", async () => {
    const body = " ".repeat(5 * 1024 * 1024);
    const odd = await rig.front({ intercept: () => ({ status: 200, body }) });
    const error = await failure(client().resolve(`${odd.host}/team/app:1`, MACHINE, undefined, soon()));
    expect(error).toMatchObject({ kind: "unsupported", message: expect.stringContaining("longer") });
  });
});

describe("a layer", () => {
  test("is read from the start and from an offset", async () => {
    const bytes = rig.layerBytes;
    expect(await rig.readLayer(rig.open.host)).toEqual(bytes);
    expect(await rig.readLayer(rig.open.host, undefined, 1000)).toEqual(bytes.subarray(1000));
  });

  test("starts at byte 0 if the registry does not support ranges", async () => {
    const layer = rig.image.layers[0];
    const simple = await rig.front({
      intercept: ({ path }) => (path.includes("/blobs/") ? { status: 200, body: "whole" } : undefined),
    });
    const blob = { mediaType: "", digest: layer?.digest ?? "", size: 5 };
    const options = { offset: 3, signal: soon() };
    const answer = await client().openBlob({ registry: simple.host, repository: "team/app" }, blob, options);
    expect(answer).toMatchObject({ status: 200, offset: 0 });
    answer.stream.destroy();
  });

  test("is rejected if another range comes than requested", async () => {
    const wrong = await rig.front({
      intercept: () => ({ status: 206, headers: { "Content-Range": "bytes 7-9/10" }, body: "abc" }),
    });
    expect(await failure(rig.readLayer(wrong.host, undefined, 3))).toMatchObject({ kind: "wrong_content" });
  });

  test("comes from a storage host, which does not get the credentials", async () => {
    const storage = await rig.front();
    const redirecting = await rig.front({
      tokens: { user: USER },
      intercept: ({ path, headers }) =>
        path.includes("/blobs/") && headers.authorization !== undefined
          ? { status: 307, headers: { Location: `http://${storage.host}${path}?signature=x` } }
          : undefined,
    });
    const bytes = rig.layerBytes;
    expect(await rig.readLayer(redirecting.host, BASIC, 1000)).toEqual(bytes.subarray(1000));
    expect(storage.requests).toHaveLength(1);
    expect(storage.requests[0]?.headers).toMatchObject({ range: "bytes=1000-" });
    expect(storage.requests[0]?.headers).not.toHaveProperty("authorization");
  });

  test("behind an expired URL can be retried", async () => {
    const storage = await rig.front({ intercept: () => ({ status: 403 }) });
    const redirecting = await rig.front({
      intercept: ({ path }) => ({ status: 307, headers: { Location: `http://${storage.host}${path}` } }),
    });
    expect(await failure(rig.readLayer(redirecting.host))).toMatchObject({ kind: "registry_unreachable" });
  });

  test("behind endless redirects fails", async () => {
    const circle = await rig.front({ intercept: ({ path }) => ({ status: 307, headers: { Location: path } }) });
    expect(await failure(rig.readLayer(circle.host))).toMatchObject({ kind: "unsupported" });
    expect(circle.requests.length).toBeLessThan(10);
  });
});
