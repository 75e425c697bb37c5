import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { INDEX_ARTIFACT_TYPE, indexedLayers, referrersTag } from "../../../src/lib/layer-parts/index-artifact.ts";
import { readLayerIndex } from "../../../src/lib/layer-parts/layer-index/read-index.ts";
import { plainClient } from "../../support/download/layer-rig.ts";
import { type EdgectlUser, edgectlUser } from "../../support/edgectl/process.ts";
import { pushImage, pushManifest } from "../../support/images/push-image.ts";
import { buildImage, type Image, sha256 } from "../../support/images/image.ts";
import { versionedImage } from "../../support/images/versioned-image.ts";
import { Registry } from "../../support/registry.ts";
import { MemoryRegistry } from "../../support/registry/memory-registry.ts";
import { RegistryProxy } from "../../support/registry/registry-proxy.ts";

const USER = { name: "builder", password: "hunter2-and-more" };
const OCI_INDEX = "application/vnd.oci.image.index.v1+json";

interface IndexResult {
  readonly indexes: readonly {
    readonly platform: string;
    readonly manifest_digest: string;
    readonly result: string;
    readonly index_digest: string | null;
    readonly layers: readonly { readonly index_bytes: number | null; readonly least_bytes: number; left_out: string }[];
  }[];
}

let user: EdgectlUser;
let image: Image;
beforeAll(async () => {
  user = await edgectlUser();
  image = await versionedImage({ seed: "images-index", version: 1, files: 300 });
});
afterAll(() => user[Symbol.asyncDispose]());

async function index(args: readonly string[], env: Record<string, string> = {}): Promise<IndexResult> {
  const home = { DOCKER_CONFIG: user.configDirectory, ...env };
  const { code, stdout, stderr } = await user.run(["--json", "images", "index", ...args], { env: home });
  expect(stderr).toBe("");
  expect(code).toBe(0);
  return JSON.parse(stdout) as IndexResult;
}

/** The index artifact as an agent finds it, with the layers it describes. */
async function asAgent(reference: string) {
  const signal = AbortSignal.timeout(240_000);
  const { os, architecture } = JSON.parse(image.config.toString()) as { os: string; architecture: string };
  const client = plainClient();
  const resolved = await client.resolve(reference, { os, architecture }, undefined, signal);
  const found = await client.findArtifact(resolved, INDEX_ARTIFACT_TYPE, undefined, signal);
  return { resolved, layers: indexedLayers(found?.blobs ?? []) };
}

async function blob(reference: string, digest: string): Promise<Buffer> {
  const [host = "", rest = ""] = reference.split(/\/(.*)/s);
  const response = await fetch(`http://${host}/v2/${rest.replace(/:[^:]*$/, "")}/blobs/${digest}`);
  return Buffer.from(await response.arrayBuffer());
}

