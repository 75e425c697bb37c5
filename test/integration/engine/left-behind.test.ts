import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { succeed } from "../../support/command.ts";
import { dockerSocket } from "../../support/docker-socket.ts";
import { engineRequest, loadImage, sleeperImage, uniqueName } from "../../support/images.ts";

const socket = await dockerSocket();
const program = join(import.meta.dirname, "../../../packaging/left-behind.mjs");

const removeVolume = (id: string): string => `/volumes/${id}`;

const removeContainer = (id: string): string => `/containers/${id}?force=1`;

async function make(path: string, body: object, remove: (id: string) => string): Promise<void> {
  const headers = { "Content-Type": "application/json" };
  const response = await engineRequest(socket!, "POST", path, { headers, body: JSON.stringify(body) });
  if (response.status >= 300) throw new Error(response.body);
  const { Id, Name } = JSON.parse(response.body) as { readonly Id?: string; readonly Name?: string };
  onTestFinished(async () => void (await engineRequest(socket!, "DELETE", remove(Id ?? Name ?? ""))));
}

test.skipIf(socket === undefined)(
  "what the agent leaves on a device is listed: apps, volumes and networks",
  async () => {
    const name = uniqueName("left");
    const stateDir = `/nowhere/${name}`;
    const image = await loadImage(socket!, await sleeperImage(), "left");
    onTestFinished(() => image[Symbol.asyncDispose]());
    const own = { "io.edge-agent.state-dir": stateDir };
    const volume = { "io.edge-agent.volume": "data" };
    await make("/volumes/create", { Name: name, Labels: { ...own, ...volume } }, removeVolume);
    // Of another agent, and of nobody.
    const others = { "io.edge-agent.state-dir": `${stateDir}-other` };
    await make("/volumes/create", { Name: `${name}-other`, Labels: { ...others, ...volume } }, removeVolume);
    await make("/volumes/create", { Name: `${name}-foreign`, Labels: own }, removeVolume);
    const labels = { ...own, "io.edge-agent.network": "" };
    // Without a bridge of its own.
    await make("/networks/create", { Name: name, Labels: labels, Internal: true }, (id) => `/networks/${id}`);
    const container = {
      Image: image.reference,
      Labels: { ...own, "io.edge-agent.app": "web" },
      HostConfig: {
        NetworkMode: "none",
        Binds: [`${name}:/data`, `${stateDir}/files/0/0:/etc/app.conf`, "/tmp:/shared"],
      },
    };
    await make(`/containers/create?name=${name}`, container, removeContainer);

    // With a label as its image may have it, and one of another agent.
    const hostile = { ...own, "io.edge-agent.app": `${name}\u001b[2J\u202e\nroot (container x)` };
    const more = { Image: image.reference, HostConfig: { NetworkMode: "none" } };
    await make(`/containers/create?name=${name}-hostile`, { ...more, Labels: hostile }, removeContainer);
    const foreign = { ...others, "io.edge-agent.app": "web" };
    await make(`/containers/create?name=${name}-foreign`, { ...more, Labels: foreign }, removeContainer);

    const lines = (await succeed(process.execPath, [program, socket!, stateDir])).split("\n");
    const app = `web (container ${name}, created, data in /tmp, volumes ${name}, needs its files in ${stateDir})`;
    const odd = `${name}\ufffd[2J\ufffd\ufffdroot (container x) (container ${name}-hostile, created)`;
    expect(lines.filter((line) => line.includes(name))).toEqual([
      odd,
      app,
      `volume data with its data (of the engine: ${name})`,
      `network ${name}`,
    ]);
  },
);

test("nothing is listed, and nothing fails, where no engine answers", async () => {
  expect(await succeed(process.execPath, [program, "/nowhere/docker.sock"])).toBe("");
});
