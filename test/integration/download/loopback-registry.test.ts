import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { expect, test } from "vitest";
import { LoopbackRegistry } from "../../../src/agent/download/loopback-registry.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { FakeEngine } from "../../support/fake-engine.ts";
import { FakeRegistry } from "../../support/fake-registry.ts";
import { tempDir } from "../../support/temp-dir.ts";

/** The beginning of a TLS ClientHello. */
const CLIENT_HELLO = Buffer.from("160301000501000001fc", "hex");

test("a TLS client gets an HTTP response, and a request for the image counts as reached", async () => {
  await using directory = await tempDir();
  const engine = new FakeEngine(systemClock);
  engine.publish("registry.example.com/app:1");
  const { signal } = new AbortController();
  const platform = { os: "linux", architecture: "amd64" };
  const image = await new FakeRegistry(engine).resolve("registry.example.com/app:1", platform, undefined, signal);
  await using registry = await LoopbackRegistry.open({
    clock: systemClock,
    image,
    layer: () => Promise.reject(new Error("nobody asks for a layer")),
    signal,
    directory: directory.path,
  });
  const [host = "", ...path] = registry.reference.split("@")[0]?.split("/") ?? [];
  const socket = connect(Number(host.split(":")[1]), "127.0.0.1");
  socket.write(CLIENT_HELLO);
  expect(await text(socket)).toMatch(/^HTTP\/1\.1 400 /);
  expect(registry.wasReached).toBe(false);
  const answer = await fetch(`http://${host}/v2/${path.join("/")}/manifests/${image.digest}`, { method: "HEAD" });
  expect(answer.headers.get("Docker-Content-Digest")).toBe(image.digest);
  expect(registry.wasReached).toBe(true);
});
