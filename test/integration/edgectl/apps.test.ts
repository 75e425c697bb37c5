import { describe, expect, test } from "vitest";
import { edgectlUser, type EdgectlUser } from "../../support/edgectl/process.ts";
import {
  event,
  json,
  type Respond,
  type ScriptedService,
  startScriptedService,
  stream,
} from "../../support/edgectl/scripted-service.ts";
import { waitFor } from "../../support/wait-for.ts";

const KEY = "ek_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";
const APPS = "/v1/assets/GW-1/edge/apps";
const WEB = `${APPS}/web`;
const SUCCESS = { status: "Success", step: "done", message: "App web is running." };
const REPORTED_AT = 1_795_000_000;

const APP = {
  name: "web",
  image: "web:1",
  image_digest: `sha256:${"a".repeat(64)}`,
  state: "running",
  desired_state: "running",
  since: REPORTED_AT,
  restarts: 2,
  ports: [{ host_port: 30080, target_port: 80 }],
  spec: {
    name: "web",
    image: "web:1",
    environments: [
      { key: "TOKEN", value: "***" },
      { key: "PASSWORD", value: "***", secret: true },
    ],
    volumes: [{ local: "/data", target: "/srv", readonly: true }],
    memory_limit: 268_435_456,
  },
  last_deployment: { deployment_id: "dep_7", action: "update", status: "Success" },
};

interface Rig extends AsyncDisposable {
  readonly service: ScriptedService;
  readonly user: EdgectlUser;
  run(args: readonly string[], input?: string): ReturnType<EdgectlUser["run"]>;
  start(args: readonly string[]): ReturnType<EdgectlUser["start"]>;
  /** The JSON body of the last request of this method. */
  bodyOf(method: string): unknown;
}

