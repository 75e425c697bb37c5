import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { INDEX_ARTIFACT_TYPE, LAYER_INDEX_TYPE, referrersTag } from "../../../src/lib/layer-parts/index-artifact.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import { sha256 } from "../../support/images/image.ts";
import { pushIndex } from "../../support/images/push-index.ts";
import type { RegistryProxyResponse } from "../../support/registry/registry-proxy.ts";
import { waitFor } from "../../support/wait-for.ts";
import { client, failure, MACHINE, RegistryRig, soon } from "./rig.ts";

let rig: RegistryRig;

beforeAll(async () => {
  rig = await RegistryRig.start();
});
afterAll(() => rig[Symbol.asyncDispose]());

const resolve = (host: string) => client().resolve(`${host}/team/app:1`, MACHINE, undefined, soon());
const find = async (host: string) =>
  client().findArtifact(
    await resolve(rig.open.host).then((image) => ({ ...image, registry: host })),
    INDEX_ARTIFACT_TYPE,
    undefined,
    soon(),
  );

const of = (digest: string): string => JSON.stringify({ schemaVersion: 2, subject: { digest }, layers: [] });

describe("an artifact that refers to an image", () => {
  test("is not there, and that is no error", async () => {
    expect(await find(rig.open.host)).toBeUndefined();
    for (const status of [400, 403, 404, 405, 500]) {
      const odd = await rig.front({ intercept: () => ({ status }) });
      expect(await find(odd.host)).toBeUndefined();
    }
  });

  test("is found by the tag that stands in for the referrers API", async () => {
    const { digest, manifest, mediaType } = await resolve(rig.open.host);
    await pushIndex(`http://${rig.open.host}`, "team/app", { digest, mediaType, size: manifest.length }, rig.image);
    const found = await find(rig.open.host);
    expect(found?.blobs.filter((blob) => blob.mediaType === LAYER_INDEX_TYPE)).toHaveLength(rig.image.layers.length);
    expect(found?.receivedBytes).toBeGreaterThan(0);
  });

  test("is found by the referrers API, the newest one of its type", async () => {
    const { digest } = await resolve(rig.open.host);
    const artifacts = ["2026-01-01T00:00:00Z", "2026-03-01T00:00:00Z", "2026-02-01T00:00:00Z"].map((created) => {
      const layers = [{ mediaType: LAYER_INDEX_TYPE, digest: sha256(created), size: 1 }];
      const body = JSON.stringify({ schemaVersion: 2, subject: { digest }, layers });
      return { created, body, digest: sha256(body) };
    });
    const entries = artifacts.map(({ created, digest: own, body }) => ({
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      digest: own,
      size: body.length,
      artifactType: INDEX_ARTIFACT_TYPE,
      annotations: { "org.opencontainers.image.created": created },
    }));
    const other = { ...entries[0], artifactType: "application/other" };
    const front = await rig.front({
      intercept: ({ path }) => {
        if (path.includes("/referrers/")) return json({ schemaVersion: 2, manifests: [other, ...entries] });
        const artifact = artifacts.find((candidate) => path.endsWith(candidate.digest));
        return artifact && { status: 200, body: artifact.body };
      },
    });
    expect((await find(front.host))?.blobs.map((blob) => blob.digest)).toEqual([sha256("2026-03-01T00:00:00Z")]);
    expect(front.requests.some(({ path }) => path.includes(referrersTag(digest)))).toBe(false);
  });

  test("is not taken if it is of another image, malformed, or not what its digest says", async () => {
    const { digest } = await resolve(rig.open.host);
    for (const [body, name] of [
      [of(`sha256:${"0".repeat(64)}`), undefined],
      ["{}", undefined],
      ["not JSON", undefined],
      [of(digest), `sha256:${"1".repeat(64)}`],
    ] as const) {
      const entry = {
        mediaType: "x",
        digest: name ?? sha256(body),
        size: body.length,
        artifactType: INDEX_ARTIFACT_TYPE,
      };
      const front = await rig.front({
        intercept: ({ path }) => {
          if (path.includes("/referrers/")) return json({ manifests: [entry] });
          return path.endsWith(entry.digest) ? { status: 200, body } : undefined;
        },
      });
      expect(await find(front.host)).toBeUndefined();
    }
    for (const body of ["", "[]", '{"manifests":[{}]}', "<html>"]) {
      const front = await rig.front({
        intercept: ({ path }) => (path.includes("/referrers/") ? { status: 200, body } : undefined),
      });
      expect(await find(front.host)).toBeUndefined();
    }
  });

  test("is found by its tag, or not at all, within a bounded time where the registry never responds to referrers", async () => {
    const digest = `sha256:${"a".repeat(64)}`;
    const artifact = of(digest);
    const entry = {
      mediaType: "x",
      digest: sha256(artifact),
      size: artifact.length,
      artifactType: INDEX_ARTIFACT_TYPE,
    };
    const paths: string[] = [];
    let isTagThere = true;
    await using server = await listen((path, respond) => {
      paths.push(path);
      if (path.includes("/referrers/")) return;
      if (path.endsWith(entry.digest)) respond(200, artifact);
      else respond(isTagThere ? 200 : 404, JSON.stringify({ manifests: [entry] }));
    });
    const image = { registry: server.host, repository: "team/app", digest };
    const clock = new FakeClock();
    const limitMs = 500;
    // The time is over while that request waits, and stands still for the others.
    const ask = async () => {
      const before = paths.length;
      const asking = client({}, 20_000, limitMs, clock).findArtifact(image, INDEX_ARTIFACT_TYPE, undefined, soon());
      await waitFor("the request for referrers", () => paths.length > before);
      await clock.advance(limitMs);
      return asking;
    };
    expect(await ask()).toMatchObject({ blobs: [] });
    expect(paths.map((path) => path.includes("/referrers/"))).toEqual([true, false, false]);
    isTagThere = false;
    expect(await ask()).toBeUndefined();
  });

  test("cannot be asked for where the registry does not respond", async () => {
    const error = await failure(find("127.0.0.1:1"));
    expect(error).toMatchObject({ kind: "registry_unreachable" });
  });
});

function json(body: object): RegistryProxyResponse {
  return { status: 200, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) };
}

/** A server on loopback that responds, or does not, as the handler says. */
async function listen(handle: (path: string, respond: (status: number, body: string) => void) => void) {
  const server = createServer(({ url = "" }, response) => {
    handle(url, (status, body) => response.writeHead(status, { "Content-Type": "application/json" }).end(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
