import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { freeHostPort } from "../support/free-port.ts";
import { webImage, WEB_PORT } from "../support/images.ts";
import { privateEngineUnavailableReason } from "../support/private-engine.ts";
import { page } from "../support/system/app-page.ts";
import { sharedSystem } from "../support/system/test-system.ts";

const SECOND_PORT = 9090;

const system = sharedSystem();

const published = (port: number): object => expect.objectContaining({ HostPort: String(port) });

// The machine's engine may be unable to run privileged containers; a private engine can.
const privileged = (await privateEngineUnavailableReason()) === undefined;

test("with every field set runs exactly as requested", async () => {
  const image = await system().load(await webImage());
  const ports = [await freeHostPort(), await freeHostPort(), await freeHostPort()] as const;
  const [settings, data] = [join(system().directory, "settings"), join(system().directory, "data")];
  await mkdir(settings);
  await writeFile(join(settings, "hello"), "from the device");
  const name = system().name();
  const { status, headers, events, final, deploymentId } = await system().deploy({
    name,
    image,
    privileged,
    environments: [
      { key: "GREETING", value: 'hello = "world" $HOME' },
      { key: "EMPTY", value: "" },
      { key: "SECOND_PORT", value: String(SECOND_PORT) },
    ],
    ports: [
      { host_port: ports[0], target_port: WEB_PORT },
      { host_port: ports[1], target_port: SECOND_PORT },
      { host_port: ports[2], target_port: WEB_PORT },
    ],
    volumes: [
      { local: settings, target: "/settings", readonly: true },
      { local: data, target: "/data" },
    ],
  });

  expect({ status, headers, final }).toMatchObject({
    status: 200,
    headers: { "content-type": "text/event-stream", "deployment-id": deploymentId, "cache-control": "no-cache" },
    final: { status: "Success", step: "done" },
  });
  // The second one makes the missing directory.
  const steps = ["received", "checking", "pulling", "creating", "creating", "starting", "verifying", "done"];
  expect(events.map(({ step }) => step)).toEqual(steps);
  expect(events.map(({ seq }) => seq)).toEqual(steps.map((_, index) => index + 1));

  for (const port of ports) expect(await page(port)).toContain('edge-agent test app version 1 hello = "world" $HOME');
  expect(await page(ports[0], "/cgi-bin/env")).toContain("\nEMPTY=\n");
  expect(await page(ports[0], "/cgi-bin/file?/settings/hello")).toContain("from the device");
  expect(await page(ports[0], "/cgi-bin/write?/settings/other")).not.toContain("ok");
  expect(await page(ports[0], "/cgi-bin/write?/data/made")).toContain("ok");
  expect(await readFile(join(data, "made"), "utf8")).toBe("written\n");

  const { Name, Config, HostConfig, Mounts } = await system().inspect(deploymentId);
  expect(Name).toBe(`/${name}`);
  expect(Config.Env).toEqual(expect.arrayContaining(['GREETING=hello = "world" $HOME', "EMPTY="]));
  expect(Config.Labels).toEqual({
    "io.edge-agent.app": name,
    "io.edge-agent.deployment": deploymentId,
    // Always set, even if empty: otherwise the image's label would apply.
    "io.edge-agent.extras": "{}",
    "io.edge-agent.network-of": "",
    "io.edge-agent.previous-image": "",
    "io.edge-agent.secret-variables": "[]",
    "io.edge-agent.image": image,
    "io.edge-agent.spec-hash": expect.stringMatching(/^[0-9a-f]{64}$/),
    "io.edge-agent.state-dir": expect.stringMatching(/^\//),
  });
  expect(HostConfig).toMatchObject({
    Privileged: privileged,
    RestartPolicy: { Name: "unless-stopped" },
    LogConfig: { Type: "json-file", Config: { "max-size": "10485760", "max-file": "3" } },
    PortBindings: {
      [`${WEB_PORT}/tcp`]: [published(ports[0]), published(ports[2])],
      [`${SECOND_PORT}/tcp`]: [published(ports[1])],
    },
  });
  expect(Mounts.map(({ Type, Source, Destination, RW }) => ({ Type, Source, Destination, RW }))).toEqual(
    expect.arrayContaining([
      { Type: "bind", Source: settings, Destination: "/settings", RW: false },
      { Type: "bind", Source: data, Destination: "/data", RW: true },
    ]),
  );
});

test("on the host's network listens on the device itself, and reports that a port mapping has no effect", async () => {
  const image = await system().load(await webImage());
  const [own, mapped] = [await freeHostPort(), await freeHostPort()];
  const { events, final, deploymentId } = await system().deploy({
    name: system().name(),
    image,
    host_network: true,
    environments: [{ key: "PORT", value: String(own) }],
    ports: [{ host_port: mapped, target_port: own }],
  });
  expect(final.status).toBe("Success");
  expect(events.map(({ message }) => message)).toContain(
    "The app is on the host's network: its port mapping has no effect.",
  );
  expect(await page(own)).toContain("edge-agent test app");
  await expect(fetch(`http://127.0.0.1:${mapped}/`)).rejects.toThrow("fetch failed");
  const { HostConfig } = await system().inspect(deploymentId);
  expect(HostConfig).toMatchObject({ NetworkMode: "host", Privileged: false });
});

test("needs only a name and an image", async () => {
  const image = await system().load(await webImage());
  const { final, deploymentId } = await system().deploy({ name: system().name(), image });
  expect(final.status).toBe("Success");
  const { HostConfig, Mounts } = await system().inspect(deploymentId);
  expect(HostConfig).toMatchObject({ Privileged: false, RestartPolicy: { Name: "unless-stopped" } });
  expect(Mounts).toEqual([]);
});

test("accepts the asset's serial number and its UUID in capitals", async () => {
  const image = await system().load(await webImage());
  const { uuid, serialNumber } = system().asset;
  for (const asset of [serialNumber, uuid.toUpperCase()]) {
    const app = { name: system().name(), image };
    const { final } = await system().finish(await system().open(app, { asset }));
    expect(final.status).toBe("Success");
  }
});
