import { existsSync, lstatSync, readFileSync, readdirSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gunzipSync, gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import type { DeploymentEvent } from "../../src/protocol/deployments/deployment-event.ts";
import { run } from "../support/command.ts";
import { freeHostPort } from "../support/free-port.ts";
import { crashLoopImage, webImage, WEB_PORT } from "../support/images.ts";
import { page } from "../support/system/app-page.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";

const SECRET = "planted-secret-of-a-file";
const CONF = { target: "/etc/app/app.conf", content: "planted-plain answer = 42\n" };
const PASSWORD = { target: "/run/secrets/password", content: `${SECRET}\n`, secret: true, owner: "1234:1235" };

const system = sharedSystem(() => ({
  agentConfig: { log: { level: "trace" } },
  controlFlags: ["--log-level", "trace"],
}));

async function change(method: string, app: string, action?: string, body?: unknown): Promise<DeploymentEvent> {
  return (await system().finish(await system().change(method, app, action, body))).final;
}

/** Deploys an app that prints its secret file, and serves its files on a free port. */
async function deployed(): Promise<{ name: string; port: number; image: string }> {
  const [name, port] = [system().name(), await freeHostPort()];
  const image = await system().load(await webImage());
  const ports = [{ host_port: port, target_port: WEB_PORT }];
  const { final } = await system().deploy({ name, image, ports, files: [CONF, PASSWORD] });
  expect(final).toMatchObject({ status: "Success" });
  return { name, port, image };
}

const shown = (port: number, path: string): Promise<string> => page(port, `/cgi-bin/file?${path}`);
const docker = (...args: string[]) => run("docker", ["--host", `unix://${system().engineSocket}`, ...args]);
const places = (): string[] => readdirSync(join(system().agent.stateDir, "files"));

async function read(path: string): Promise<string> {
  const { control, asset, account } = system();
  const url = `${control.url}/v1/assets/${asset.uuid}/edge/${path}`;
  return (await fetch(url, { headers: { "X-API-Key": account.apiKey } })).text();
}

/** Returns the files of a database. */
function databaseIn(directory: string): string {
  const names = readdirSync(directory).filter((name) => /\.(?:db|sqlite)(?:-wal)?$/.test(name));
  expect(names).not.toEqual([]);
  return names.map((name) => readFileSync(join(directory, name), "latin1")).join("");
}

test("files are read-only in the app, with their owners and modes, and follow updates and rollbacks", async () => {
  const { name, port } = await deployed();
  expect(await shown(port, CONF.target)).toBe(CONF.content);
  const found = ["0", "1"].map((file) => lstatSync(join(system().agent.stateDir, "files", places()[0]!, file)));
  expect(found.map(({ mode }) => mode & 0o7777)).toEqual([0o444, 0o400]);
  expect([found[1]!.uid, found[1]!.gid]).toEqual([1234, 1235]);
  expect((await docker("exec", name, "sh", "-c", `echo x > ${CONF.target}`)).stderr).toContain("Read-only file system");

  const files = [{ ...CONF, content: "second\n" }, { target: PASSWORD.target }];
  expect(await change("PATCH", name, undefined, { files })).toMatchObject({ status: "Success" });
  expect(await shown(port, CONF.target)).toBe("second\n");
  expect(await shown(port, PASSWORD.target)).toBe(PASSWORD.content);
  expect(places()).toHaveLength(1);

  const image = await system().load(await crashLoopImage(3));
  const broken = { image, files: [{ ...CONF, content: "broken\n" }] };
  expect(await change("PATCH", name, undefined, broken)).toMatchObject({
    status: "Fail",
    details: { rolled_back: true },
  });
  expect(await shown(port, CONF.target)).toBe("second\n");
  expect(places()).toHaveLength(1);

  expect(await change("DELETE", name)).toMatchObject({ status: "Success" });
  expect(places()).toEqual([]);
});

test("files are back after their place, the container or the store was lost", async () => {
  const { name, port } = await deployed();
  const { agent } = system();
  const isBack = async (): Promise<boolean> => (await shown(port, PASSWORD.target)) === PASSWORD.content;

  rmSync(join(agent.stateDir, "files"), { recursive: true });
  expect(await change("POST", name, "restart")).toMatchObject({ status: "Success" });
  expect(await isBack()).toBe(true);

  await agent.kill();
  rmSync(join(agent.stateDir, "files"), { recursive: true });
  expect((await docker("rm", "--force", name)).code).toBe(0);
  await agent.start();
  await waitFor("the app to be repaired", isBack);

  await agent.kill();
  for (const suffix of ["", "-wal", "-shm"]) rmSync(join(agent.stateDir, `agent.db${suffix}`), { force: true });
  await agent.start();
  await waitFor("the apps to be looked for", () => !existsSync(join(agent.stateDir, "rebuild")));
  await waitFor("the app to be adopted", async () => (await read(`apps/${name}`)).includes(CONF.target));
  rmSync(join(agent.stateDir, "files"), { recursive: true });
  expect(await change("POST", name, "restart")).toMatchObject({ status: "Success" });
  expect(await isBack()).toBe(true);
  const files = [CONF, PASSWORD];
  expect(await change("PATCH", name, undefined, { files })).toMatchObject({ status: "Success" });
  expect(await change("DELETE", name)).toMatchObject({ status: "Success" });
});

test("no content is in any log, event, answer, label, bundle or store of the service; the app's log masks the secret", async () => {
  const { agent, control, directory } = system();
  const image = await system().load(await webImage());
  const name = system().name();
  const command = ["sh", "-c", `cat ${PASSWORD.target}; echo printed; exec sleep 2147483`];
  const { final, events } = await system().deploy({ name, image, command, files: [CONF, PASSWORD] });
  expect(final).toMatchObject({ status: "Success" });
  const log = await waitFor("the app's log", async () => {
    const text = await read(`apps/${name}/logs?tail=10`);
    return text.includes("printed") && text;
  });
  expect(log).toContain("***");
  const bundle = join(directory, "files-bundle.tar.gz");
  const tool = (...args: string[]) => run("dist/edge-agent", [...args, "--config", agent.configFile]);
  expect((await tool("support-bundle", bundle)).code).toBe(0);
  const facts = await tool("app", name);
  const revealed = await read(`apps/${name}?reveal=environments`);
  expect(revealed).toContain(CONF.target);
  const inspected = await docker("inspect", name);
  expect(inspected.stdout).toContain(CONF.target);
  const crashed = await system().deploy({
    name: system().name(),
    image,
    command: ["sh", "-c", `cat ${PASSWORD.target}; exit 3`],
    healthcheck: { command: ["true"], interval_s: 3600 },
    files: [PASSWORD],
  });
  expect(crashed.final).toMatchObject({ code: "CrashLoopBackOff", details: { logs: expect.anything() } });
  const wrongFile = Object.assign({ more: SECRET }, CONF);
  const wrong = await system().deploy({ name: system().name(), image, files: [PASSWORD, wrongFile] });
  expect(wrong.final).toMatchObject({ code: "InvalidRequest" });
  const written = [
    log,
    JSON.stringify([events, crashed, wrong, inspected]),
    await read(`apps/${name}`),
    await read("apps"),
    await read("deployments"),
    revealed,
    facts.stdout,
    agent.output(),
    control.output(),
    gunzipSync(await readFile(bundle)).toString("latin1"),
  ].join("\n");
  for (const planted of [SECRET, "planted-plain"]) {
    expect(written).not.toContain(planted);
    await waitFor("the service to have forgotten it", () => !databaseIn(control.dataDir).includes(planted));
    expect(written).not.toContain(Buffer.from(planted).toString("base64").slice(0, -4));
  }
  expect(await change("DELETE", name)).toMatchObject({ status: "Success" });
  expect(places()).toEqual([]);
});

test("exactly 4 MiB go with an app, come back with a rollback, and are read back after the store was lost", async () => {
  const { name, port, image } = await deployed();
  const { agent } = system();
  const largest = "0123456789abcde\n".repeat((4 * 1024 * 1024) / 16);
  const files = [{ target: "/etc/app/large", content_gzip: gzipSync(largest).toString("base64") }];
  expect(await change("PATCH", name, undefined, { files })).toMatchObject({ status: "Success" });
  expect(await shown(port, "/etc/app/large")).toBe(largest);
  // The update sends one byte, and what stays on the device counts too.
  const more = { files: [{ target: "/etc/app/large" }, { target: "/etc/app/more", content: "x" }] };
  expect(await change("PATCH", name, undefined, more)).toMatchObject({ status: "Fail", code: "InvalidRequest" });
  const broken = { image: await system().load(await crashLoopImage(3)), files: [CONF] };
  expect(await change("PATCH", name, undefined, broken)).toMatchObject({ details: { rolled_back: true } });
  expect(await shown(port, "/etc/app/large")).toBe(largest);

  await agent.kill();
  for (const suffix of ["", "-wal", "-shm"]) rmSync(join(agent.stateDir, `agent.db${suffix}`), { force: true });
  await agent.start();
  await waitFor("the apps to be looked for", () => !existsSync(join(agent.stateDir, "rebuild")));
  await waitFor("the app to be adopted", async () => (await read(`apps/${name}`)).includes("/etc/app/large"));
  // The file stays as it was read back: an update of something else places it anew.
  const next = { image, environments: [{ key: "NEXT", value: "1" }] };
  expect(await change("PATCH", name, undefined, next)).toMatchObject({ status: "Success" });
  expect(await shown(port, "/etc/app/large")).toBe(largest);
  expect(await change("DELETE", name)).toMatchObject({ status: "Success" });
  expect(places()).toEqual([]);
});

test("too many bytes, and a target that is a volume's, are refused before anything is sent to the device", async () => {
  const image = "localhost/never-pulled:1";
  const body = { name: system().name(), image };
  const large = { target: "/large", content_gzip: gzipSync(Buffer.alloc(16 * 1024 * 1024 + 1)).toString("base64") };
  const hidden = { target: "/data", content: "" };
  const volumes = [{ local: "/srv", target: "/data" }];
  for (const files of [[large], [hidden], [CONF, CONF], [{ ...CONF, target: "/" }]]) {
    const { final, events } = await system().deploy({ ...body, files, volumes });
    expect(final).toMatchObject({ status: "Fail", code: "InvalidRequest" });
    expect(events).toHaveLength(1);
  }
});
