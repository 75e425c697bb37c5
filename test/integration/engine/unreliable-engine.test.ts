import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { createDockerEngine } from "../../../src/agent/engine/docker/docker-engine.ts";
import type { Engine, ImageFacts } from "../../../src/agent/engine/engine.ts";
import { FakeClock } from "../../support/fake-clock.ts";
import type { EngineScript, ScriptedEngine } from "../../support/scripted-engine.ts";
import { startScriptedEngine } from "../../support/scripted-engine.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { waitFor } from "../../support/wait-for.ts";

const unaborted = new AbortController().signal;
const IMAGE = "registry.example/app:1";
const silent: EngineScript = () => {};

async function scripted(script: EngineScript): Promise<{ engine: Engine; server: ScriptedEngine; clock: FakeClock }> {
  const server = await startScriptedEngine(script);
  onTestFinished(() => server[Symbol.asyncDispose]());
  const clock = new FakeClock();
  return { engine: createDockerEngine({ socketPath: () => server.socketPath, clock }), server, clock };
}

/** An engine whose pull stream is this text; the image is there afterwards. */
function pullAnswers(...lines: readonly object[]): EngineScript {
  return (request, response) => {
    if (request.method === "POST") {
      for (const line of lines) response.write(`${JSON.stringify(line)}\r\n`);
      response.end();
    } else {
      response.setHeader("Content-Type", "application/json");
      response.end(JSON.stringify({ Id: "sha256:1", Architecture: "amd64", Os: "linux", Size: 1, RepoDigests: null }));
    }
  };
}

const pull = (engine: Engine, signal: AbortSignal = unaborted): Promise<ImageFacts> =>
  engine.pullImage(IMAGE, () => {}, signal);

test("an engine that does not answer has its deadline, and its connection is closed", async () => {
  const { engine, server, clock } = await scripted(silent);
  const asking = expect(engine.info(unaborted)).rejects.toMatchObject({ kind: "timeout" });
  await waitFor("the calls to arrive", async () => (await server.connections()) > 0);
  await clock.advance(10_000);
  await asking;
  await waitFor("the connections to be closed", async () => (await server.connections()) === 0);
});

test("changes have a longer deadline than questions", async () => {
  const { engine, server, clock } = await scripted(silent);
  let settled = false;
  const starting = expect(
    engine.startContainer("app", unaborted).finally(() => (settled = true)),
  ).rejects.toMatchObject({ kind: "timeout" });
  await waitFor("the call to arrive", async () => (await server.connections()) > 0);
  await clock.advance(59_999);
  expect(settled).toBe(false);
  await clock.advance(1);
  await starting;
});

test("a call that is aborted ends with the reason, and its connection is closed", async () => {
  const { engine, server } = await scripted(silent);
  const abort = new AbortController();
  const reason = new Error("cancelled");
  const calls = [
    engine.listContainers(abort.signal),
    engine.inspectImage(IMAGE, abort.signal),
    pull(engine, abort.signal),
  ];
  const outcomes = Promise.allSettled(calls);
  await waitFor("the calls to arrive", async () => (await server.connections()) === calls.length);
  abort.abort(reason);
  expect(await outcomes).toEqual(calls.map(() => ({ status: "rejected", reason })));
  await waitFor("the connections to be closed", async () => (await server.connections()) === 0);
});

test("a pull that says nothing more has failed, however long it took until then", async () => {
  const { engine, clock } = await scripted((_request, response) => {
    response.write(`${JSON.stringify({ status: "Pulling from app", id: "1" })}\n`);
  });
  const pulling = expect(pull(engine)).rejects.toMatchObject({ kind: "registry_unreachable" });
  await waitFor("the watchdog", () => clock.pending > 0);
  await clock.advance(120_000);
  await pulling;
});

test("an error in the pull stream is found, whatever else comes", async () => {
  const message = "manifest unknown: manifest unknown";
  const docker = pullAnswers({ status: "Pulling" }, { errorDetail: { message }, error: message });
  const podman = pullAnswers({ status: "Pulling" }, { error: message }, { status: "Download complete", id: "1" });
  for (const script of [docker, podman]) {
    await expect(pull((await scripted(script)).engine)).rejects.toMatchObject({ kind: "image_not_found", message });
  }
});

test("a pull stream that ends early is no success, though an older image is there", async () => {
  const { engine } = await scripted(pullAnswers({ status: "Downloading", id: "1", progressDetail: {} }));
  await expect(pull(engine)).rejects.toMatchObject({ kind: "registry_unreachable" });
});

test("a pull stream that breaks off is an engine that went away", async () => {
  const { engine } = await scripted((_request, response) => {
    response.write(`${JSON.stringify({ status: "Pulling" })}\n`, () => response.destroy());
  });
  await expect(pull(engine)).rejects.toMatchObject({ kind: "unavailable" });
});

