import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { expect, test } from "vitest";
import { run } from "../support/command.ts";
import { freeHostPort } from "../support/free-port.ts";
import { crashLoopImage, webImage, WEB_PORT } from "../support/images.ts";
import { page } from "../support/system/app-page.ts";
import { sharedSystem } from "../support/system/test-system.ts";

/*
 * edgectl apply with files of several apps, as an operator gives them.
 */

const system = sharedSystem();

async function edgectl(...args: readonly string[]): ReturnType<typeof run> {
  const { control, account, directory } = system();
  const XDG_CONFIG_HOME = join(directory, "operator");
  const env = { EDGECTL_URL: control.url, EDGECTL_API_KEY: account.apiKey, XDG_CONFIG_HOME };
  return await run("dist/edgectl", args, { env });
}

/** A directory with files of the operator. */
async function project(files: Readonly<Record<string, string>>) {
  const name = system().name("project");
  const directory = join(system().directory, name);
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(directory, path)), { recursive: true });
    await writeFile(join(directory, path), text);
  };
  for (const [path, text] of Object.entries(files)) await write(path, text);
  const apply = (file: string, ...flags: string[]): ReturnType<typeof run> =>
    edgectl("apply", system().asset.serialNumber, "-f", join(directory, file), ...flags);
  return { name, write, apply };
}

const file = async (port: number, path: string): Promise<string> =>
  (await fetch(`http://127.0.0.1:${port}/cgi-bin/file?${path}`)).text();
const written = async (port: number, path: string): Promise<string> =>
  (await fetch(`http://127.0.0.1:${port}/cgi-bin/write?${path}`)).text();

test("edge.yaml: shown, applied, found unchanged, changed, brought back as a whole, renamed and pruned", async () => {
  const [first, second, third] = ["first", "second", "third"].map((label) => system().name(label));
  const [one, two] = [await system().load(await webImage()), await system().load(await webImage("2"))];
  const crasher = await system().load(await crashLoopImage(3));
  const [port, other] = [await freeHostPort(), await freeHostPort()];
  const volume = system().name("data");
  const edge = (images: readonly [string, string], name = second) => `
name: ${system().prefix}line
apps:
  ${name}:
    image: ${images[1]}
    pull: missing
    ports: [{ host_port: ${other}, target_port: ${WEB_PORT} }]
    volumes: [{ name: ${volume}, target: /data }]
    depends_on: { ${first}: healthy }
  ${first}:
    image: ${images[0]}
    pull: missing
    ports: [{ host_port: ${port}, target_port: ${WEB_PORT} }]
    files: [{ target: /etc/app.conf, from: ./app.conf }]
`;
  const { write, apply } = await project({ "edge.yaml": edge([one, one]), "app.conf": "level = 1\n" });
  const update = async (text: string, ...flags: string[]) => {
    await write("edge.yaml", text);
    return await apply("edge.yaml", ...flags);
  };

  const asked = await apply("edge.yaml");
  expect([asked.code, asked.stderr]).toEqual([2, expect.stringContaining("Give --yes")]);
  const dry = await apply("edge.yaml", "--dry-run");
  expect(dry).toMatchObject({ code: 0, stderr: "" });
  expect(dry.stdout).toMatch(new RegExp(`${first}: new\n${second}: new\nNothing was changed\\.\n$`));
  expect(await apply("edge.yaml", "--yes")).toMatchObject({ code: 0, stderr: "" });
  expect(await file(port, "/etc/app.conf")).toBe("level = 1\n");
  expect(await written(other, "/data/kept")).toContain("ok");
  expect((await apply("edge.yaml", "--yes")).stdout).toContain("Nothing to change.");
  const shown = await edgectl("apps", "show", system().asset.serialNumber, first ?? "");
  expect(shown.stdout).toMatch(new RegExp(`Project +${system().prefix}line`));

  await write("app.conf", "level = 2\n");
  const failed = await update(edge([two, crasher]), "--yes");
  expect(failed.code).toBe(1);
  expect(failed.stderr).toContain("CrashLoopBackOff");
  expect(failed.stderr).toContain(`As before again: ${first}, ${second}.`);
  expect(await page(port)).toContain("version 1");
  expect(await file(port, "/etc/app.conf")).toBe("level = 1\n");
  expect(await file(other, "/data/kept")).toBe("written\n");

  const renamed = edge([one, one], third);
  const refused = await update(renamed, "--yes");
  expect(refused.code).toBe(1);
  expect(refused.stderr).toContain(`${second} is of the same project and not in the request: prune removes it first.`);
  const pruned = await update(renamed, "--yes", "--prune", "--json");
  expect(pruned.code).toBe(0);
  const lines = pruned.stdout.trim().split("\n");
  expect(JSON.parse(lines[0] ?? "")).toMatchObject({
    plan: [
      { app: second, change: "remove" },
      { app: first, change: "update", fields: ["files./etc/app.conf"] },
      { app: third, change: "create" },
    ],
  });
  expect(JSON.parse(lines.at(-1) ?? "")).toMatchObject({
    status: "Success",
    details: { changed: [first, third], removed: [second], unchanged: [] },
  });
  expect(await file(port, "/etc/app.conf")).toBe("level = 2\n");
  expect(await file(other, "/data/kept")).toBe("written\n");
});

