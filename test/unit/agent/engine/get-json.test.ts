import { expect, test } from "vitest";
import { createDockerEngine } from "../../../../src/agent/engine/docker/docker-engine.ts";
import { systemClock } from "../../../../src/lib/clock.ts";
import { JSON_LIMITS } from "../../../../src/protocol/values/bounded-json.ts";
import { startScriptedEngine } from "../../../support/scripted-engine.ts";

const { signal } = new AbortController();
const image = { Id: "sha256:1", Architecture: "amd64", Os: "linux", Size: 1 };
const TOO_LARGE = { kind: "invalid", message: expect.stringContaining("too large") as string };

test("an answer of the engine is read and parsed up to a bound, whatever images put into it", async () => {
  let body = "";
  await using scripted = await startScriptedEngine((_request, response) => {
    response.setHeader("Content-Type", "application/json");
    response.end(body);
  });
  const engine = createDockerEngine({ socketPath: () => scripted.socketPath, clock: systemClock });
  body = JSON.stringify({ ...image, Config: { Labels: { note: "x".repeat(JSON_LIMITS.engine.maxBytes) } } });
  await expect(engine.inspectImage("web", signal)).rejects.toMatchObject(TOO_LARGE);
  await expect(engine.inspectContainer("web", signal)).rejects.toMatchObject(TOO_LARGE);
  await expect(engine.listContainers(signal)).rejects.toMatchObject(TOO_LARGE);
  const volumes = Object.fromEntries(Array.from({ length: 150_000 }, (_, index) => [`/v${index}`, {}]));
  body = JSON.stringify({ ...image, Config: { Volumes: volumes } });
  await expect(engine.inspectImage("web", signal)).rejects.toMatchObject(TOO_LARGE);
  body = JSON.stringify({ ...image, Config: { Labels: { note: "x".repeat(JSON_LIMITS.engine.maxBytes / 2) } } });
  await expect(engine.inspectImage("web", signal)).resolves.toMatchObject({ id: "sha256:1" });
});
