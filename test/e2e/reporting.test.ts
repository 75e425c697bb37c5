import { readdirSync, readFileSync } from "node:fs";
import { expect, onTestFinished, test } from "vitest";
import { apiClient } from "../support/api-client.ts";
import { freeHostPort } from "../support/free-port.ts";
import { sleeperImage, webImage, WEB_PORT } from "../support/images.ts";
import { sharedSystem } from "../support/system/test-system.ts";
import { waitFor } from "../support/wait-for.ts";

const SECRET = "planted-secret-0123456789";

const system = sharedSystem();
const api = () => apiClient(system().control, system().account);
const edge = (path: string): string => `/v1/assets/${system().asset.serialNumber}/edge/${path}`;

/** Open connections of the agent. */
function openSockets(): number {
  const folder = `/proc/${system().agent.pid}/fd`;
  return readdirSync(folder).length;
}

async function deployTicker(name: string): Promise<void> {
  const { final } = await system().deploy({
    name,
    image: await system().load(await sleeperImage(), "ticker"),
    environments: [{ key: "TOKEN", value: SECRET, secret: true }],
    command: [
      "/bin/sh",
      "-c",
      'n=0; while true; do echo "tick $n $TOKEN"; echo "tock $n" >&2; n=$((n + 1)); sleep 1; done',
    ],
  });
  expect(final.status).toBe("Success");
}

interface Entry {
  readonly stream: string;
  readonly text: string;
  readonly time: string;
}

/** Yields the lines of a log until the client disconnects. */
async function* follow(name: string, query: string, signal: AbortSignal): AsyncGenerator<Entry> {
  const headers = { "X-API-Key": system().account.apiKey, Accept: "application/x-ndjson" };
  const response = await fetch(`${system().control.url}${edge(`apps/${name}/logs?${query}`)}`, { headers, signal });
  expect(response.status).toBe(200);
  let rest = "";
  for await (const chunk of response.body!.pipeThrough(new TextDecoderStream())) {
    const lines = (rest + chunk).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) if (line !== "") yield JSON.parse(line) as Entry;
  }
}

test("an app is reported with its state, its environment values only on request, and its secrets never", async () => {
  const name = system().name();
  const port = await freeHostPort();
  const image = await system().load(await webImage(), "web");
  const declared = "declared-secret-0123456789";
  const environments = [
    { key: "GREETING", value: SECRET },
    { key: "PASSWORD", value: declared, secret: true },
  ];
  const { deploymentId } = await system().deploy({
    name,
    image,
    environments,
    ports: [{ host_port: port, target_port: WEB_PORT }],
  });
  const reported = await waitFor("the report", async () => {
    const { body } = await api().get(edge("apps"));
    const app = (body["apps"] as Record<string, unknown>[]).find((one) => one["name"] === name);
    return app?.["state"] === "running" && app;
  });
  expect(reported).toMatchObject({
    desired_state: "running",
    restarts: 0,
    last_deployment: { deployment_id: deploymentId },
  });
  const shown = await api().get(edge(`apps/${name}`));
  expect(shown).toMatchObject({ status: 200, body: { name, state: "running" } });
  expect(JSON.stringify([reported, shown.body])).not.toContain(SECRET);
  const revealed = await api().get(edge(`apps/${name}?reveal=environments`));
  expect(revealed.body).toMatchObject({
    spec: {
      environments: [
        { key: "GREETING", value: SECRET },
        { key: "PASSWORD", value: "***", secret: true },
      ],
    },
  });
  expect((await api().get(edge(`apps/${name}x`))).body).toMatchObject({ code: "AppNotFound" });
  const written = [system().control.tail(), system().agent.tail()].join("\n");
  expect(written).not.toContain(SECRET);
  expect(written + JSON.stringify([reported, shown.body, revealed.body])).not.toContain(declared);
});

test("a log is read and followed with its streams distinguished, and nothing stays open after the client disconnects", async () => {
  const name = system().name();
  await deployTicker(name);
  const before = openSockets();
  const leave = new AbortController();
  const seen: Entry[] = [];
  for await (const entry of follow(name, "tail=50&follow=true", leave.signal)) {
    seen.push(entry);
    if (seen.filter(({ stream }) => stream === "stdout").length >= 4) break;
  }
  leave.abort();
  const ticks = seen.filter(({ stream }) => stream === "stdout").map(({ text }) => text);
  expect(ticks).toEqual(ticks.map((_, n) => `tick ${n} ***`));
  expect(seen.filter(({ stream }) => stream === "stderr").map(({ text }) => text)[0]).toBe("tock 0");
  await waitFor("the engine's stream to end", () => openSockets() <= before);
});

test("a followed log ends with the link, and nothing stays open on the device", async () => {
  const name = system().name();
  await deployTicker(name);
  const before = openSockets();
  const leave = new AbortController();
  onTestFinished(() => leave.abort());
  const log = follow(name, "follow=true", leave.signal);
  await log.next();
  const sessions = system().countSessions();
  system().link.cut();
  await waitFor("the engine's stream to end", () => openSockets() <= before);
  await waitFor("the next session", () => system().countSessions() > sessions);
  await log.return(undefined);
});

/** Memory of the agent, in kB. */
function rss(): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${system().agent.pid}/status`, "utf8"))?.[1]);
}

test("the device's state is reported, and queries for it do not leak memory", async () => {
  const before = rss();
  const fields = ["uptime_s", "memory_available_bytes", "disk_free_bytes", "interfaces", "containers"];
  // The device measures for at most 7 s, and the engine has 5 s: on a busy machine a value may be missing.
  await waitFor("a device state with every value", async () => {
    const { status, body } = await api().get(edge("device"));
    expect(status).toBe(200);
    expect(body).toMatchObject({ reachable: true });
    const state = JSON.stringify(body);
    for (const field of fields) expect(state).toContain(`"${field}":`);
    return fields.every((field) => !state.includes(`"${field}":null`));
  });
  await waitFor("its memory to be what it was", () => rss() - before < 3_000);
});
