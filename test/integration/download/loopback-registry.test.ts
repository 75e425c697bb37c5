import { readdir, readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { LoopbackRegistry } from "../../../src/agent/download/loopback-registry.ts";
import type { ResolvedImage } from "../../../src/agent/registry/registry.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { FakeEngine } from "../../support/fake-engine.ts";
import { FakeRegistry } from "../../support/fake-registry.ts";
import { tempDir } from "../../support/temp-dir.ts";

/** The beginning of a TLS ClientHello. */
const CLIENT_HELLO = Buffer.from("160301000501000001fc", "hex");

async function resolveImage(): Promise<ResolvedImage> {
  const engine = new FakeEngine(systemClock);
  engine.publish("registry.example.com/app:1");
  const { signal } = new AbortController();
  const platform = { os: "linux", architecture: "amd64" };
  return await new FakeRegistry(engine).resolve("registry.example.com/app:1", platform, undefined, signal);
}

const open = (image: ResolvedImage, directory: string) =>
  LoopbackRegistry.open({
    clock: systemClock,
    image,
    layer: () => Promise.reject(new Error("nobody asks for a layer")),
    signal: new AbortController().signal,
    directory,
  });

test("a pull goes on at the address of the one before, also if layers are offered in another form, and leaves none", async () => {
  await using directory = await tempDir();
  const image = await resolveImage();
  const interrupted = await open(image, directory.path);
  const { reference } = interrupted;
  const [name = ""] = await readdir(directory.path);
  const kept = await readFile(join(directory.path, name));
  await interrupted[Symbol.asyncDispose]();
  expect(await readdir(directory.path)).toEqual([]);
  // As after a kill.
  await writeFile(join(directory.path, name), kept);
  {
    await using next = await open({ ...image, digest: `sha256:${"0".repeat(64)}` }, directory.path);
    expect(next.reference.split("@")[0]).toBe(reference.split("@")[0]);
  }
  expect(await readdir(directory.path)).toEqual([]);
});

test("a TLS client gets an HTTP response, and a request for the image counts as reached", async () => {
  await using directory = await tempDir();
  const image = await resolveImage();
  await using registry = await open(image, directory.path);
  const [host = "", ...path] = registry.reference.split("@")[0]?.split("/") ?? [];
  const socket = connect(Number(host.split(":")[1]), "127.0.0.1");
  socket.write(CLIENT_HELLO);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
  expect(registry.wasReached).toBe(false);
  const answer = await fetch(`http://${host}/v2/${path.join("/")}/manifests/${image.digest}`, { method: "HEAD" });
  expect(answer.headers.get("Docker-Content-Digest")).toBe(image.digest);
  expect(registry.wasReached).toBe(true);
});
