import { createHash } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { run } from "../../support/command.ts";
import { type EdgectlUser, edgectlUser } from "../../support/edgectl/process.ts";
import { event, json, type Respond, startScriptedService, stream } from "../../support/edgectl/scripted-service.ts";

const KEY = "ek_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";
const APPS = "/v1/assets/GW-1/edge/apps";
const WEB = `${APPS}/web`;
const SUCCESS = { status: "Success", step: "done", message: "App web is running." };
const NO_APP = json(404, { code: "AppNotFound", message: "There is no app of this name on the device." });
const FILE = { name: "web", image: "web:1", environments: [{ key: "TOKEN", value: "planted-secret" }] };

function installed(spec: object): Respond {
  const state = { state: "running", ports: [], reported_at: 1_795_000_000, reachable: true };
  return json(200, { name: "web", image: "web:1", spec: { ...FILE, ...spec }, ...state });
}

const filesOf = (body: Readonly<Record<string, unknown>>) => body["files"];

async function setUp() {
  const service = await startScriptedService();
  const user = await edgectlUser();
  const env = { EDGECTL_URL: service.url, EDGECTL_API_KEY: KEY };
  const file = join(user.configDirectory, "app.json");
  const changes = () => service.requests.filter(({ method }) => method !== "GET");
  return {
    service,
    env,
    file,
    /** The requests that change something, as method and path. */
    changes: () => changes().map(({ method, path }) => `${method} ${path}`),
    body: () => JSON.parse(changes().at(-1)?.body ?? "null") as unknown,
    bodies: () => changes().map(({ body }) => JSON.parse(body) as Readonly<Record<string, unknown>>),
    async apply(app: unknown, ...flags: string[]): ReturnType<EdgectlUser["run"]> {
      await writeFile(file, typeof app === "string" ? app : JSON.stringify(app));
      return user.run(["apply", "GW-1", "-f", file, ...flags], { env });
    },
    async [Symbol.asyncDispose]() {
      await user[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

describe("edgectl apply", () => {
  test("deploys an app that the device does not have", async () => {
    await using rig = await setUp();
    rig.service.on(`GET ${WEB}`, NO_APP);
    rig.service.on(`POST ${APPS}`, stream([event(1), event(2, SUCCESS)]));
    const { code, stdout, stderr } = await rig.apply({ ...FILE, urgent: true }, "--yes");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.split("\n")).toEqual([
      "web: new",
      "  + image               web:1",
      "  + environments.TOKEN  (value not shown; --reveal shows it)",
      "checking: Event 1",
      "App web is running.",
      "",
    ]);
    expect(rig.service.requests[0]?.path).toBe(`${WEB}?reveal=environments`);
    expect(rig.body()).toMatchObject({ ...FILE, urgent: true });
  });

  test("sends nothing where nothing differs", async () => {
    await using rig = await setUp();
    rig.service.on(`GET ${WEB}`, installed({ ports: [], restart_policy: "unless-stopped" }));
    const { code, stdout } = await rig.apply(FILE, "--yes");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "web: nothing to change\n" });
    expect(rig.changes()).toEqual([]);
  });

  test("replaces: what the app has beyond the file is taken away", async () => {
    await using rig = await setUp();
    rig.service.on(`GET ${WEB}`, installed({ memory_limit: 268_435_456, environments: [{ key: "OLD", value: "x" }] }));
    rig.service.on(`PATCH ${WEB}`, stream([event(1, SUCCESS)]));
    const { code, stdout } = await rig.apply(FILE, "--yes");
    expect(code).toBe(0);
    expect(stdout).toContain("  - memory_limit        256 MiB\n");
    expect(stdout).not.toContain("planted-secret");
    expect(rig.body()).toMatchObject({ environments: FILE.environments, memory_limit: null });
    expect(rig.body()).not.toHaveProperty("name");
  });

  test("a secret without a value keeps the one on the device; a new app has none", async () => {
    await using rig = await setUp();
    const environments = [{ key: "TOKEN", value: "***", secret: true }];
    rig.service.on(`GET ${WEB}`, installed({ image: "web:0", environments }), NO_APP);
    rig.service.on(`PATCH ${WEB}`, stream([event(1, SUCCESS)]));
    const file = { ...FILE, environments: [{ key: "TOKEN", secret: true }] };
    expect((await rig.apply(file, "--yes")).code).toBe(0);
    expect(rig.body()).toMatchObject({ environments: [{ key: "TOKEN", secret: true }] });
    const { code, stderr } = await rig.apply(file, "--yes");
    expect({ code, stderr }).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("The secret TOKEN has no value"),
    });
    expect(rig.changes()).toEqual([`PATCH ${WEB}`]);
  });

  test("sends the hash of a file that the device has, and its content where it does not have it after all", async () => {
    await using rig = await setUp();
    const content = "listener 1883\n".repeat(20);
    const sha256 = createHash("sha256").update(content).digest("hex");
    const files = [{ target: "/etc/a.conf", size: content.length, sha256, mode: "0444" }];
    const issues = [{ path: "files[0].sha256", reason: "is not that of a content" }];
    const invalid = { step: "checking", message: "Invalid.", code: "InvalidRequest", details: { issues } };
    rig.service.on(`GET ${WEB}`, installed({ image: "web:0", files }));
    rig.service.on(
      `PATCH ${WEB}`,
      stream([event(1, { status: "Fail", ...invalid })]),
      stream([event(1, SUCCESS)]),
      stream([event(1, { status: "Fail", ...invalid, details: { issues: [{ path: "image", reason: "is none" }] } })]),
    );
    const file = { ...FILE, files: [{ target: "/etc/a.conf", content }] };
    expect((await rig.apply(file, "--yes")).code).toBe(0);
    expect(rig.bodies().map(filesOf)).toEqual([[{ target: "/etc/a.conf", sha256 }], file.files]);

    // Another refusal is the end.
    expect((await rig.apply(file, "--yes")).code).toBe(1);
    expect(rig.bodies()).toHaveLength(3);
  });

  test("--dry-run shows the difference and has the device check it", async () => {
    await using rig = await setUp();
    rig.service.on(`GET ${WEB}`, installed({ image: "web:0" }));
    rig.service.on(`PATCH ${WEB}`, stream([event(1, { ...SUCCESS, message: "Nothing was changed." })]));
    const { code, stdout } = await rig.apply(FILE, "--dry-run");
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: "web: changes\n  ~ image  web:0 -> web:1\nNothing was changed.\n",
    });
    expect(rig.changes()).toEqual([`PATCH ${WEB}?dry_run=true`]);
  });

  test("--json prints the plan, then the events, one document per line", async () => {
    await using rig = await setUp();
    rig.service.on(`GET ${WEB}`, installed({ image: "web:0" }));
    rig.service.on(`PATCH ${WEB}`, stream([event(1, SUCCESS)]));
    const { stdout } = await rig.apply(FILE, "--yes", "--json");
    const [plan, ...events] = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
    const fields = [{ field: "image", change: "change", old: "web:0", new: "web:1" }];
    expect(plan).toEqual({ plan: [{ app: "web", change: "update", fields, unknown_fields: [] }] });
    expect(events).toEqual([expect.objectContaining(SUCCESS)]);
  });

  test("compares again when somebody else deploys the app meanwhile", async () => {
    await using rig = await setUp();
    rig.service.on(`GET ${WEB}`, NO_APP, installed({ image: "web:0" }));
    const exists = { status: "Fail", step: "checking", code: "AppExists", message: "An app of this name exists." };
    rig.service.on(`POST ${APPS}`, stream([event(1, exists)]));
    rig.service.on(`PATCH ${WEB}`, stream([event(1, SUCCESS)]));
    const { code, stderr } = await rig.apply(FILE, "--yes");
    expect(code).toBe(0);
    expect(stderr).toBe("Note: Another client deployed web meanwhile. Comparing again.\n");
    expect(rig.changes()).toEqual([`POST ${APPS}`, `PATCH ${WEB}`]);
  });

  test("compares again when somebody else removes the app meanwhile, once", async () => {
    await using rig = await setUp();
    rig.service.on(`GET ${WEB}`, installed({ image: "web:0" }));
    rig.service.on(`PATCH ${WEB}`, NO_APP);
    const { code } = await rig.apply(FILE, "--yes");
    expect(code).toBe(4);
    expect(rig.changes()).toEqual([`PATCH ${WEB}`, `PATCH ${WEB}`]);
  });

  test("an asset that does not exist is not an app to be deployed", async () => {
    await using rig = await setUp();
    rig.service.on(`GET ${WEB}`, json(404, { code: "AssetNotFound", message: "Asset not found" }));
    expect((await rig.apply(FILE, "--yes")).code).toBe(4);
    expect(rig.changes()).toEqual([]);
  });

  test("without a terminal it wants --yes", async () => {
    await using rig = await setUp();
    const { code, stderr } = await rig.apply(FILE);
    expect(code).toBe(2);
    expect(stderr).toContain("--yes");
    expect(rig.service.requests).toEqual([]);
  });

  test.each([
    ["an unknown field", { ...FILE, memory: 1 }, "memory: unknown field"],
    ["no name", { image: "web:1" }, "`name` is missing"],
    ["a wrong value", { ...FILE, memory_limit: 1 }, "memory_limit: "],
    ["a masked value", { ...FILE, environments: [{ key: "TOKEN", value: "***" }] }, "TOKEN"],
    ["a list of apps", [FILE, FILE], "does not hold one app"],
    ["broken YAML", "name: web\nimage: [web:1\n", "app.json:3:1: "],
  ])("refuses a file with %s before anything is sent", async (_what, app, message) => {
    await using rig = await setUp();
    const { code, stderr } = await rig.apply(app, "--yes");
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain("planted-secret");
    expect(rig.service.requests).toEqual([]);
  });

  test.each([
    ["y", 0, [`PATCH ${WEB}`]],
    ["", 1, []],
    ["n", 1, []],
  ])("on a terminal it asks, and %j is taken for an answer", async (answer, exitCode, changes) => {
    await using rig = await setUp();
    rig.service.on(`GET ${WEB}`, installed({ image: "web:0" }));
    rig.service.on(`PATCH ${WEB}`, stream([event(1, SUCCESS)]));
    await writeFile(rig.file, JSON.stringify(FILE));
    const main = join(import.meta.dirname, "../../../src/edgectl/main.ts");
    const command = `'${process.execPath}' '${main}' apply GW-1 -f '${rig.file}'`;
    const { code, stdout } = await run("script", ["-qec", command, "/dev/null"], {
      env: { ...rig.env, TERM: "xterm", NO_COLOR: "1" },
      input: `${answer}\n`,
    });
    expect(stdout).toContain("~ image  web:0 -> web:1");
    expect(stdout).toContain("Apply this to GW-1? [y/N]");
    expect(code).toBe(exitCode);
    expect(rig.changes()).toEqual(changes);
  });
});
