import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { run } from "../../support/command.ts";
import {
  APPS,
  CHANGES,
  COMPOSE,
  DRY,
  HASH,
  REAL,
  SUCCESS,
  done,
  planned,
  startApply,
} from "../../support/edgectl/apply-rig.ts";
import { event, json, stream } from "../../support/edgectl/scripted-service.ts";

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

function digest(digit: string): string {
  return `@sha256:${digit.repeat(64)}`;
}

function installed(name: string, image: string) {
  return { name: `gw.${name}`, image, state: "running", ports: [], spec: { image, project: "gw", hostname: "h" } };
}

describe("edgectl apply of several apps", () => {
  test("shows the device's plan, applies exactly that, and ends in one verdict", async () => {
    await using rig = await startApply();
    rig.answer(planned(), done());
    const { code, stdout, stderr } = await rig.apply(EDGE, "--yes", "--prune");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.split("\n")).toEqual([
      "checking: Event 1",
      "mosquitto: new",
      "node-red: changes",
      "  ~ image  -> node-red:4",
      "  ~ environments.TOKEN",
      "old: removed; its data stays",
      "To download: 9.10 MB",
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

  test("the plan has the image before and after, shortened, of apps whose state is known", async () => {
    await using rig = await startApply();
    const apps = [installed("web", `web${digest("a")}`), installed("db", "db:1")];
    rig.service.on(`GET ${APPS}`, json(200, { apps, reported_at: 1, reachable: true }));
    const changes = [
      { app: "gw.web", change: "update" as const, fields: ["image", "hostname", "environments.KEY"] },
      { app: "gw.db", change: "update" as const, fields: ["image"] },
    ];
    rig.answer(planned(changes));
    const web = `{image: 'web${digest("b")}', restart: always, environment: {KEY: planted}}`;
    const compose = `name: gw\nservices:\n  web: ${web}\n  db: {image: 'db:1', restart: always}\n`;
    const { stdout } = await rig.apply(compose, "--dry-run");
    expect(stdout).toContain(
      [
        "gw.web: changes",
        "  ~ image  web@sha256:aaaaaaaaaaaa -> web@sha256:bbbbbbbbbbbb",
        "  ~ hostname",
        "  ~ environments.KEY",
        "gw.db: changes",
        "  ~ image  (the same name, another image)",
        "",
      ].join("\n"),
    );
    expect(stdout).not.toContain("planted");
  });

  test("the options of the group and of the deployment are sent", async () => {
    await using rig = await startApply();
    rig.answer(planned());
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
    await using rig = await startApply();
    rig.answer(planned([{ app: "mosquitto", change: "none", fields: [] }], 0));
    const { code, stdout } = await rig.apply(EDGE, "--yes");
    expect({ code, stdout }).toEqual({
      code: 0,
      stdout: "checking: Event 1\nmosquitto: nothing to change\nNothing to change.\n",
    });
    expect(rig.requests()).toEqual([DRY]);
  });

  test("--dry-run changes nothing and needs no answer", async () => {
    await using rig = await startApply();
    rig.answer(planned());
    const { code, stdout } = await rig.apply(EDGE, "--dry-run");
    expect(code).toBe(0);
    expect(stdout).toMatch(/To download: 9\.10 MB\nNothing was changed\.\n$/);
    expect(rig.requests()).toEqual([DRY]);
  });

  test("--json prints the ports, the plan and the events of the deployment", async () => {
    await using rig = await startApply();
    rig.service.on(`GET ${APPS}`, json(200, { apps: [], reported_at: null, reachable: true }));
    rig.answer(planned(), done());
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
      ports: [{ app: "gw.mosquitto", host_port: 30_488, target_port: 1883, protocol: "tcp", file_port: 1883 }],
    });
    expect(documents[1]).toEqual({ plan: CHANGES, plan_hash: HASH, download_bytes: 9_100_000 });
    expect(documents.at(-1)).toMatchObject(SUCCESS);
  });

  test("a failure names what went back, and the exit code is 1", async () => {
    await using rig = await startApply();
    const details = { app: "node-red", changed: [], restored: ["mosquitto"], not_restored: [] };
    const fail = {
      status: "Fail",
      step: "done",
      code: "HealthCheckFailed",
      message: "node-red did not become healthy.",
      details,
    };
    rig.answer(planned(), stream([event(1, fail)]));
    const { code, stderr } = await rig.apply(EDGE, "--yes");
    expect(code).toBe(1);
    expect(stderr).toContain("node-red did not become healthy. (HealthCheckFailed)");
    expect(stderr).toContain("restored:\n    mosquitto");
  });

  test("a dry run that is refused shows why, and nothing is applied", async () => {
    await using rig = await startApply();
    rig.answer(stream([event(1, { status: "Fail", code: "AppExists", message: "web belongs to another project." })]));
    const { code, stderr } = await rig.apply(EDGE, "--yes");
    expect(code).toBe(1);
    expect(stderr).toContain("another project");
    expect(rig.requests()).toEqual([DRY]);
  });

  test("the device changed meanwhile: compared again, once", async () => {
    await using rig = await startApply();
    const changed = { status: "Fail", code: "PlanChanged", message: "The device would make other changes by now." };
    rig.answer(planned(), stream([event(1, changed)]), planned(), done());
    const { code, stderr } = await rig.apply(EDGE, "--yes");
    expect(code).toBe(0);
    expect(stderr).toContain("Comparing again");
    expect(rig.requests()).toEqual([DRY, REAL, DRY, REAL]);
  });

  test.each([
    ["y", 0, [DRY, REAL]],
    ["", 1, [DRY]],
  ])("on a terminal it asks, and %j is taken for an answer", async (answer, exitCode, requests) => {
    await using rig = await startApply();
    rig.answer(planned(), done());
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
    await using rig = await startApply();
    const { code, stderr } = await rig.apply(EDGE);
    expect(code).toBe(2);
    expect(stderr).toContain("--yes");
    expect(rig.requests()).toEqual([]);
  });

  test("an answer without a plan is not taken for one", async () => {
    await using rig = await startApply();
    rig.answer(stream([event(1, SUCCESS)]));
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
      "must be started, healthy or completed",
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
    await using rig = await startApply();
    const { code, stderr } = await rig.apply(text, "--yes");
    expect(stderr.replaceAll(`${rig.directory}/`, "")).toContain(message);
    expect(code).toBe(2);
    expect(rig.requests()).toEqual([]);
  });

  test("options for several apps, given with one", async () => {
    await using rig = await startApply();
    const { code, stderr } = await rig.apply("name: web\nimage: web:1\n", "--yes", "--prune", "--map-ports");
    expect(code).toBe(2);
    expect(stderr).toContain("describes one app; --prune, --map-ports is for several.");
  });
});
