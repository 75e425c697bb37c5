import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { LoopbackRegistry } from "../../../src/agent/download/loopback-registry.ts";
import type { LoopbackAddress } from "../../../src/agent/download/pull-records.ts";
import type { ResolvedImage } from "../../../src/agent/registry/registry.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { FakeEngine } from "../../support/fake-engine.ts";
import { FakeRegistry } from "../../support/fake-registry.ts";

/** The beginning of a TLS ClientHello. */
const CLIENT_HELLO = Buffer.from("160301000501000001fc", "hex");

async function resolveImage(): Promise<ResolvedImage> {
  const engine = new FakeEngine(systemClock);
  engine.publish("registry.example.com/app:1");
  const { signal } = new AbortController();
  const platform = { os: "linux", architecture: "amd64" };
  return await new FakeRegistry(engine).resolve("registry.example.com/app:1", platform, undefined, signal);
}

const open = (image: ResolvedImage, address?: LoopbackAddress) =>
  LoopbackRegistry.open({
    clock: systemClock,
    image,
    layer: () => Promise.reject(new Error("nobody asks for a layer")),
    signal: new AbortController().signal,
    address,
  });

test("a pull goes on at the address of the one before, also if layers are offered in another form", async () => {
  const image = await resolveImage();
  const interrupted = await open(image);
  const { reference, address } = interrupted;
  await interrupted[Symbol.asyncDispose]();
  await using next = await open({ ...image, digest: `sha256:${"0".repeat(64)}` }, address);
  expect(next.reference.split("@")[0]).toBe(reference.split("@")[0]);
  expect(next.address).toEqual(address);
});

test("a pull whose address is taken gets another one, and another name", async () => {
  const image = await resolveImage();
  await using other = await open(image);
  await using next = await open(image, other.address);
  expect(next.address.port).not.toBe(other.address.port);
  expect(next.address.secret).not.toBe(other.address.secret);
});

test("a TLS client gets an HTTP response, and a request for the image counts as reached", async () => {
  const image = await resolveImage();
  await using registry = await open(image);
  const [host = "", ...path] = registry.reference.split("@")[0]?.split("/") ?? [];
  const socket = connect(Number(host.split(":")[1]), "127.0.0.1");
  socket.write(CLIENT_HELLO);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
  expect(registry.wasReached).toBe(false);
  const answer = await fetch(`http://${host}/v2/${path.join("/")}/manifests/${image.digest}`, { method: "HEAD" });
  expect(answer.headers.get("Docker-Content-Digest")).toBe(image.digest);
  expect(registry.wasReached).toBe(true);
});
