import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { type RequestOptions, request } from "node:https";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { text } from "node:stream/consumers";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ControlPlane, startControlPlane, type TestAccount, type TestAsset } from "../../support/control-plane.ts";
import { succeed } from "../../support/command.ts";
import { documented, fill } from "../../support/documentation.ts";
import { FakeDevice } from "../../support/fake-device.ts";
import { RawStreamClient } from "../../support/raw-stream-client.ts";
import { ReverseProxy } from "../../support/reverse-proxy.ts";

/* The service behind nginx, as docs/service-setup.md sets it up: over TLS, with the configuration that the page prints. */

const owned = new AsyncDisposableStack();
let control: ControlPlane;
let proxy: ReverseProxy;
let account: TestAccount;
let asset: TestAsset;

beforeAll(async () => {
  control = owned.use(await startControlPlane({ config: { trusted_proxies: "127.0.0.1" } }));
  proxy = owned.use(await ReverseProxy.start(control.server.port));
  setDefaultCACertificates([...getCACertificates("default"), proxy.authority]);
  account = await control.account(["apps.forward"]);
  asset = await control.asset(account);
});
afterAll(() => owned.disposeAsync());

const connectDevice = (): Promise<FakeDevice> =>
  FakeDevice.connect(`wss://localhost:${proxy.port}/v1/agent`, asset.deviceToken);

test("the service is reached under its name, as docs/pilot.md tries it", async () => {
  const commands = fill(documented("docs/pilot.md", "1. The service, with TLS", 2), {
    "curl https://control.example.com": `curl --fail ${proxy.url}`,
  });
  await succeed("bash", ["-ec", commands], { env: { CURL_CA_BUNDLE: proxy.authorityFile } });
});

test("devices, and clients of apps, get their WebSockets", async () => {
  await using device = await connectDevice();
  await using client = await RawStreamClient.connect(proxy.url, asset.uuid, "web", account.apiKey);
  client.open(7, "forward", { port: 1880 });
  expect(await device.next("stream_open")).toMatchObject({ kind: "forward", app: "web" });
});

test("an event of a deployment arrives while the deployment goes on", async () => {
  await using device = await connectDevice();
  const response = await fetch(`${proxy.url}/v1/assets/${asset.uuid}/edge/apps`, {
    method: "POST",
    headers: { "X-API-Key": account.apiKey, "Content-Type": "application/json" },
    body: JSON.stringify({ name: "web", image: "web:1" }),
  });
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  let received = "";
  const readUntil = async (part: string): Promise<void> => {
    while (!received.includes(part)) {
      const { value } = (await reader?.read()) ?? {};
      if (value === undefined) throw new Error(`the stream ended without ${part}: ${received}`);
      received += value;
    }
  };
  const { deployment_id: id } = await device.next("deploy");
  device.event(id, { step: "pulling", message: "Half of it is here." });
  // The device says nothing more until that has arrived.
  await readUntil("Half of it is here.");
  device.success(id);
  await readUntil('"Success"');
});

async function send(method: string, path: string, options: RequestOptions = {}, body = ""): Promise<unknown> {
  const sent = request(`${proxy.url}${path}`, { method, ...options });
  sent.setHeader("X-API-Key", account.apiKey).setHeader("Content-Type", "application/json").end(body);
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  return JSON.parse(await text(response)) as unknown;
}

test("the service knows the address of the client, whatever the client says", async () => {
  const headers = { "X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "http" };
  const from = { localAddress: "127.0.0.2", family: 4, headers };
  await send("PATCH", `/v1/assets/${asset.uuid}`, from, '{"name": "Pump house 8"}');
  expect(await send("GET", "/v1/audit?action=asset.changed")).toMatchObject({ entries: [{ source: "127.0.0.2" }] });
});
