import { describe, expect, test } from "vitest";
import { edgectlUser, type EdgectlUser } from "../../support/edgectl/process.ts";
import {
  event,
  json,
  type ScriptedService,
  startScriptedService,
  stream,
} from "../../support/edgectl/scripted-service.ts";
import { waitFor } from "../../support/wait-for.ts";

const KEY = "ek_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";
const POST = "POST /v1/assets/GW-1/edge/apps";
const EVENTS = "GET /v1/assets/GW-1/edge/deployments/dep_1/events";
const APP = ["--name", "web", "--image", "web:1"];
const SUCCESS = { status: "Success", step: "done", message: "App web is running." };

interface Rig extends AsyncDisposable {
  readonly service: ScriptedService;
  readonly user: EdgectlUser;
  readonly env: Readonly<Record<string, string>>;
  deploy(...args: string[]): ReturnType<EdgectlUser["run"]>;
}

async function setUp(): Promise<Rig> {
  const service = await startScriptedService();
  const user = await edgectlUser();
  const env = { EDGECTL_URL: service.url, EDGECTL_API_KEY: KEY };
  return {
    service,
    user,
    env,
    deploy: (...args) => user.run(["deploy", "GW-1", ...args], { env }),
    async [Symbol.asyncDispose]() {
      await user[Symbol.asyncDispose]();
      await service[Symbol.asyncDispose]();
    },
  };
}

function seqs(stdout: string): number[] {
  return stdout
    .trim()
    .split("\n")
    .map((line) => (JSON.parse(line) as { seq: number }).seq);
}

