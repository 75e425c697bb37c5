import { readdirSync, readFileSync, statSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { run } from "../support/command.ts";
import { ownUserImage, sleeperImage } from "../support/images.ts";
import { podmanUnavailableReason, startPodman } from "../support/podman-service.ts";
import { expectFailure } from "../support/system/expect-failure.ts";
import { listVolumes } from "../support/system/engine-containers.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import type { System, SystemOptions } from "../support/system.ts";
import { waitFor } from "../support/wait-for.ts";

/*
 * Volumes that the agent manages, over the life of an app whose image runs as user 1000 and writes to its volume at each
 * start, as Node-RED does.
 */

const withoutPodman = await podmanUnavailableReason();

describe("volumes by name, with Docker", () => {
  volumesByName(async () => ({ agentConfig: { deploy: { settle_window_s: 1 } } }));
});

describe.skipIf(withoutPodman !== undefined)(
  `volumes by name, with Podman${withoutPodman === undefined ? "" : ` (skipped: ${withoutPodman})`}`,
  () => {
    volumesByName(async (owned) => {
      return { engine: owned.use(await startPodman()), agentConfig: { deploy: { settle_window_s: 1 } } };
    });
  },
);

function volumesByName(setUp: (owned: AsyncDisposableStack) => Promise<SystemOptions>): void {
  const system = sharedSystem(setUp);

  test("an app's data stays over updates, a removal and the loss of the store, until it is deleted", async () => {
    const image = await system().load(await ownUserImage());
    const [name, volume] = [system().name("flows"), system().name("volume")];
    const app = { name, image, volumes: [{ name: volume, target: "/data" }] };
    const first = await system().deploy(app);
    expect(first.final).toMatchObject({ status: "Success" });
    expect(first.events.map(({ message }) => message)).toContain(`Volume ${volume} is made.`);
    const directory = await directoryOf(system(), volume);
    expect(readFileSync(join(directory, "flows.json"), "utf8")).toBe("flows\n");
    expect(statSync(directory)).toMatchObject({ uid: 1000, gid: 1000 });

    const update = await system().change("PATCH", name, undefined, { environments: [{ key: "A", value: "1" }] });
    expect((await system().finish(update)).final).toMatchObject({ status: "Success" });
    await loseStore(system());
    await waitFor("the app to be adopted", async () => (await listed(system()))[0]?.apps[0]?.app === name);
    expect(await listed(system())).toMatchObject([{ name: volume, apps: [{ app: name, readonly: false }] }]);
    expect(await edgeAgent(system(), "volumes")).toMatch(new RegExp(`${volume} +${name}`));
    expect(await edgeAgent(system(), "app", name)).toContain(`${volume}:/data`);
    await expectFailure(system(), { ...app, name: system().name() }, "VolumeInUse");
    const reader = { ...app, name: system().name("reader"), image: await system().load(await sleeperImage()) };
    const readonly = { ...reader, volumes: [{ name: volume, target: "/seen", readonly: true }] };
    expect((await system().deploy(readonly)).final).toMatchObject({ status: "Success" });
    expect((await remove(system(), volume)).status).toBe(409);
    await system().finish(await system().change("DELETE", reader.name));

    const removed = await system().finish(await system().change("DELETE", name));
    expect(removed.final).toMatchObject({
      status: "Success",
      message: expect.stringContaining(`Its data stays in the volume ${volume}`) as string,
      details: { kept_volumes: [volume] },
    });
    expect(readdirSync(directory)).toEqual(["flows.json"]);
    expect((await system().deploy(app)).final).toMatchObject({ status: "Success" });
    expect(await directoryOf(system(), volume)).toBe(directory);
    await system().finish(await system().change("DELETE", name));
    // A removal is provisional until it is acknowledged.
    await waitFor("the volume to be deleted", async () => (await remove(system(), volume)).status === 204);
    expect(await listVolumes(system().engineSocket, volume)).toEqual([]);
    expect((await remove(system(), volume)).status).toBe(404);
  });

  test("an owner is given to what is made, and to nothing that is there", async () => {
    const image = await system().load(await ownUserImage());
    const [volume, local] = [system().name("volume"), join(system().directory, "made")];
    const command = ["/bin/sh", "-c", "exec sleep 2147483"];
    const app = { name: system().name(), image, command };
    const volumes = [
      { name: volume, target: "/data", owner: "1234:1235" },
      { local, target: "/made", owner: "1236" },
    ] as const;
    expect((await system().deploy({ ...app, volumes: [...volumes] })).final).toMatchObject({ status: "Success" });
    const directory = await directoryOf(system(), volume);
    expect(statSync(directory)).toMatchObject({ uid: 1234, gid: 1235 });
    expect(statSync(local)).toMatchObject({ uid: 1236, gid: 0 });
    const [owner, [first, second]] = ["99:99", volumes] as const;
    const others = [
      { ...first, owner },
      { ...second, owner },
    ];
    const update = await system().change("PATCH", app.name, undefined, { volumes: others });
    expect((await system().finish(update)).final).toMatchObject({ status: "Success" });
    expect(statSync(directory)).toMatchObject({ uid: 1234, gid: 1235 });
    expect(statSync(local)).toMatchObject({ uid: 1236, gid: 0 });
  });

  test("a volume is not left by a deployment whose file is missing", async () => {
    const image = await system().load(await ownUserImage());
    const volume = system().name("volume");
    const file = join(system().directory, "app.conf");
    const volumes = [
      { name: volume, target: "/data" },
      { local: file, target: "/conf/app.conf" },
    ];
    const failed = await expectFailure(system(), { name: system().name(), image, volumes }, "InvalidRequest");
    expect(failed.message).toContain(`${file} does not exist on the device`);
    expect(await listVolumes(system().engineSocket, volume)).toEqual([]);
  });
}

async function directoryOf(system: System, volume: string): Promise<string> {
  const [found] = await listVolumes(system.engineSocket, volume);
  if (!found) throw new Error(`the engine has no volume ${volume}`);
  return found.Mountpoint;
}

function volumesUrl({ control, asset }: System): string {
  return `${control.url}/v1/assets/${asset.uuid}/edge/volumes`;
}

async function listed(system: System): Promise<{ name: string; apps: { app: string }[] }[]> {
  const response = await fetch(volumesUrl(system), { headers: { "X-API-Key": system.account.apiKey } });
  const { volumes } = (await response.json()) as { volumes?: { name: string; apps: { app: string }[] }[] };
  return (volumes ?? []).filter(({ apps }) => apps.length > 0);
}

function remove(system: System, volume: string): Promise<Response> {
  return fetch(`${volumesUrl(system)}/${volume}`, {
    method: "DELETE",
    headers: { "X-API-Key": system.account.apiKey },
  });
}

async function edgeAgent({ agent }: System, ...args: string[]): Promise<string> {
  return (await run("dist/edge-agent", [...args, "--config", agent.configFile])).stdout;
}

async function loseStore({ agent }: System): Promise<void> {
  await agent.stop();
  for (const suffix of ["", "-wal", "-shm"]) await rm(join(agent.stateDir, `agent.db${suffix}`), { force: true });
  await agent.start();
}