test("a pull stream to its end is a success", async () => {
  const { engine } = await scripted(pullAnswers({ status: `Status: Downloaded newer image for ${IMAGE}` }));
  await pull(engine);
});

test("a pull without the image on the machine at its end is no success", async () => {
  const { engine } = await scripted((request, response) => {
    if (request.method === "POST") response.end('{"status":"Status: Image is up to date"}\n');
    else response.writeHead(404).end('{"message":"No such image"}');
  });
  await expect(pull(engine)).rejects.toMatchObject({ kind: "registry_unreachable" });
});

test("an engine that talks nonsense gives errors, in every call", async () => {
  const nonsense: EngineScript[] = [
    (_request, response) => response.end("<html>"),
    (_request, response) => response.end("null"),
    (_request, response) => response.end('{"Id": 1}'),
    (_request, response) => response.end("[null]"),
    (_request, response) => response.writeHead(500).end(),
    (_request, response) => response.writeHead(418).end('{"message": {"a": 1}}'),
    (request) => request.socket.end("not http at all\r\n\r\n"),
    (request) => request.socket.destroy(),
  ];
  for (const script of nonsense) {
    const { engine } = await scripted(script);
    const calls = [
      engine.info(unaborted),
      engine.listContainers(unaborted),
      engine.inspectContainer("app", unaborted),
      engine.tailLogs("app", 5, unaborted),
      pull(engine),
    ];
    for (const outcome of await Promise.allSettled(calls)) {
      expect(outcome).toMatchObject({ status: "rejected", reason: { name: "EngineError" } });
    }
  }
});

test("an engine that comes later is reached without ado", async () => {
  const directory = await tempDir();
  onTestFinished(() => directory[Symbol.asyncDispose]());
  const socketPath = join(directory.path, "engine.sock");
  const engine = createDockerEngine({ socketPath: () => socketPath, clock: new FakeClock() });
  await expect(engine.listContainers(unaborted)).rejects.toMatchObject({ kind: "unavailable" });
  const server = await startScriptedEngine((_request, response) => response.end("[]"), socketPath);
  onTestFinished(() => server[Symbol.asyncDispose]());
  expect(await engine.listContainers(unaborted)).toEqual([]);
});

test("an engine that keeps no events does not know how the run before ended", async () => {
  const finishedAt = "2026-11-20T12:00:00.5Z";
  const state = { Status: "running", FinishedAt: finishedAt };
  const inspected = { Id: "c1", Name: "/app", Config: {}, HostConfig: {}, State: state };
  const asked: string[] = [];
  const { engine } = await scripted((request, response) => {
    const url = new URL(request.url ?? "", "http://engine");
    response.setHeader("Content-Type", "application/json");
    if (url.pathname.endsWith("/json")) response.end(JSON.stringify(inspected));
    else if (url.pathname.endsWith("/_ping")) response.setHeader("Server", "Docker/20.10.24 (linux)").end();
    else {
      asked.push(url.searchParams.get("since") ?? "");
      response.writeHead(500).end('{"message":"events are not kept"}');
    }
  });
  expect(await engine.readLastExit("c1", unaborted)).toBeUndefined();
  expect(asked).toEqual([String(Date.parse("2026-11-20T11:59:59Z") / 1000)]);
});

test("the layers of an image are asked for once", async () => {
  const requests: string[] = [];
  const images = [{ Id: "sha256:1", Size: 1, RepoTags: ["app:1"], RepoDigests: ["app@sha256:9"] }];
  const { engine } = await scripted((request, response) => {
    requests.push(request.url ?? "");
    const [, id = ""] = /images\/(?<id>[^/]+)\/json$/.exec(decodeURIComponent(request.url ?? "")) ?? [];
    const inspected = { Id: id, RepoDigests: null, RootFS: { Layers: [`${id}-layer`] } };
    response.setHeader("Content-Type", "application/json");
    response.end(JSON.stringify(id === "" ? images : inspected));
  });
  const first = { imageId: "sha256:1", diffIds: ["sha256:1-layer"] };
  expect(await engine.layerChains(unaborted)).toEqual([{ ...first, isFromRegistry: true }]);
  images.push({ Id: "sha256:2", Size: 1, RepoTags: ["<none>:<none>"], RepoDigests: ["<none>@<none>"] });
  const second = { imageId: "sha256:2", diffIds: ["sha256:2-layer"], isFromRegistry: false };
  expect(await engine.layerChains(unaborted)).toEqual([{ ...first, isFromRegistry: true }, second]);
  images.shift();
  expect(await engine.layerChains(unaborted)).toEqual([second]);
  expect(requests.filter((url) => url.includes("sha256"))).toHaveLength(2);
});
