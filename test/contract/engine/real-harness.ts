import { lstat, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { type IncomingMessage, request } from "node:http";
import { createServer } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { createDockerEngine } from "../../../src/agent/engine/docker/docker-engine.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { run, succeed } from "../../support/command.ts";
import { freePort } from "../../support/free-port.ts";
import type { Image } from "../../support/images.ts";
import { findsHost } from "../../support/images/exec.ts";
import {
  bigImage,
  crasherImage,
  foreignImage,
  engineRequest,
  healthImage,
  fullyConfiguredImage,
  loadImage,
  ownUserImage,
  removeImage,
  sleeperImage,
  uniqueName,
} from "../../support/images.ts";
import { uniqueNetwork } from "../../support/private-engine/unique-network.ts";
import { Registry } from "../../support/registry.ts";
import { SlowLink } from "../../support/slow-link.ts";
import { tempDir } from "../../support/temp-dir.ts";
import { type EngineHarness, IMAGE_LABELS } from "./harness.ts";

interface RealEngine {
  readonly kind: EngineHarness["kind"];
  readonly socketPath: string;
  /** Default: by a ping. */
  readonly finds?: (socketPath: string, id: string, name: string) => Promise<boolean>;
  /** Default: through the engine. */
  readonly removeNetwork?: EngineHarness["removeNetwork"];
}

/** The same around an engine that was started for it: that ends with the harness, also where there comes to be none. */
export async function owningHarness(
  engine: AsyncDisposable & Pick<RealEngine, "socketPath">,
  more: Omit<RealEngine, "socketPath">,
): Promise<EngineHarness> {
  await using undo = new AsyncDisposableStack();
  const { socketPath } = undo.use(engine);
  const harness = undo.use(await realHarness({ socketPath, ...more }));
  const owned = undo.move();
  return { ...harness, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** A harness around an engine that runs, with real images and registries. Leaves the engine as it was. */
export async function realHarness({
  kind,
  socketPath,
  finds = findsHost,
  removeNetwork,
}: RealEngine): Promise<EngineHarness> {
  await using undo = new AsyncDisposableStack();
  const load = async (image: Image, label: string): Promise<string> => {
    return undo.use(await loadImage(socketPath, image, label)).reference;
  };
  const images = {
    sleeper: await load(await sleeperImage(), "sleeper"),
    crasher: await load(await crasherImage(7), "crasher"),
    lateCrasher: await load(await crasherImage(7, 2), "late-crasher"),
    healthy: await load(await healthImage(1), "healthy"),
    unhealthy: await load(await healthImage("never"), "unhealthy"),
    laden: await load(await fullyConfiguredImage(IMAGE_LABELS), "laden"),
    ownUser: await load(await ownUserImage(), "own-user"),
  };
  const open = undo.use(await Registry.start());
  const closed = undo.use(await Registry.start({ user: { name: "user", password: "secret" } }));
  // Podman tells of its progress once a second; a pull must last longer than that to be seen.
  const link = undo.use(await SlowLink.to(open.port, 2_000_000));
  const throughLink = (reference: string): string => reference.replace(open.host, link.host);
  const pullable = {
    present: throughLink(await open.push(await bigImage(4), "team/present:1.0")),
    large: throughLink(await open.push(await bigImage(10), "team/large:1.0")),
    missing: `${open.host}/team/missing:1.0`,
    denied: await closed.push(await sleeperImage("denied"), "team/denied:1.0"),
    otherPlatform: await open.push(await foreignImage(), "team/foreign:1.0"),
    unreachable: `127.0.0.1:${await freePort()}/team/unreachable:1.0`,
  };
  for (const reference of Object.values(pullable)) undo.defer(() => removeImage(socketPath, reference));
  const owned = undo.move();
  return {
    engine: createDockerEngine({ socketPath: () => socketPath, clock: systemClock }),
    kind,
    images,
    pullable,
    files: {
      async directory() {
        const directory = await tempDir();
        onTestFinished(() => directory[Symbol.asyncDispose]());
        return directory.path;
      },
      brokenLink: (path) => symlink("nowhere", path),
      remove: (path) => rm(path, { recursive: true }),
      look,
    },
    async lookInVolume(name) {
      const { body } = await engineRequest(socketPath, "GET", `/volumes/${name}`);
      return await look((JSON.parse(body) as { readonly Mountpoint: string }).Mountpoint);
    },
    commit: async (container) => {
      const repository = `localhost/${uniqueName("committed")}`;
      const path = `/commit?container=${container}&repo=${repository}&tag=1`;
      const { status, body } = await engineRequest(socketPath, "POST", path, {
        headers: { "Content-Type": "application/json" },
        body: "{}",
      });
      if (status >= 300) throw new Error(`the engine did not commit ${container}: ${status} ${body}`);
      owned.defer(() => removeImage(socketPath, `${repository}:1`));
      return `${repository}:1`;
    },
    finds: (id, name) => finds(socketPath, id, name),
    removeNetwork: removeNetwork ?? ((name) => deleteNetwork(socketPath, name)),
    freeSubnet: async () => (await uniqueNetwork()).subnet,
    occupyPort,
    countsUse: (id) => countsUse(socketPath, id),
    obstructRemoval: (id) => obstructRemoval(socketPath, id),
    pause: async (id) => {
      const { status, body } = await engineRequest(socketPath, "POST", `/containers/${id}/pause`);
      if (status >= 300) throw new Error(`the engine did not pause ${id}: ${status} ${body}`);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

async function deleteNetwork(socketPath: string, name: string): Promise<void> {
  const { status, body } = await engineRequest(socketPath, "DELETE", `/networks/${name}`);
  if (status >= 300) throw new Error(`the engine did not remove ${name}: ${status} ${body}`);
}

async function look(path: string): ReturnType<EngineHarness["files"]["look"]> {
  const found = await lstat(path).catch(() => undefined);
  return found && { owner: { uid: found.uid, gid: found.gid }, mode: found.mode & 0o7777 };
}

/** Makes a file of the container that cannot be removed. */
async function obstructRemoval(socketPath: string, id: string): Promise<AsyncDisposable> {
  const { body } = await engineRequest(socketPath, "GET", `/containers/${id}/json`);
  const { Pid } = (JSON.parse(body) as { readonly State: { readonly Pid: number } }).State;
  const mounts = await readFile(`/proc/${Pid}/mountinfo`, "utf8");
  const [, directory] = /^\S+ \S+ \S+ \S+ \/ .*[ ,]upperdir=([^,\n]+)/m.exec(mounts) ?? [];
  if (directory === undefined) throw new Error(`the container ${id} is on no overlay: ${mounts}`);
  const file = join(directory, "unremovable");
  await writeFile(file, "");
  await succeed("chattr", ["+i", file]);
  // An engine that keeps nothing of a container removes it later, or never.
  return { [Symbol.asyncDispose]: async () => void (await run("chattr", ["-i", file])) };
}

/** As the engine's API says itself. */
async function countsUse(socketPath: string, id: string): Promise<boolean> {
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request({ socketPath, path: `/containers/${id}/stats?stream=false` }, resolve)
      .on("error", reject)
      .end();
  });
  const stats = JSON.parse(await text(answer)) as { readonly memory_stats?: { readonly usage?: number } };
  return (stats.memory_stats?.usage ?? 0) > 0;
}

function occupyPort(port: number): Promise<AsyncDisposable> {
  const server = createServer();
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(port, () => {
      resolve({
        [Symbol.asyncDispose]: () => new Promise((closed) => void server.close(() => closed())),
      });
    });
  });
}
