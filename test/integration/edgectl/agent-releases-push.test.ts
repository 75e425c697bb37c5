import { rm, writeFile } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { digestOf, pathOf, RELEASE_TYPES } from "../../../src/lib/release/read-release.ts";
import { verifiedStatement } from "../../../src/lib/release/statement.ts";
import type { PushedRelease } from "../../../src/edgectl/registry/push-release.ts";
import { plainClient } from "../../support/download/layer-rig.ts";
import { type EdgectlUser, edgectlUser } from "../../support/edgectl/process.ts";
import { Registry } from "../../support/registry.ts";
import { MemoryRegistry } from "../../support/registry/memory-registry.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { type SomeRelease, someRelease } from "../../support/updates/some-release.ts";

let user: EdgectlUser;
beforeAll(async () => {
  user = await edgectlUser();
});
afterAll(() => user[Symbol.asyncDispose]());

async function release(version: string): Promise<SomeRelease> {
  const directory = await tempDir();
  onTestFinished(() => directory[Symbol.asyncDispose]());
  return await someRelease(directory.path, version, { layerBytes: 50_000 });
}

/** A registry that does not list referrers by itself, with the methods of requests that change something there. */
async function memoryRegistry() {
  const writes: string[] = [];
  const intercept = ({ method = "" }: IncomingMessage): boolean => {
    if (method !== "GET" && method !== "HEAD") writes.push(method);
    return false;
  };
  return { writes, registry: await MemoryRegistry.start({ intercept }) };
}

const push = (...args: readonly string[]) =>
  user.run(["--json", "agent-releases", "push", ...args], { env: { DOCKER_CONFIG: user.configDirectory } });

/** As a device finds the release: its layer, and what its signature states. */
async function asAgent(reference: string, { publicKey }: SomeRelease) {
  const signal = AbortSignal.timeout(240_000);
  const client = plainClient();
  const image = await client.resolve(reference, { os: "linux", architecture: "arm64" }, undefined, signal);
  const subject = { ...image, digest: image.indexDigest ?? "" };
  const signature = await client.findArtifact(subject, RELEASE_TYPES.signature, undefined, signal);
  const read = async (blob: { readonly digest: string; readonly size: number; readonly mediaType: string }) => {
    const { stream } = await client.openBlob(image, blob, { offset: 0, signal });
    return await buffer(stream);
  };
  const [envelope] = signature?.blobs ?? [];
  const [layer] = image.layers;
  if (!envelope || !layer) throw new Error("the release is not whole");
  return { statement: verifiedStatement(await read(envelope), [publicKey]), layer: await read(layer) };
}

describe("edgectl agent-releases push", () => {
  test("brings a release to a registry as devices fetch it, and sends nothing twice", async () => {
    await using registry = await Registry.start();
    const made = await release("1.5.0");
    const { code, stdout, stderr } = await push(made.layout, `${registry.host}/team/edge-agent`);
    expect([code, stderr]).toEqual([0, ""]);
    const pushed = JSON.parse(stdout) as PushedRelease;
    const image = `${registry.host}/team/edge-agent:1.5.0`;
    expect(pushed).toMatchObject({ version: "1.5.0", image, architectures: ["amd64", "arm64"] });
    const { statement, layer } = await asAgent(image, made);
    expect(statement).toMatchObject({ version: "1.5.0", index: pushed.digest });
    expect(layer.equals(Buffer.from(made.layers["arm64"] ?? []))).toBe(true);
    // Repeated, as after an interruption.
    expect((await push(made.layout, image)).code).toBe(0);
    expect((await asAgent(image, made)).statement).toEqual(statement);
  });

  test("lists the signature by the tag of referrers, and what is there is not uploaded again", async () => {
    const { registry, writes } = await memoryRegistry();
    await using _registry = registry;
    const made = await release("1.5.0~beta1+x");
    expect((await push(made.layout, `${registry.host}/team/edge-agent`)).code).toBe(0);
    const image = `${registry.host}/team/edge-agent:1.5.0_beta1_x`;
    expect((await asAgent(image, made)).statement.version).toBe("1.5.0~beta1+x");
    const uploads = (): number => writes.filter((method) => method === "POST").length;
    const before = uploads();
    expect(before).toBeGreaterThan(0);
    expect((await push(made.layout, `${registry.host}/team/edge-agent:stable`)).code).toBe(0);
    expect(uploads()).toBe(before);
    expect((await asAgent(`${registry.host}/team/edge-agent:stable`, made)).statement.version).toBe("1.5.0~beta1+x");
  });

  test("sends nothing of a folder that is not whole, or of which a byte was changed", async () => {
    const { registry, writes } = await memoryRegistry();
    await using _registry = registry;
    const made = await release("1.5.0");
    const layer = join(made.layout, ...pathOf(digestOf(made.layers["amd64"] ?? Buffer.of())));
    await writeFile(layer, "x".repeat(50_000));
    const image = `${registry.host}/team/edge-agent`;
    const changed = await push(made.layout, image);
    expect([changed.code, changed.stderr]).toEqual([2, expect.stringContaining("is not what was signed")]);
    await rm(layer);
    expect((await push(made.layout, image)).stderr).toContain("is missing");
    await rm(join(made.layout, "index.json"));
    expect((await push(made.layout, image)).code).toBe(2);
    expect(writes).toEqual([]);
    const pinned = await push((await release("1.6.0")).layout, `${image}@sha256:${"0".repeat(64)}`);
    expect([pinned.code, pinned.stderr]).toEqual([2, expect.stringContaining("under a tag")]);
  });
});