describe("edgectl deploy", () => {
  test("sends what the flags say and shows the events as plain lines; Success is exit code 0", async () => {
    await using rig = await setUp();
    const pulling = { step: "pulling", progress: 50, bytes: { done: 1_500_000, total: 3_000_000 } };
    rig.service.on(POST, stream([event(1), event(2, pulling), event(3, SUCCESS)]));
    const flags = ["--port", "30080:80", "--env", "A=1=2", "--volume", "/data:/srv:ro", "--host-network"];
    const { code, stdout, stderr } = await rig.deploy(...APP, ...flags);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toBe("checking: Event 1\npulling: 50 % (1.50 MB of 3.00 MB)\nApp web is running.\n");
    const [request] = rig.service.requests;
    expect(JSON.parse(request?.body ?? "")).toEqual({
      name: "web",
      image: "web:1",
      host_network: true,
      ports: [{ host_port: 30080, target_port: 80 }],
      environments: [{ key: "A", value: "1=2" }],
      volumes: [{ local: "/data", target: "/srv", readonly: true }],
    });
    expect(request?.headers).toMatchObject({ "content-type": "application/json", "x-api-key": KEY });
    expect(request?.headers["idempotency-key"]).toMatch(/^[0-9a-f-]{36}$/);
  });

  test("with --timings shows how long the steps took, also of a failure, and also later", async () => {
    await using rig = await setUp();
    const steps = [{ step: "checking", ms: 12.3, engine_ms: 8 }];
    const timings = { total_ms: 20, steps };
    const table = [
      "STEP             TOTAL  ENGINE  SHARE",
      "checking       12.3 ms  8.0 ms   65 %",
      "between steps   7.7 ms       -      -",
      "all            20.0 ms  8.0 ms   40 %",
      "",
    ].join("\n");
    rig.service.on(POST, stream([event(1), event(2, { ...SUCCESS, details: { timings } })]));
    expect((await rig.deploy(...APP)).stdout).toBe("checking: Event 1\nApp web is running.\n");
    expect((await rig.deploy(...APP, "--timings")).stdout).toBe(`checking: Event 1\nApp web is running.\n${table}`);
    const failure = { status: "Fail", step: "pulling", message: "No.", code: "ImagePullBackOff", details: { timings } };
    rig.service.on(POST, stream([event(1, failure)]));
    const failed = await rig.deploy(...APP, "--timings");
    expect([failed.code, failed.stdout]).toEqual([1, table]);
    expect(failed.stderr).not.toContain("timings");
    rig.service.on(EVENTS, stream([event(1, { ...SUCCESS, details: { timings } })]));
    const watched = await rig.user.run(["deployments", "watch", "GW-1", "dep_1", "--timings"], { env: rig.env });
    expect(watched.stdout).toBe(`App web is running.\n${table}`);
  });

  test("with --timings says so if the device has reported none; with --json the event has them", async () => {
    await using rig = await setUp();
    rig.service.on(POST, stream([event(1, SUCCESS)]));
    expect((await rig.deploy(...APP, "--timings")).stdout).toBe(
      "App web is running.\nTimes: the device reported none.\n",
    );
    const timings = { total_ms: 20, steps: [] };
    rig.service.on(POST, stream([event(1, { ...SUCCESS, details: { timings } })]));
    const { stdout } = await rig.deploy(...APP, "--timings", "--json");
    expect(JSON.parse(stdout)).toMatchObject({ details: { timings } });
  });

  test("declares secrets, whose values come from the shell, and refuses one without a value", async () => {
    await using rig = await setUp();
    rig.service.on(POST, stream([event(1, SUCCESS)]));
    const flags = ["--secret-env", "PASSWORD", "--env", "A=1"];
    const env = { ...rig.env, PASSWORD: "planted" };
    expect((await rig.user.run(["deploy", "GW-1", ...APP, ...flags], { env })).code).toBe(0);
    expect(JSON.parse(rig.service.requests[0]?.body ?? "")).toMatchObject({
      environments: [
        { key: "A", value: "1" },
        { key: "PASSWORD", value: "planted", secret: true },
      ],
    });
    const missing = await rig.deploy(...APP, ...flags);
    expect(missing.code).toBe(2);
    expect(missing.stderr).toContain("PASSWORD has no value");
    expect(rig.service.requests).toHaveLength(1);
  });

  test("what the device says to do stands in the place of what the code says to do", async () => {
    await using rig = await setUp();
    const details = { reason: "image_denied", next: "Send the registry's credentials." };
    const fail = { status: "Fail", message: "The registry denies access.", code: "ImagePullBackOff", details };
    rig.service.on(POST, stream([event(1), event(2, fail)]));
    const { code, stderr } = await rig.deploy(...APP);
    expect(code).toBe(1);
    expect(stderr).toContain("reason: image_denied");
    expect(stderr.match(/Send the registry's credentials\./g)).toHaveLength(1);
    expect(stderr).not.toContain("details.next");
  });

  test("Fail is exit code 1, with the reason, the particulars and what to do", async () => {
    await using rig = await setUp();
    const fail = {
      status: "Fail",
      message: "The desired port is already in use.",
      code: "ErrorPortInUse",
      details: { port: 30080, held_by: "container \u001B[31mother" },
    };
    rig.service.on(POST, stream([event(1), event(2, fail)]));
    const { code, stdout, stderr } = await rig.deploy(...APP);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "checking: Event 1\n" });
    expect(stderr).toBe(
      [
        "Error: The desired port is already in use. (ErrorPortInUse)",
        "  port: 30080",
        "  held_by: container other",
        "  Choose another host port with --port, or in the file, or free this one.",
        "",
      ].join("\n"),
    );
  });

  test("with --json, standard output is the events and nothing else, also on failure", async () => {
    await using rig = await setUp();
    const events = [event(1, { future_field: [1] }), event(2, { status: "Fail", message: "no", code: "NewCode" })];
    rig.service.on(POST, stream(events));
    const { code, stdout, stderr } = await rig.deploy(...APP, "--json");
    expect(code).toBe(1);
    expect(
      stdout
        .trim()
        .split("\n")
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(events);
    expect(JSON.parse(stderr)).toEqual({ error: { message: "no", code: "NewCode", exit_code: 1 } });
  });

  test("a refusal without a deployment is reported from its one event", async () => {
    await using rig = await setUp();
    const fail = { status: "Fail", message: "Asset not found", code: "AssetNotFound", seq: 1 };
    rig.service.on(POST, stream([fail], { status: 404 }));
    const { code, stderr } = await rig.deploy(...APP);
    expect(code).toBe(1);
    expect(stderr).toContain("Asset not found (AssetNotFound)");
    expect(stderr).toContain("edgectl assets list");
  });

  test("resumes a cut stream any number of times, and shows each event once", async () => {
    await using rig = await setUp();
    rig.service.on(POST, stream([event(1), event(2)], { cut: true }));
    rig.service.on(
      EVENTS,
      json(503, { code: "ServiceUnavailable", message: "The service cannot answer right now." }),
      stream([event(2), event(3)], { cut: true }),
      stream([], {}),
      stream([event(4, SUCCESS)]),
    );
    const { code, stdout, stderr } = await rig.deploy(...APP, "--json");
    expect(code).toBe(0);
    expect(seqs(stdout)).toEqual([1, 2, 3, 4]);
    expect(stderr).toContain("Connection lost");
    expect(stderr).toContain("Connected again.");
    const resumed = rig.service.requests.slice(1).map(({ path }) => path.split("?")[1]);
    expect(resumed).toEqual(["after=2", "after=2", "after=3", "after=3"]);
  });

  test("repeats the request with the same Idempotency-Key when there was no response", async () => {
    await using rig = await setUp();
    rig.service.on(POST, (response) => void response.destroy(), stream([event(1, SUCCESS)]));
    expect((await rig.deploy(...APP)).code).toBe(0);
    const keys = rig.service.requests.map(({ headers }) => headers["idempotency-key"]);
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });

  test("gives up after --retry-for, and says how to watch the deployment again", async () => {
    await using rig = await setUp();
    rig.service.on(POST, stream([event(1)], { cut: true }));
    rig.service.on(EVENTS, (response) => void response.destroy());
    const { code, stderr } = await rig.deploy(...APP, "--retry-for", "0");
    expect(code).toBe(5);
    expect(stderr).toContain("edgectl deployments watch GW-1 dep_1");
  });

  test("Ctrl-C leaves the deployment running, says how to watch and cancel it, and is exit code 130", async () => {
    await using rig = await setUp();
    rig.service.on(POST, stream([event(1)], { open: true }));
    await using command = rig.user.start(["deploy", "GW-1", ...APP], { env: rig.env });
    await command.waitForOutput("Event 1");
    command.kill("SIGINT");
    expect(await command.exited).toBe(130);
    expect(command.stderr()).toContain("The deployment goes on.");
    expect(command.stderr()).toContain("edgectl deployments watch GW-1 dep_1");
    expect(command.stderr()).toContain("edgectl deployments cancel GW-1 dep_1");
    expect(rig.service.requests).toHaveLength(1);
  });

  test("Ctrl-C while waiting for the server ends at once too", async () => {
    await using rig = await setUp();
    rig.service.on(POST, () => undefined);
    await using command = rig.user.start(["deploy", "GW-1", ...APP], { env: rig.env });
    await waitFor("the request", () => rig.service.requests.length === 1);
    command.kill("SIGINT");
    expect(await command.exited).toBe(130);
    expect(command.stderr()).toContain("edgectl deployments list GW-1");
  });

  test("--detach returns with the first event", async () => {
    await using rig = await setUp();
    rig.service.on(POST, stream([event(1)], { open: true }));
    const { code, stdout } = await rig.deploy(...APP, "--detach");
    expect(code).toBe(0);
    expect(stdout).toContain("edgectl deployments watch GW-1 dep_1");
  });

  test("a response that is not an event stream is not a success", async () => {
    await using rig = await setUp();
    rig.service.on(POST, (response) => void response.end("<html>"));
    expect((await rig.deploy(...APP)).code).toBe(1);
    rig.service.on(
      POST,
      json(401, { code: "Unauthorized", message: "The API key is missing, wrong, revoked or has expired." }),
    );
    expect((await rig.deploy(...APP)).code).toBe(3);
  });

  test("nothing is sent without an app to deploy, or with an invalid file", async () => {
    await using rig = await setUp();
    expect((await rig.deploy("--name", "web")).code).toBe(2);
    expect((await rig.deploy("-f", "/nonexistent.json")).code).toBe(2);
    const secret = '{"environments": [{"key": "A", "value": "planted-secret"]}';
    const broken = await rig.user.run(["deploy", "GW-1", "-f", "-"], { env: rig.env, input: secret });
    expect(broken.code).toBe(2);
    expect(broken.stderr).toContain("Standard input is not valid JSON");
    expect(broken.stderr).not.toContain("planted");
    expect(rig.service.requests).toHaveLength(0);
  });
});

describe("edgectl deployments", () => {
  test("watch replays from the beginning and ends like deploy", async () => {
    await using rig = await setUp();
    rig.service.on(EVENTS, stream([event(1), event(2, { status: "Fail", message: "no", code: "Internal" })]));
    const { code, stdout } = await rig.user.run(["deployments", "watch", "GW-1", "dep_1"], { env: rig.env });
    expect({ code, stdout }).toEqual({ code: 1, stdout: "checking: Event 1\n" });
    expect(rig.service.requests[0]?.path).toContain("after=0");
  });

  test("watching an unknown deployment is exit code 4", async () => {
    await using rig = await setUp();
    rig.service.on(EVENTS, json(404, { code: "DeploymentNotFound", message: "This asset has no such deployment." }));
    const { code, stderr } = await rig.user.run(["deployments", "watch", "GW-1", "dep_1"], { env: rig.env });
    expect(code).toBe(4);
    expect(stderr).toContain("edgectl deployments list GW-1");
  });
});