async function setUp(): Promise<Rig> {
  const service = await startScriptedService();
  const user = await edgectlUser();
  const env = { EDGECTL_URL: service.url, EDGECTL_API_KEY: KEY };
  return {
    service,
    user,
    run: (args, input) => user.run(args, { env, ...(input !== undefined && { input }) }),
    start: (args) => user.start(args, { env }),
    bodyOf: (method) => JSON.parse(service.requests.findLast((seen) => seen.method === method)?.body ?? "null"),
    async [Symbol.asyncDispose]() {
      await user[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

function ndjson(entries: readonly unknown[], options: { readonly open?: true } = {}): Respond {
  return (response) => {
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    response.write(`\n${entries.map((entry) => `${JSON.stringify(entry)}\n`).join("")}`);
    if (!options.open) response.end();
  };
}

describe("edgectl apps list and show", () => {
  test("show the apps' state, and say when it is from an old report", async () => {
    await using rig = await setUp();
    rig.service.on(`GET ${APPS}`, json(200, { apps: [APP], reported_at: REPORTED_AT, reachable: false }));
    rig.service.on(
      `GET ${WEB}`,
      json(200, { ...APP, reached_as: ["web:80"], reported_at: REPORTED_AT, reachable: true }),
    );
    const list = await rig.run(["apps", "list", "GW-1"]);
    expect(list.stdout).toBe(
      [
        "APP  STATE    PORTS     RESTARTS  SINCE (UTC)       IMAGE",
        "web  running  30080:80         2  2026-11-18 11:06  web:1",
        "",
      ].join("\n"),
    );
    expect(list.stderr).toContain("Note: The device is not reachable. This is what it reported");
    const show = await rig.run(["apps", "show", "GW-1", "web"]);
    expect(show.stderr).toBe("");
    expect(show.stdout).toMatch(/^Reached by others as +web:80$/m);
    for (const part of [
      "TOKEN=***\n",
      "PASSWORD=*** (secret)",
      "/data:/srv:ro",
      "at most 268.4 MB",
      "dep_7 (update: Success)",
    ]) {
      expect(show.stdout).toContain(part);
    }
    await rig.run(["apps", "show", "GW-1", "web", "--reveal"]);
    expect(rig.service.requests.at(-1)?.path).toBe(`${WEB}?reveal=environments`);
  });

  test("say when the device holds back what has changed since", async () => {
    await using rig = await setUp();
    const held = { reported_at: REPORTED_AT, reachable: true, age_s: 190 };
    rig.service.on(`GET ${APPS}`, json(200, { apps: [APP], ...held }));
    rig.service.on(`GET ${WEB}`, json(200, { ...APP, ...held }));
    const note = "Note: The device has not reported its latest changes yet. This may be out of date for 3 min 10 s.\n";
    expect((await rig.run(["apps", "list", "GW-1"])).stderr).toBe(note);
    expect((await rig.run(["apps", "show", "GW-1", "web"])).stderr).toBe(note);
    rig.service.on(`GET ${APPS}`, json(200, { apps: [APP], ...held, age_s: 0 }));
    expect((await rig.run(["apps", "list", "GW-1"])).stderr).toBe("");
  });

  test("an unknown app is exit code 4", async () => {
    await using rig = await setUp();
    rig.service.on(`GET ${WEB}`, json(404, { code: "AppNotFound", message: "There is no app of this name." }));
    const { code, stderr } = await rig.run(["apps", "show", "GW-1", "web"]);
    expect(code).toBe(4);
    expect(stderr).toContain("edgectl apps list GW-1");
  });
});

describe("edgectl apps update", () => {
  test("sends what changes and nothing else", async () => {
    await using rig = await setUp();
    rig.service.on(`PATCH ${WEB}`, stream([event(1), event(2, SUCCESS)]));
    const update = ["--image", "web:2", "--clear", "env", "--clear", "memory", "--no-privileged", "--cpus", "0.5"];
    const { code, stderr } = await rig.run(["apps", "update", "GW-1", "web", ...update, "--", "serve", "--fast"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(rig.bodyOf("PATCH")).toEqual({
      image: "web:2",
      environments: [],
      memory_limit: null,
      privileged: false,
      cpu_limit: 0.5,
      command: ["serve", "--fast"],
    });
    expect(rig.service.requests).toHaveLength(1);
    expect(rig.service.requests[0]?.headers["idempotency-key"]).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("-f with a whole app says what is not in it and stays; a file with a change, and the flags, say nothing", async () => {
    await using rig = await setUp();
    const spec = { ...APP.spec, privileged: false, ports: [], devices: [{ local: "/dev/ttyUSB0" }] };
    rig.service.on(`GET ${WEB}`, json(200, { ...APP, spec, reported_at: REPORTED_AT, reachable: true }));
    rig.service.on(`PATCH ${WEB}`, stream([event(1, SUCCESS)]));
    const whole = JSON.stringify({ name: "web", image: "web:2", environments: [] });
    const { code, stderr } = await rig.run(["apps", "update", "GW-1", "web", "-f", "-", "--clear", "volumes"], whole);
    expect(code).toBe(0);
    expect(stderr).toBe(
      "Note: Not in standard input and still in force: memory_limit (256 MiB), devices. " +
        "`edgectl apply` replaces the app by the file; --clear takes away single fields.\n",
    );
    expect(rig.service.requests[0]?.path).toBe(WEB);
    const change = await rig.run(["apps", "update", "GW-1", "web", "-f", "-"], JSON.stringify({ image: "web:2" }));
    expect(change).toMatchObject({ code: 0, stderr: "" });
  });

  test("-f with a whole app is sent also where the service does not know the app's state", async () => {
    await using rig = await setUp();
    rig.service.on(`GET ${WEB}`, json(404, { code: "AppNotFound", message: "There is no app of this name." }));
    rig.service.on(`PATCH ${WEB}`, stream([event(1, SUCCESS)]));
    const whole = JSON.stringify({ name: "web", image: "web:2" });
    const outcome = await rig.run(["apps", "update", "GW-1", "web", "-f", "-"], whole);
    expect(outcome).toMatchObject({ code: 0, stderr: "" });
  });

  test("extends a list that the app already has, fetched from the device with its values", async () => {
    await using rig = await setUp();
    const environments = [
      { key: "TOKEN", value: "secret" },
      { key: "LEVEL", value: "info" },
    ];
    const spec = { ...APP.spec, environments };
    rig.service.on(`GET ${WEB}`, json(200, { ...APP, spec, reported_at: REPORTED_AT, reachable: true }));
    rig.service.on(`PATCH ${WEB}`, stream([event(1, SUCCESS)]));
    await rig.run(["apps", "update", "GW-1", "web", "--env", "LEVEL=debug"]);
    expect(rig.service.requests[0]?.path).toBe(`${WEB}?reveal=environments`);
    expect(rig.bodyOf("PATCH")).toEqual({
      environments: [
        { key: "TOKEN", value: "secret" },
        { key: "LEVEL", value: "debug" },
      ],
    });
    await rig.run(["apps", "update", "GW-1", "web", "--clear", "env", "--env", "LEVEL=debug"]);
    expect(rig.bodyOf("PATCH")).toEqual({ environments: [{ key: "LEVEL", value: "debug" }] });
  });

  test("keeps the secrets of the list it extends, which the device does not return", async () => {
    await using rig = await setUp();
    const environments = [
      { key: "LEVEL", value: "info" },
      { key: "PASSWORD", value: "***", secret: true },
      { key: "TOKEN", value: "***", secret: true },
    ];
    const spec = { ...APP.spec, environments };
    rig.service.on(`GET ${WEB}`, json(200, { ...APP, spec, reported_at: REPORTED_AT, reachable: true }));
    rig.service.on(`PATCH ${WEB}`, stream([event(1, SUCCESS)]));
    const flags = ["--env", "TOKEN=changed", "--secret-env", "LEVEL", "--secret-env", "NEW=planted"];
    const { stdout, stderr } = await rig.run(["apps", "update", "GW-1", "web", ...flags]);
    expect(rig.bodyOf("PATCH")).toEqual({
      environments: [
        { key: "PASSWORD", secret: true },
        { key: "TOKEN", value: "changed", secret: true },
        { key: "LEVEL", value: "info", secret: true },
        { key: "NEW", value: "planted", secret: true },
      ],
    });
    expect(stdout + stderr).not.toContain("planted");
    const kept = await rig.run(["apps", "update", "GW-1", "web", "--secret-env", "PASSWORD"]);
    expect(rig.bodyOf("PATCH")).toMatchObject({
      environments: expect.arrayContaining([{ key: "PASSWORD", secret: true }]) as unknown,
    });
    expect(kept.stderr).toContain("PASSWORD is not set in this shell: it keeps the value it has on the device.");
  });

  test("a rollback is exit code 1, and says that the old version runs", async () => {
    await using rig = await setUp();
    const message = "The app stopped with exit code 1 while it was being verified. The previous version runs again.";
    const fail = { status: "Fail", step: "rolling_back", code: "CrashLoopBackOff", message };
    rig.service.on(`PATCH ${WEB}`, stream([event(1), event(2, fail)]));
    const { code, stderr } = await rig.run(["apps", "update", "GW-1", "web", "--image", "web:3"]);
    expect(code).toBe(1);
    expect(stderr).toContain(message);
  });

  test.each([
    ["--clear", "name"],
    ["--memory", "lots"],
    ["--restart", "never"],
    ["--health-retries", "3"],
  ])("%s %s is wrong usage, and nothing is sent", async (...flags) => {
    await using rig = await setUp();
    const { code } = await rig.run(["apps", "update", "GW-1", "web", ...flags]);
    expect(code).toBe(2);
    expect(rig.service.requests).toEqual([]);
  });
});

describe("edgectl deploy", () => {
  test("--dry-run, limits and credentials are sent; the password is not on the command line", async () => {
    await using rig = await setUp();
    rig.service.on(`POST ${APPS}`, stream([event(1, { ...SUCCESS, message: "Nothing was changed." })]));
    const limits = ["--urgent", "--max-download", "50MB", "--wait-for-device", "3600"];
    const flags = ["--dry-run", ...limits, "--registry-user", "u"];
    const app = ["--name", "web", "--image", "web:1", "--health-cmd", "true", "--health-interval", "5"];
    const password = ["--registry-password-file", "-"];
    const { code, stdout } = await rig.run(["deploy", "GW-1", ...app, ...flags, ...password], "planted-secret\n");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "Nothing was changed.\n" });
    expect(rig.service.requests[0]?.path).toBe(`${APPS}?dry_run=true`);
    expect(rig.bodyOf("POST")).toEqual({
      name: "web",
      image: "web:1",
      healthcheck: { command: ["sh", "-c", "true"], interval_s: 5 },
      registry_auth: { username: "u", password: "planted-secret" },
      max_download_bytes: 50_000_000,
      urgent: true,
      wait_for_device_s: 3600,
    });
  });

  test("a user without a password and without a terminal is wrong usage", async () => {
    await using rig = await setUp();
    const { code, stderr } = await rig.run(
      ["deploy", "GW-1", "--name", "a", "--image", "b", "--registry-user", "u"],
      "",
    );
    expect(code).toBe(2);
    expect(stderr).toContain("EDGECTL_REGISTRY_PASSWORD");
    expect(rig.service.requests).toEqual([]);
  });
});

describe("edgectl apps remove, stop, start and restart", () => {
  test.each([
    ["remove", `DELETE ${WEB}`],
    ["stop", `POST ${WEB}/stop`],
    ["start", `POST ${WEB}/start`],
    ["restart", `POST ${WEB}/restart`],
  ])("%s is %s, and shows how it goes", async (action, route) => {
    await using rig = await setUp();
    rig.service.on(route, stream([event(1), event(2, SUCCESS)]));
    const { code, stdout } = await rig.run(["apps", action, "GW-1", "web"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "checking: Event 1\nApp web is running.\n" });
  });
});

function line(text: string, out = "stdout") {
  return { stream: out, time: "2026-11-20T10:00:00.5Z", text };
}

describe("edgectl apps logs", () => {
  test("keeps the two outputs apart, and says what was left out", async () => {
    await using rig = await setUp();
    const entries = [
      line("one"),
      line("two\u001B[31m", "stderr"),
      { omitted_lines: 7, omitted_bytes: 900 },
      line("three"),
    ];
    rig.service.on(`GET ${WEB}/logs`, ndjson(entries));
    const args = ["apps", "logs", "GW-1", "web", "--tail", "10", "--since", "1795000000"];
    const { code, stdout, stderr } = await rig.run(args);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "one\nthree\n" });
    expect(stderr).toBe("two\nNote: 7 lines were left out here, to spare the device's link.\n");
    expect(rig.service.requests[0]?.path).toBe(`${WEB}/logs?tail=10&since=1795000000`);
    await rig.run(["apps", "logs", "GW-1", "web", "--lines", "20"]);
    expect(rig.service.requests.at(-1)?.path).toBe(`${WEB}/logs?tail=20`);
    const timed = await rig.run([...args, "--timestamps"]);
    expect(timed.stdout).toContain("2026-11-20T10:00:00.5Z one\n");
    const asJson = await rig.run([...args, "--json"]);
    expect(
      asJson.stdout
        .trim()
        .split("\n")
        .map((text) => JSON.parse(text) as unknown),
    ).toEqual(entries);
  });

  test("an end with an error is exit code 1, after what came before it", async () => {
    await using rig = await setUp();
    const error = { code: "DeviceNotReachable", message: "Device not reachable" };
    rig.service.on(`GET ${WEB}/logs`, ndjson([line("one"), { error }]));
    const { code, stdout, stderr } = await rig.run(["apps", "logs", "GW-1", "web"]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "one\n" });
    expect(stderr).toContain("Device not reachable (DeviceNotReachable)");
  });

  test("follows until Ctrl-C, then closes the connection", async () => {
    await using rig = await setUp();
    let isGone = false;
    rig.service.on(`GET ${WEB}/logs`, (response, request) => {
      response.on("close", () => (isGone = true));
      return ndjson([line("one")], { open: true })(response, request);
    });
    await using command = rig.start(["apps", "logs", "GW-1", "web", "-f"]);
    await waitFor("the first line", () => command.stdout().includes("one"));
    command.kill("SIGINT");
    expect(await command.exited).toBe(130);
    await waitFor("the connection to end", () => isGone);
  });
});

function both(bytes: number) {
  return { sent_bytes: bytes, received_bytes: bytes };
}

describe("edgectl device and data-usage", () => {
  test("show what the device reported, without unknown values", async () => {
    await using rig = await setUp();
    const device = {
      agent_version: "1.2.3",
      engine: { kind: "docker", version: "20.10.24" },
      disk_total_bytes: 32_000_000_000,
      disk_free_bytes: 8_000_000_000,
      temperature_celsius: null,
      interfaces: [{ name: "wwan0", kind: "cellular", is_up: true, addresses: [], received_bytes: 5_000_000 }],
      containers: [{ name: "web", app: "web", image: "web:1", status: "running" }],
    };
    const answer = { reachable: true, last_seen: REPORTED_AT, live: true, reported_at: REPORTED_AT, device };
    rig.service.on("GET /v1/assets/GW-1/edge/device", json(200, answer));
    const { code, stdout, stderr } = await rig.run(["device", "GW-1"]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    for (const part of ["online", "docker 20.10.24", "8.00 GB free of 32.0 GB", "wwan0", "5.00 MB"]) {
      expect(stdout).toContain(part);
    }
    expect(stdout).not.toContain("Temperature");
  });

  test("put the agent's own traffic, the device's and the SIM's side by side", async () => {
    await using rig = await setUp();
    const day = {
      day: "2026-11-19",
      by_purpose: { control: both(10_000), pulls: both(1_000_000) },
      overhead_estimate_bytes: 5_000,
      interfaces: { wwan0: both(2_000_000) },
    };
    const sims = [{ sim_type: "supersim", days: [{ day: "2026-11-18", total: 7_000 }] }];
    const answer = { from: "2026-11-18", to: "2026-11-19", live: false, days: [day], sims };
    rig.service.on("GET /v1/assets/GW-1/edge/data-usage", json(200, answer));
    const { stdout, stderr } = await rig.run(["data-usage", "GW-1", "--from", "2026-11-18"]);
    expect(rig.service.requests[0]?.path).toBe("/v1/assets/GW-1/edge/data-usage?from=2026-11-18");
    expect(stdout).toMatch(/2026-11-18 +- +- +- +- +- +- +- +7\.00 kB/);
    expect(stdout).toMatch(/2026-11-19 +20\.0 kB +- +- +2\.00 MB +- +5\.00 kB +4\.00 MB +-/);
    expect(stderr).toContain("could not be asked");
  });
});
