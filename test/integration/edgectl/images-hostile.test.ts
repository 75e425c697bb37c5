import type { IncomingMessage, ServerResponse } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type EdgectlUser, edgectlUser } from "../../support/edgectl/process.ts";
import { buildImage, type Image, type Layer, sha256 } from "../../support/images/image.ts";
import { pushImage } from "../../support/images/push-image.ts";
import { versionedImage } from "../../support/images/versioned-image.ts";
import { MemoryRegistry } from "../../support/registry/memory-registry.ts";
import { ScriptedRegistry } from "../../support/registry/scripted-registry.ts";

const ENV = { DOCKER_CONFIG: "/nonexistent", EDGECTL_REGISTRY_PASSWORD: "hunter2-and-more" };
const LOGIN = ["--registry-user", "builder"];

let user: EdgectlUser;
let image: Image;
beforeAll(async () => {
  user = await edgectlUser();
  image = await versionedImage({ seed: "images-hostile", version: 1, files: 300 });
});
afterAll(() => user[Symbol.asyncDispose]());

/** Indexes the image at a registry that responds as the function says. */
async function indexAt(intercept: (request: IncomingMessage, response: ServerResponse) => boolean, of: Image = image) {
  let isReady = false;
  const registry = await MemoryRegistry.start({ intercept: (...both) => isReady && intercept(...both) });
  await using _registry = registry;
  await pushImage(`http://${registry.host}`, of, { repository: "team/app", tag: "1", headers: {} });
  const before = new Set(registry.manifests.keys());
  isReady = true;
  const outcome = await user.run(["images", "index", ...LOGIN, `${registry.host}/team/app:1`], { env: ENV });
  const added = [...registry.manifests.keys()].filter((name) => !before.has(name));
  return { ...outcome, added, host: registry.host };
}

const isFor = ({ method, url = "" }: IncomingMessage, wanted: string, pattern: RegExp): boolean => {
  return method === wanted && pattern.test(url);
};

describe("a registry that sends edgectl images something wrong", () => {
  test.each([
    [
      "other bytes of a layer",
      (bytes: Buffer) => Buffer.concat([bytes.subarray(0, -1), Buffer.from("x")]),
      /content that is not|cannot be|instead of/,
    ],
    ["more of a layer", (bytes: Buffer) => Buffer.concat([bytes, Buffer.from("more")]), /another number of bytes/],
    ["less of a layer", (bytes: Buffer) => bytes.subarray(0, 1_000_000), /another number of bytes|cut off|unpacked/],
  ])("%s: no index is written", async (_what, change, reason) => {
    const { code, stdout, stderr, added } = await indexAt((request, response) => {
      if (!isFor(request, "GET", new RegExp(image.layers[1]?.digest ?? "no layer"))) return false;
      response.writeHead(200).end(change(image.layers[1]?.compressed ?? Buffer.alloc(0)));
      return true;
    });
    expect([code, added]).toEqual([1, []]);
    expect(stdout + stderr).toMatch(reason);
  });

  test("a connection that breaks in a layer: the registry cannot be reached, and no index is written", async () => {
    const bytes = image.layers[1]?.compressed ?? Buffer.alloc(0);
    const { code, stderr, added } = await indexAt((request, response) => {
      if (!isFor(request, "GET", new RegExp(image.layers[1]?.digest ?? "no layer"))) return false;
      response.writeHead(200, { "Content-Length": bytes.length });
      response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
      return true;
    });
    expect([code, added]).toEqual([5, []]);
    expect(stderr).toMatch(/The registry 127\.0\.0\.1:\d+ cannot be reached/);
  });

  test("a layer with another digest than the configuration says, or none that is a tar: it is left out", async () => {
    const [base, own] = image.layers as readonly [Layer, Layer];
    const other = buildImage([base, { ...own, diffId: sha256("other") }], {});
    const { code, stdout, added } = await indexAt(() => false, other);
    expect([code, added]).toEqual([0, []]);
    expect(stdout).toMatch(/instead of sha256:/);
  });

  test("a manifest, a configuration and a list that are none", async () => {
    const replies: [string, RegExp, string, RegExp][] = [
      ["manifest", /manifests\/1$/, "[]", /not the manifest of an image/],
      ["page", /manifests\/1$/, "<html>", /page of its own/],
      ["list", /manifests\/1$/, JSON.stringify({ manifests: [] }), /no image for any platform/],
      ["configuration", new RegExp(`blobs/${image.id}`), "{}", /content that is not/],
      ["endless", /manifests\/1$/, "x".repeat(5 * 1024 * 1024), /more than the \d+ bytes/],
    ];
    for (const [, pattern, body, reason] of replies) {
      const { code, stderr, added } = await indexAt((request, response) => {
        if (!isFor(request, "GET", pattern)) return false;
        response.writeHead(200).end(body);
        return true;
      });
      expect(added).toEqual([]);
      expect([1, 4, 5]).toContain(code);
      expect(stderr).toMatch(reason);
      expect(stderr).not.toContain("defect");
    }
  });

  test("credentials go to no other host: neither for an upload, nor for a token", async () => {
    await using thief = await ScriptedRegistry.start((_request, response) => void response.writeHead(201).end());
    const upload = await indexAt((request, response) => {
      if (isFor(request, "POST", /uploads/)) {
        response.writeHead(202, { Location: `http://${thief.host}/upload` }).end();
        return true;
      }
      if (request.headers.authorization !== undefined) return false;
      response.writeHead(401, { "WWW-Authenticate": 'Basic realm="test"' }).end();
      return true;
    });
    expect(upload.code).toBe(0);
    expect(thief.requests.length).toBeGreaterThan(0);
    expect(thief.requests.map(({ headers }) => headers.authorization)).toEqual(thief.requests.map(() => undefined));
    const token = await indexAt((_request, response) => {
      response.writeHead(401, { "WWW-Authenticate": 'Bearer realm="https://thief.example.com/token"' }).end();
      return true;
    });
    expect([token.code, token.stderr]).toEqual([3, expect.stringContaining("thief.example.com")]);
  });

  test("a tag of referrers that is something else stays as it is", async () => {
    const { code, stderr } = await indexAt((request, response) => {
      if (!isFor(request, "GET", /manifests\/sha256-/)) return false;
      response.writeHead(200, { "Content-Type": "application/json" }).end('{"config":{},"layers":[]}');
      return true;
    });
    expect([code, stderr]).toEqual([1, expect.stringContaining("not a list of referrers")]);
  });

  test("refusals name the registry's reason, and an address where nothing responds is exit code 5", async () => {
    const { code, stderr } = await indexAt((request, response) => {
      if (!isFor(request, "POST", /uploads/)) return false;
      response.writeHead(507).end(JSON.stringify({ errors: [{ message: "quota exceeded\u001b[2J" }] }));
      return true;
    });
    expect([code, stderr]).toEqual([5, expect.stringContaining("quota exceeded")]);
    expect(stderr).not.toContain("\u001b");
    const nowhere = await user.run(["images", "index", "127.0.0.1:1/team/app:1"], { env: ENV });
    expect([nowhere.code, nowhere.stderr]).toEqual([5, expect.stringContaining("cannot be reached")]);
    expect((await user.run(["images", "index", "UPPER CASE"], { env: ENV })).code).toBe(2);
  });
});