describe("edgectl images index", () => {
  test("writes an index that an agent finds and reads, and writes nothing the second time", async () => {
    await using registry = await Registry.start();
    const reference = await registry.push(image, "team/app:1");
    const first = await index([reference]);
    expect(first.indexes).toMatchObject([{ result: "written" }]);
    const { resolved, layers } = await asAgent(reference);
    const large = image.layers[1];
    expect([...layers.keys()]).toEqual([large?.digest]);
    const found = layers.get(large?.digest ?? "");
    const bytes = await blob(reference, found?.index.digest ?? "");
    expect(sha256(bytes)).toBe(found?.index.digest);
    const diffId = resolved.diffIds[1] ?? "";
    const layout = readLayerIndex(bytes, { diffId, packSize: found?.pack.size ?? 0 });
    expect(layout.size).toBe(large?.tar.length);
    expect(first.indexes[0]?.layers.map((layer) => layer.left_out)).toEqual(["small", null]);
    expect(first.indexes[0]?.layers[1]?.least_bytes).toBe(bytes.length + layout.headers.length);
    const second = await index([reference]);
    expect(second.indexes).toMatchObject([{ result: "present", index_digest: first.indexes[0]?.index_digest }]);
  });

  test("uses the referrers API where the registry has it, and the tag elsewhere", async () => {
    for (const hasReferrers of [true, false]) {
      await using registry = await MemoryRegistry.start({ hasReferrers });
      await pushImage(`http://${registry.host}`, image, { repository: "team/app", tag: "1", headers: {} });
      const reference = `${registry.host}/team/app:1`;
      const { indexes } = await index([reference]);
      const tag = referrersTag(indexes[0]?.manifest_digest ?? "");
      expect(registry.manifests.has(tag)).toBe(!hasReferrers);
      expect((await asAgent(reference)).layers.size).toBe(1);
    }
  });

  test("keeps what others have listed under the tag, and replaces its own", async () => {
    await using registry = await MemoryRegistry.start();
    await pushImage(`http://${registry.host}`, image, { repository: "team/app", tag: "1", headers: {} });
    const reference = `${registry.host}/team/app:1`;
    const manifest = [...registry.manifests].find(([, { bytes }]) => bytes.includes('"layers"'))?.[0] ?? "";
    const tag = referrersTag(manifest);
    const signature = {
      mediaType: "application/vnd.oci.image.manifest.v1+json",
      digest: sha256("s"),
      size: 1,
      data: "cw==",
    };
    const list = JSON.stringify({ schemaVersion: 2, mediaType: OCI_INDEX, manifests: [signature] });
    await pushManifest(`http://${registry.host}/v2/team/app/manifests/${tag}`, OCI_INDEX, list, {});
    await index([reference]);
    const { indexes } = await index(["--force", reference]);
    const { manifests } = JSON.parse(registry.manifests.get(tag)?.bytes.toString() ?? "") as { manifests: object[] };
    expect(manifests).toMatchObject([signature, { digest: indexes[0]?.index_digest }]);
    expect(manifests).toHaveLength(2);
  });

  test("writes the index again where the registry has lost a part of it", async () => {
    await using registry = await MemoryRegistry.start();
    await pushImage(`http://${registry.host}`, image, { repository: "team/app", tag: "1", headers: {} });
    const reference = `${registry.host}/team/app:1`;
    await index([reference]);
    const pack = [...(await asAgent(reference)).layers.values()][0]?.pack.digest ?? "";
    expect(registry.blobs.delete(pack)).toBe(true);
    expect((await index([reference])).indexes).toMatchObject([{ result: "written" }]);
    expect(registry.blobs.has(pack)).toBe(true);
  });

  test("indexes each platform of a list, reads a layer of several once, and passes attestations by", async () => {
    await using registry = await MemoryRegistry.start();
    const base = `http://${registry.host}`;
    const { config } = JSON.parse(image.config.toString()) as { config: object };
    const entries: object[] = [];
    for (const architecture of ["amd64", "arm64"]) {
      const one = buildImage(image.layers, config, architecture);
      await pushImage(base, one, { repository: "team/app", tag: architecture, headers: {} });
      const list = JSON.parse(registry.manifests.get(architecture)?.bytes.toString() ?? "") as { manifests: object[] };
      entries.push(...list.manifests);
    }
    const attestation = { ...entries[0], platform: { os: "unknown", architecture: "unknown" } };
    const list = JSON.stringify({ schemaVersion: 2, mediaType: OCI_INDEX, manifests: [...entries, attestation] });
    await pushManifest(`${base}/v2/team/app/manifests/all`, OCI_INDEX, list, {});
    const { indexes } = await index([`${registry.host}/team/app:all`]);
    expect(indexes.map(({ platform, result }) => [platform, result])).toEqual([
      ["linux/amd64", "written"],
      ["linux/arm64", "written"],
    ]);
    const layer = `GET /v2/team/app/blobs/${image.layers[1]?.digest}`;
    expect(registry.server.asked.filter((asked) => asked === layer)).toHaveLength(1);
    const { indexes: some } = await index(["--platform", "linux/arm64", `${registry.host}/team/app:all`]);
    expect(some.map(({ platform }) => platform)).toEqual(["linux/arm64"]);
    const { code, stderr } = await user.run([
      "images",
      "index",
      "--platform",
      "linux/s390x",
      `${registry.host}/team/app:all`,
    ]);
    expect([code, stderr]).toEqual([2, expect.stringContaining("linux/amd64, linux/arm64")]);
  });

  test("uses Docker's login or that of the options, and fails without one", async () => {
    await using registry = await Registry.start({ user: USER });
    const reference = await registry.push(image, "team/app:1");
    const { code, stderr } = await user.run(["images", "index", reference], {
      env: { DOCKER_CONFIG: user.configDirectory },
    });
    expect([code, stderr]).toEqual([3, expect.stringContaining("wants credentials")]);
    const auth = Buffer.from(`${USER.name}:${USER.password}`).toString("base64");
    await writeFile(
      join(user.configDirectory, "config.json"),
      JSON.stringify({ auths: { [registry.host]: { auth } } }),
    );
    expect((await index([reference])).indexes).toMatchObject([{ result: "written" }]);
    const options = ["--registry-user", USER.name, reference];
    const env = { DOCKER_CONFIG: "/nonexistent", EDGECTL_REGISTRY_PASSWORD: USER.password };
    expect((await index(options, env)).indexes).toMatchObject([{ result: "present" }]);
    const wrong = await user.run(["images", "index", ...options], {
      env: { ...env, EDGECTL_REGISTRY_PASSWORD: "no-such-password" },
    });
    expect([wrong.code, wrong.stderr]).toEqual([3, expect.stringContaining("refuses the credentials")]);
    expect(wrong.stderr).not.toContain("no-such-password");
  });

  test("fetches tokens, again for pushing", async () => {
    await using registry = await Registry.start();
    const repository = "team/app";
    await registry.push(image, `${repository}:1`);
    await using proxy = await RegistryProxy.start({ upstream: registry.host, tokens: { user: USER } });
    const env = { DOCKER_CONFIG: "/nonexistent", EDGECTL_REGISTRY_PASSWORD: USER.password };
    const { indexes } = await index(["--registry-user", USER.name, `${proxy.host}/${repository}:1`], env);
    expect(indexes).toMatchObject([{ result: "written" }]);
  });
});