test("compose.yaml: ports are chosen and shown, the same at every repetition, and files come with their apps", async () => {
  const [web, admin] = [system().name("web"), system().name("admin")];
  const image = await system().load(await webImage());
  const compose = `
services:
  ${web}:
    image: \${IMAGE}
    restart: unless-stopped
    pull_policy: missing
    ports: ["80:${WEB_PORT}"]
    environment: [GREETING]
    volumes:
      - ./site.conf:/etc/site.conf:ro
      - ./conf.d:/etc/conf.d:ro
      - data:/data
    depends_on: { ${admin}: { condition: service_healthy } }
  ${admin}:
    image: \${IMAGE:?the image}
    restart: unless-stopped
    pull_policy: missing
    ports: ["80:${WEB_PORT}"]
volumes:
  data:
    name: ${system().name("data")}
`;
  const { name, apply } = await project({
    "compose.yaml": compose,
    ".env": `IMAGE=${image}\nGREETING="hello from .env"\n`,
    "site.conf": "site\n",
    "conf.d/a/b.conf": "b\n",
  });
  const without = await apply("compose.yaml", "--yes");
  expect(without.code).toBe(2);
  expect(without.stderr).toMatch(
    /compose\.yaml:7:13: services\.\S+\.ports\[0\] has the port 80 on the device.*--map-ports/,
  );
  const first = await apply("compose.yaml", "--map-ports", "--yes");
  expect(first).toMatchObject({ code: 0, stderr: "" });
  const ports = [...first.stdout.matchAll(/(\d+):8080 {2}\(80 in the file\)/g)].map(([, port]) => Number(port));
  expect(first.stdout.indexOf("Ports on the device:")).toBe(0);
  expect(new Set(ports).size).toBe(2);
  expect(await page(ports[0] ?? 0)).toContain("hello from .env");
  expect(await file(ports[0] ?? 0, "/etc/site.conf")).toBe("site\n");
  expect(await file(ports[0] ?? 0, "/etc/conf.d/a/b.conf")).toBe("b\n");
  const again = await apply("compose.yaml", "--map-ports", "--yes");
  expect(again.stdout).toContain("Nothing to change.");
  expect([...again.stdout.matchAll(/(\d+):8080/g)].map(([, port]) => Number(port))).toEqual(ports);
  const own = name.toLowerCase().replaceAll(/[^a-z0-9_-]/g, "");
  const shown = await edgectl("apps", "show", system().asset.serialNumber, `${own}/${web}`, "--json");
  expect(JSON.parse(shown.stdout)).toMatchObject({ name: `${own}.${web}`, spec: { project: own } });

  // Another project has a service of the same name, and neither is in the other's way.
  const service = `${web}: { image: "${image}", restart: always, pull_policy: missing, ports: ["80:${WEB_PORT}"] }`;
  const other = await project({ "compose.yaml": `services:\n  ${service}\n` });
  const beside = await other.apply("compose.yaml", "--map-ports", "--yes");
  expect(beside).toMatchObject({ code: 0, stderr: "" });
  expect((await apply("compose.yaml", "--map-ports", "--yes")).stdout).toContain("Nothing to change.");
});
