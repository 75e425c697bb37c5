import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { edgectlUser, type EdgectlUser } from "../../support/edgectl/process.ts";
import {
  json,
  type Respond,
  type ScriptedService,
  startScriptedService,
} from "../../support/edgectl/scripted-service.ts";
import { waitFor } from "../../support/wait-for.ts";

const KEY = "ek_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";
const STATS = "GET /v1/assets/GW-1/edge/stats";
const LOGS = "GET /v1/assets/GW-1/edge/apps/web/logs";

let service: ScriptedService;
let user: EdgectlUser;
beforeAll(async () => {
  service = await startScriptedService();
  user = await edgectlUser();
});
afterAll(async () => {
  await user[Symbol.asyncDispose]();
  await service[Symbol.asyncDispose]();
});

const env = () => ({ EDGECTL_URL: service.url, EDGECTL_API_KEY: KEY });
const edgectl = (...args: string[]) => user.run(args, { env: env() });

const RUNNING = {
  app: "web",
  state: "running",
  cpu_percent: 3.4,
  memory_bytes: 61_865_984,
  memory_limit_bytes: 268_435_456,
  network: { received_bytes: 182_340, sent_bytes: 95_210, received_bytes_per_s: 120, sent_bytes_per_s: 80 },
  disk: { read_bytes: 4_096_000, written_bytes: 1_228_800, read_bytes_per_s: 0, written_bytes_per_s: 4_096 },
  writable_bytes: 53_248,
  processes: 11,
};
const STOPPED = {
  app: "old\u001b[31m",
  state: "stopped",
  cpu_percent: null,
  memory_bytes: null,
  memory_limit_bytes: null,
  network: null,
  disk: null,
  writable_bytes: 12_000_000,
  processes: null,
};

function ndjson(entries: readonly unknown[], options: { readonly open?: true } = {}): Respond {
  return (response) => {
    response.writeHead(200, { "Content-Type": "application/x-ndjson" });
    response.write(`\n${entries.map((entry) => `${JSON.stringify(entry)}\n`).join("")}`);
    if (!options.open) response.end();
  };
}

describe("edgectl apps stats", () => {
  test("shows what each app uses, and what is not known", async () => {
    service.on(STATS, json(200, { measured_at: 1_795_000_000, apps: [RUNNING, STOPPED], omitted_apps: 2 }));
    const { code, stdout, stderr } = await edgectl("apps", "stats", "GW-1");
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout.split("\n")).toEqual([
      "APP  STATE    CPU %   MEMORY        NET in/out  DISK read/written     SIZE  PIDS",
      "web  running    3.4  61.9 MB  182.3 kB/95.2 kB    4.10 MB/1.23 MB  53.2 kB    11",
      expect.stringMatching(/^old.*stopped +- +- +- +- +12\.0 MB +-$/),
      "2 more apps are left out.",
      "",
    ]);
    expect(stdout).not.toContain("\u001b");
    expect(service.requests.at(-1)?.path).toBe("/v1/assets/GW-1/edge/stats");
  });

  test("of one app, as JSON", async () => {
    service.on(STATS, json(200, { measured_at: 1, apps: [RUNNING], omitted_apps: 0 }));
    const { stdout } = await edgectl("apps", "stats", "GW-1", "web", "--json");
    expect(JSON.parse(stdout)).toEqual({ measured_at: 1, apps: [RUNNING], omitted_apps: 0 });
    expect(service.requests.at(-1)?.path).toBe("/v1/assets/GW-1/edge/stats?app=web");
  });

  test("live shows rates, one table for each measurement where the output is no terminal", async () => {
    const one = { measured_at: 1, apps: [RUNNING], omitted_apps: 0 };
    service.on(STATS, ndjson([one, { ...one, measured_at: 3 }]));
    const { code, stdout } = await edgectl("apps", "stats", "GW-1", "web", "--live", "--interval", "5");
    expect(code).toBe(0);
    expect(stdout.match(/NET in\/out\/s/g)).toHaveLength(2);
    expect(stdout).toContain("120 B/80 B");
    expect(stdout).not.toContain("SIZE");
    expect(service.requests.at(-1)?.path).toBe("/v1/assets/GW-1/edge/stats?app=web&follow=true&interval_s=5");
    const asJson = await edgectl("apps", "stats", "GW-1", "--live", "--json");
    expect(
      asJson.stdout
        .trim()
        .split("\n")
        .map((line) => (JSON.parse(line) as { measured_at: number }).measured_at),
    ).toEqual([1, 3]);
  });

  test("live ends with Ctrl-C, and closes the connection", async () => {
    let isGone = false;
    service.on(STATS, (response, request) => {
      response.on("close", () => (isGone = true));
      return ndjson([{ measured_at: 1, apps: [RUNNING], omitted_apps: 0 }], { open: true })(response, request);
    });
    await using command = user.start(["apps", "stats", "GW-1", "--live"], { env: env() });
    await waitFor("the first table", () => command.stdout().includes("web"));
    command.kill("SIGINT");
    expect(await command.exited).toBe(130);
    await waitFor("the connection to end", () => isGone);
  });

  test("an end with an error is exit code 1, after what came before it", async () => {
    const error = { code: "DeviceNotReachable", message: "Device not reachable" };
    service.on(STATS, ndjson([{ measured_at: 1, apps: [RUNNING], omitted_apps: 0 }, { error }]));
    const { code, stdout, stderr } = await edgectl("apps", "stats", "GW-1", "--live");
    expect([code, stdout]).toEqual([1, expect.stringContaining("web")]);
    expect(stderr).toContain("Device not reachable (DeviceNotReachable)");
  });

  test("an interval out of range is wrong usage", async () => {
    const { code, stderr } = await edgectl("apps", "stats", "GW-1", "--live", "--interval", "0");
    expect([code, stderr]).toEqual([2, expect.stringContaining("from 1 to 60")]);
  });
});

describe("edgectl apps logs --previous", () => {
  test("shows the log of earlier runs", async () => {
    service.on(LOGS, ndjson([{ stream: "stdout", time: "2026-11-20T10:00:00.5Z", text: "cannot go on" }]));
    const { code, stdout, stderr } = await edgectl("apps", "logs", "GW-1", "web", "--previous");
    expect({ code, stdout, stderr }).toEqual({ code: 0, stdout: "cannot go on\n", stderr: "" });
    expect(service.requests.at(-1)?.path).toBe("/v1/assets/GW-1/edge/apps/web/logs?previous=true");
  });

  test("says so where nothing is left", async () => {
    service.on(LOGS, ndjson([]));
    const { code, stdout, stderr } = await edgectl("apps", "logs", "GW-1", "web", "-p");
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(stderr).toBe("Note: Nothing is left of what web wrote before its present run.\n");
  });

  test("cannot be followed", async () => {
    const before = service.requests.length;
    const { code, stderr } = await edgectl("apps", "logs", "GW-1", "web", "--previous", "-f");
    expect([code, stderr]).toEqual([2, expect.stringContaining("cannot be used with")]);
    expect(service.requests).toHaveLength(before);
  });
});
