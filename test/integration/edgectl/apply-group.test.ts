import { chmod, mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import type { PlannedChange } from "../../../src/protocol/apply.ts";
import { run } from "../../support/command.ts";
import { type EdgectlUser, edgectlUser } from "../../support/edgectl/process.ts";
import { event, json, startScriptedService, stream } from "../../support/edgectl/scripted-service.ts";

const KEY = "ek_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";
const APPLY = "/v1/assets/GW-1/edge/apply";
const DRY = `POST ${APPLY}?dry_run=true`;
const REAL = `POST ${APPLY}`;
const APPS = "/v1/assets/GW-1/edge/apps";
const HASH = "0123456789abcdef".repeat(4);

const EDGE = `
name: line-3
apps:
  mosquitto:
    image: mosquitto:2
    ports: [{host_port: 31883, target_port: 1883}]
  node-red:
    image: node-red:4
    environments: [{key: TOKEN, value: planted-secret}]
    depends_on: {mosquitto: healthy}
`;

const COMPOSE = `
services:
  mosquitto:
    image: mosquitto:2
    ports: ["1883:1883"]
  web:
    image: "web:\${TAG}"
    ports: ["30080:80"]
    depends_on: [mosquitto]
`;

const CHANGES: PlannedChange[] = [
  { app: "mosquitto", change: "create", fields: [] },
  { app: "node-red", change: "update", fields: ["image", "environments.TOKEN"] },
  { app: "old", change: "remove", fields: [] },
];

function planned(plan: readonly PlannedChange[] = CHANGES, download_bytes = 9_100_000) {
  const details = { dry_run: true, plan, plan_hash: HASH, download_bytes };
  return stream([event(1), event(2, { status: "Success", step: "done", message: "Nothing was changed.", details })]);
}

const SUCCESS = { status: "Success", step: "done", message: "Project line-3 is applied." };
const done = () => stream([event(1, { app: "mosquitto", step: "pulling", message: "Pulling." }), event(2, SUCCESS)]);

async function setUp() {
  const service = await startScriptedService();
  const user = await edgectlUser();
  const env = { EDGECTL_URL: service.url, EDGECTL_API_KEY: KEY };
  const directory = join(user.configDirectory, "gw");
  const posts = () => service.requests.filter(({ method }) => method === "POST");
  return {
    service,
    user,
    env,
    directory,
    requests: () => service.requests.map(({ method, path }) => `${method} ${path}`),
    body: (index = -1) => JSON.parse(posts().at(index)?.body ?? "null") as Record<string, unknown>,
    async write(name: string, text: string): Promise<string> {
      const file = join(directory, name);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
      return file;
    },
    async apply(text: string, ...flags: string[]): ReturnType<EdgectlUser["run"]> {
      const file = await this.write("file.yaml", text);
      return user.run(["apply", "GW-1", "-f", file, ...flags], { env });
    },
    async [Symbol.asyncDispose]() {
      await user[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

describe("edgectl apply of several apps", () => {
  test("shows the device's plan, applies exactly that, and ends in one verdict", async () => {
    await using rig = await setUp();
    rig.service.on(DRY, planned());
    rig.service.on(REAL, done());
    const { code, stdout, stderr } = await rig.apply(EDGE, "--yes", "--prune");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.split("\n")).toEqual([
      "checking: Event 1",
      "mosquitto: new",
      "node-red: changes",
      "  ~ image",
      "  ~ environments.TOKEN",
      "old: removed; its data stays",
      "To download: 9.1 MB",
      "mosquitto pulling: Pulling.",
      "Project line-3 is applied.",
      "",
    ]);
    expect(rig.requests()).toEqual([DRY, REAL]);
    expect(rig.body(0)).toEqual({
      project: "line-3",
      prune: true,
      apps: [
        {
          app: { name: "mosquitto", image: "mosquitto:2", ports: [{ host_port: 31_883, target_port: 1883 }] },
          depends_on: [],
        },
        {
          app: { name: "node-red", image: "node-red:4", environments: [{ key: "TOKEN", value: "planted-secret" }] },
          depends_on: [{ app: "mosquitto", condition: "healthy" }],
        },
      ],
    });
    expect(rig.body()).toEqual({ ...rig.body(0), expect: HASH });
    expect(stdout).not.toContain("planted-secret");
  });

  test("the options of the group and of the deployment are sent", async () => {
    await using rig = await setUp();
    rig.service.on(DRY, planned());
    const { code } = await rig.apply(
      `urgent: true\n${EDGE}`,
      "--dry-run",
      "--keep",
      "--adopt",
      "--project",
      "other",
      "--max-download",
      "5MB",
    );
    expect(code).toBe(0);
    expect(rig.body()).toMatchObject({
      project: "other",
      on_failure: "keep",
      adopt: true,
      urgent: true,
      max_download_bytes: 5_000_000,
    });
    expect(rig.body()).not.toHaveProperty("prune");
  });

  test("nothing differs: nothing is deployed", async () => {
    await using rig = await setUp();
    rig.service.on(DRY, planned([{ app: "mosquitto", change: "none", fields: [] }], 0));
    const { code, stdout } = await rig.apply(EDGE, "--yes");
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: "checking: Event 1\nmosquitto: nothing to change\nNothing to change.\n",
    });
    expect(rig.requests()).toEqual([DRY]);
  });

  test("--dry-run changes nothing and needs no answer", async () => {
    await using rig = await setUp();
    rig.service.on(DRY, planned());
    const { code, stdout } = await rig.apply(EDGE, "--dry-run");
    expect(code).toBe(0);
    expect(stdout).toMatch(/To download: 9\.1 MB\nNothing was changed\.\n$/);
    expect(rig.requests()).toEqual([DRY]);
  });

  test("--json prints the ports, the plan and the events of the deployment", async () => {
    await using rig = await setUp();
    rig.service.on(`GET ${APPS}`, json(200, { apps: [], reported_at: null, reachable: true }));
    rig.service.on(DRY, planned());
    rig.service.on(REAL, done());
    const { code, stdout, stderr } = await rig.apply(COMPOSE.replace("${TAG}", "1"), "--yes", "--json", "--map-ports");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const documents = stdout
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(documents.map((document) => Object.keys(document)[0])).toEqual(
      ["ports", "plan", "seq", "seq"].map((key) => (key === "seq" ? Object.keys(documents[2] ?? {})[0] : key)),
    );
    expect(documents[0]).toEqual({
      ports: [{ app: "mosquitto", host_port: 30_488, target_port: 1883, protocol: "tcp", file_port: 1883 }],
    });
    expect(documents[1]).toEqual({ plan: CHANGES, plan_hash: HASH, download_bytes: 9_100_000 });
    expect(documents.at(-1)).toMatchObject(SUCCESS);
  });

  test("a failure names what went back, and the exit code is 1", async () => {
    await using rig = await setUp();
    rig.service.on(DRY, planned());
    const details = { app: "node-red", changed: [], restored: ["mosquitto"], not_restored: [] };
    const fail = {
      status: "Fail",
      step: "done",
      code: "HealthCheckFailed",
      message: "node-red did not become healthy.",
      details,
    };
    rig.service.on(REAL, stream([event(1, fail)]));
    const { code, stderr } = await rig.apply(EDGE, "--yes");
    expect(code).toBe(1);
    expect(stderr).toContain("node-red did not become healthy. (HealthCheckFailed)");
    expect(stderr).toContain("restored:\n    mosquitto");
  });

  test("a dry run that is refused shows why, and nothing is applied", async () => {
    await using rig = await setUp();
    rig.service.on(
      DRY,
      stream([event(1, { status: "Fail", code: "AppExists", message: "web belongs to another project." })]),
    );
    const { code, stderr } = await rig.apply(EDGE, "--yes");
    expect(code).toBe(1);
    expect(stderr).toContain("another project");
    expect(rig.requests()).toEqual([DRY]);
  });

  test("the device changed meanwhile: compared again, once", async () => {
    await using rig = await setUp();
    rig.service.on(DRY, planned(), planned());
    const changed = { status: "Fail", code: "PlanChanged", message: "The device would make other changes by now." };
    rig.service.on(REAL, stream([event(1, changed)]), done());
    const { code, stderr } = await rig.apply(EDGE, "--yes");
    expect(code).toBe(0);
    expect(stderr).toContain("Comparing again");
    expect(rig.requests()).toEqual([DRY, REAL, DRY, REAL]);
  });

  test.each([
    ["y", 0, [DRY, REAL]],
    ["", 1, [DRY]],
  ])("on a terminal it asks, and %j is taken for an answer", async (answer, exitCode, requests) => {
    await using rig = await setUp();
    rig.service.on(DRY, planned());
    rig.service.on(REAL, done());
    const file = await rig.write("edge.yaml", EDGE);
    const main = join(import.meta.dirname, "../../../src/edgectl/main.ts");
    const command = `'${process.execPath}' '${main}' apply GW-1 -f '${file}'`;
    const { code, stdout } = await run("script", ["-qec", command, "/dev/null"], {
      env: { ...rig.env, TERM: "xterm", NO_COLOR: "1" },
      input: `${answer}\n`,
    });
    expect(code).toBe(exitCode);
    expect(stdout).toContain("Apply this to GW-1? [y/N]");
    expect(rig.requests()).toEqual(requests);
  });

  test("without a terminal, --yes or --dry-run is needed", async () => {
    await using rig = await setUp();
    const { code, stderr } = await rig.apply(EDGE);
    expect(code).toBe(2);
    expect(stderr).toContain("--yes");
    expect(rig.requests()).toEqual([]);
  });

  test("an answer without a plan is not taken for one", async () => {
    await using rig = await setUp();
    rig.service.on(DRY, stream([event(1, SUCCESS)]));
    expect((await rig.apply(EDGE, "--yes")).code).toBe(5);
    expect(rig.requests()).toEqual([DRY]);
  });
});

describe("a file of several apps that is wrong is refused by line before anything is sent", () => {
  test.each([
    [
      "an unknown field",
      "apps:\n  a:\n    image: a\n    memory: 1\n",
      "file.yaml:4:5: apps.a: `memory` unknown field; did you mean `memory_limit`?",
    ],
    ["no image", "apps:\n  a:\n    restart_policy: always\n", "file.yaml:2:3: apps.a: `image` "],
    [
      "a wrong value",
      "apps:\n  a:\n    image: a\n    volumes:\n      - {local: x, target: /x}\n",
      "file.yaml:5:10: apps.a: `volumes[0].local` ",
    ],
    ["a wrong name", "apps:\n  'a b':\n    image: a\n", "file.yaml:2:3: apps.a b: `name` must be 1 to 63"],
    [
      "an unknown dependency",
      "apps:\n  a:\n    image: a\n    depends_on: [b]\n",
      "file.yaml:4:18: apps.a: b is no app of the request.",
    ],
    ["a circle", "apps:\n  a: {image: a, depends_on: [b]}\n  b: {image: b, depends_on: [a]}\n", "circle: a -> b -> a"],
    [
      "a wrong condition",
      "apps:\n  a: {image: a, depends_on: {b: great}}\n  b: {image: b}\n",
      "must be started or healthy",
    ],
    [
      "a port twice",
      "apps:\n  a: {image: a, ports: [{host_port: 30001, target_port: 1}]}\n  b:\n    image: b\n    ports:\n      - {host_port: 30001, target_port: 1}\n",
      "file.yaml:6:9: apps.b: `ports[0].host_port` the port 30001/tcp is also one of the app a.",
    ],
    [
      "a port outside",
      "apps:\n  a:\n    image: a\n    ports:\n      - {host_port: 80, target_port: 80}\n",
      "file.yaml:5:9: apps.a.ports[0] has the port 80 on the device",
    ],
    ["no apps", "apps: {}\n", "The file has no apps."],
    ["a list of apps", "apps: [{image: a}]\n", "apps must be a map"],
    ["an unknown key", "app: {}\napps: {a: {image: a}}\n", "did you mean `apps`?"],
    ["another name inside", "apps:\n  a: {name: b, image: a}\n", "differs from a"],
    ["a wrong project", "name: 'a b'\napps: {a: {image: a}}\n", "The project has no name"],
    ["a loop", "apps: &a\n  a: *a\n", "file.yaml:2:6: The alias *a is inside what it stands for."],
    ["too much", `apps:\n  a: {image: a, command: [${"x, ".repeat(60_000)}]}\n`, "more than 50,000 values"],
  ])("%s", async (_what, text, message) => {
    await using rig = await setUp();
    const { code, stderr } = await rig.apply(text, "--yes");
    expect(stderr.replaceAll(`${rig.directory}/`, "")).toContain(message);
    expect(code).toBe(2);
    expect(rig.requests()).toEqual([]);
  });

  test("options for several apps, given with one", async () => {
    await using rig = await setUp();
    const { code, stderr } = await rig.apply("name: web\nimage: web:1\n", "--yes", "--prune", "--map-ports");
    expect(code).toBe(2);
    expect(stderr).toContain("describes one app; --prune, --map-ports is for several.");
  });
});

describe("edgectl apply of a compose file", () => {
  test("with .env, a file beside it, and the name of its directory as project", async () => {
    await using rig = await setUp();
    await rig.write(".env", "TAG=from-env-file\nOTHER=x\n");
    rig.service.on(DRY, planned());
    const { code, stderr } = await rig.apply(COMPOSE.replace("1883:", "31883:"), "--dry-run");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(rig.body()).toMatchObject({
      project: "gw",
      apps: [{ app: { name: "mosquitto" } }, { app: { image: "web:from-env-file" } }],
    });
  });

  test("this shell takes precedence over --env-file, and that replaces .env", async () => {
    await using rig = await setUp();
    await rig.write(".env", "TAG=default\nB=default\n");
    const file = await rig.write(
      "compose.yaml",
      "services: {web: {image: '${TAG}', hostname: '${B}', user: '${C:-none}'}}",
    );
    const other = await rig.write("other.env", "TAG=other\nB=other\n");
    rig.service.on(DRY, planned());
    const flags = ["--dry-run", "--env-file", other];
    const { stderr } = await rig.user.run(["apply", "GW-1", "-f", file, ...flags], { env: { ...rig.env, B: "shell" } });
    expect(stderr).not.toContain("TAG");
    expect(rig.requests().length === 1 ? rig.body()["apps"] : stderr).toBeDefined();
  });

  test("every problem is shown by line at once, and nothing is sent", async () => {
    await using rig = await setUp();
    const text =
      "services:\n  a:\n    build: .\n    profiles: [x]\n  b:\n    image: b\n    ports: ['80:80']\n    pid: host\n";
    const { code, stderr } = await rig.apply(text, "--yes");
    expect(code).toBe(2);
    expect(stderr).toContain("cannot be used: 4 problems. Nothing was sent.");
    expect([...stderr.matchAll(/file\.yaml:(\d+):\d+: /g)].map(([, line]) => line)).toEqual(["3", "4", "7", "8"]);
    expect(rig.requests()).toEqual([]);
  });

  test("--map-ports shows each port before anything is sent to the device, the same at every repetition", async () => {
    await using rig = await setUp();
    const installed = {
      name: "mosquitto",
      image: "m",
      state: "running",
      spec: {},
      ports: [{ host_port: 32_000, target_port: 1883, protocol: "tcp" }],
    };
    const none = json(200, { apps: [], reported_at: 1, reachable: true });
    rig.service.on(`GET ${APPS}`, none, none, json(200, { apps: [installed], reported_at: 1, reachable: true }));
    rig.service.on(DRY, planned());
    const text = COMPOSE.replace("${TAG}", "1");
    const first = await rig.apply(text, "--dry-run", "--map-ports");
    expect(first.stdout).toMatch(
      /^Ports on the device:\n {2}mosquitto {2}30488:1883 {2}\(1883 in the file\)\nchecking/,
    );
    const second = await rig.apply(text, "--dry-run", "--map-ports");
    expect(second.stdout).toBe(first.stdout);
    const third = await rig.apply(text, "--dry-run", "--map-ports");
    expect(third.stdout).toContain("32000:1883");
    expect(rig.body()["apps"]).toMatchObject([
      { app: { ports: [{ host_port: 32_000, target_port: 1883 }] } },
      { app: { ports: [{ host_port: 30_080, target_port: 80 }] } },
    ]);
  });

  test("notes are shown before the plan", async () => {
    await using rig = await setUp();
    rig.service.on(DRY, planned());
    const { stderr } = await rig.apply("version: '3'\nservices: {web: {image: w, tty: true}}\n", "--dry-run");
    expect(stderr.split("\n")).toEqual([
      expect.stringMatching(/^Note: .*file\.yaml:1:1: version has no effect/),
      expect.stringMatching(/^Note: .*file\.yaml:2:28: services\.web\.tty has no effect/),
      "",
    ]);
  });

  test("a file that cannot be read is a problem by line", async () => {
    await using rig = await setUp();
    const secret = await rig.write("secret.env", "A=1");
    await chmod(secret, 0o000);
    const { code, stderr } = await rig.apply("services: {web: {image: w, env_file: nothing.env}}\n", "--yes");
    expect(code).toBe(2);
    expect(stderr).toContain("file.yaml:1:28: services.web.env_file names nothing.env, which is not a file here.");
  });

  test("from standard input the project needs a name", async () => {
    await using rig = await setUp();
    const input = "services: {web: {image: w}}\n";
    const without = await rig.user.run(["apply", "GW-1", "-f", "-", "--yes"], { env: rig.env, input });
    expect(without.code).toBe(2);
    expect(without.stderr).toContain("--project NAME");
    rig.service.on(DRY, planned());
    const named = await rig.user.run(["apply", "GW-1", "-f", "-", "--dry-run", "--project", "p"], {
      env: rig.env,
      input,
    });
    expect(named.code).toBe(0);
    expect(rig.body()).toMatchObject({ project: "p" });
  });
});
