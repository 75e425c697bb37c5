import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { prepareDataDir } from "../../../src/control-plane/data/data-dir.ts";
import { openStore } from "../../../src/control-plane/store/sqlite/open-store.ts";
import { edgeControl } from "../../support/control-plane/edge-control.ts";
import { tempDir } from "../../support/temp-dir.ts";

const SECRET = "T0/a-path-that-nobody-sees";

let dataDir: string;
let directory: string;
let account: string;

const command = (...args: string[]) => edgeControl("alerts", ...args, "--data-dir", dataDir, "--json");
const parsed = async <T>(...args: string[]): Promise<T> => {
  const { code, stdout, stderr } = await command(...args);
  expect([code, stderr]).toEqual([0, ""]);
  return JSON.parse(stdout) as T;
};
const set = async (content: unknown) => {
  const file = join(directory, "alerts.json");
  await writeFile(file, typeof content === "string" ? content : JSON.stringify(content), { mode: 0o600 });
  return ["set", file, "--account", account];
};

beforeEach(async () => {
  const temporary = await tempDir();
  onTestFinished(() => temporary[Symbol.asyncDispose]());
  directory = temporary.path;
  dataDir = join(directory, "data");
  await openStore(prepareDataDir(dataDir).database)[Symbol.asyncDispose]();
  const created = await edgeControl("account", "create", "Acme", "--data-dir", dataDir, "--json");
  account = (JSON.parse(created.stdout) as { account_id: string }).account_id;
});

test("a file sets everything, a secret is shown once, and what the file has no more is removed", async () => {
  const route = { channels: ["hook"], repeat_s: 3600 };
  const file = {
    rules: [{ condition: "device_offline", selector: "role=van", for_s: 7200 }],
    routes: { all: route },
    channels: {
      hook: { kind: "webhook", url: "https://hooks.example.com/x" },
      chat: { kind: "slack", url: `https://hooks.example.com/${SECRET}` },
    },
  };
  const first = await parsed<{ new_secrets: Record<string, string> }>(...(await set(file)));
  expect(first).toMatchObject({ rules: 1, routes: 1, channels: 2 });
  expect(first.new_secrets["hook"]).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(await parsed(...(await set(file)))).toMatchObject({ new_secrets: {} });
  const { chat: _chat, ...others } = file.channels;
  expect(await parsed(...(await set({ ...file, channels: others })))).toMatchObject({ channels: 1 });
  await using store = openStore(prepareDataDir(dataDir).database);
  expect((await store.alertSettings.read(account)).channels.map(({ name }) => name)).toEqual(["hook"]);
  const entries = await store.audit.listEntries(account, 20, { actions: ["alert_settings.changed"] });
  // The second time nothing had changed.
  expect(entries.map(({ details }) => details)).toEqual([
    { changed: [], removed: ["channels.chat"] },
    { changed: ["rules", "routes.all", "channels.hook", "channels.chat"], removed: [] },
  ]);
  expect(JSON.stringify(await store.audit.listEntries(account, 50, {}))).not.toContain(SECRET);
});

test("a file with a mistake changes nothing, and is not quoted", async () => {
  const wrong = await command(...(await set(`{"channels": ${SECRET}`)));
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringMatching(/it is not JSON/)]);
  expect(wrong.stderr).not.toContain(SECRET);
  const unknown = await command(...(await set({ routes: { all: { channels: ["nowhere"] } } })));
  expect(unknown.stderr).toContain("names the channel nowhere, which is not among the channels");
});

test("a test of a channel says what the other side has answered", async () => {
  const server = createServer((request, response) => {
    request.resume();
    response.writeHead(418).end("no tea");
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  onTestFinished(() => void server.close());
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  await parsed(...(await set({ channels: { chat: { kind: "slack", url: `http://${host}/` } } })));
  const of = ["test", "chat", "--account", account];
  const refused = await parsed(...of);
  expect(refused).toEqual({ delivered: false, answer: `${host} would be reached without TLS` });
  const config = join(directory, "config.json");
  await writeFile(config, JSON.stringify({ alert_channels: { allow_private: [host] } }));
  expect(await parsed(...of, "--config", config)).toEqual({ delivered: false, answer: "418 no tea" });
});

test("alerts are listed and acknowledged, and silenced for a time", async () => {
  {
    await using store = openStore(prepareDataDir(dataDir).database);
    const subject = { kind: "rollout", id: "rol_1", name: "kiosks revision 2" } as const;
    const alert = { condition: "rollout_stopped", severity: "critical", subject, state: "firing" } as const;
    const now = Date.now();
    const opening = {
      kind: "open",
      alert: { ...alert, sinceMs: now, firedAtMs: now },
      usualPauseMs: undefined,
    } as const;
    await store.alerts.change(account, [opening], ["alr_1"], now);
  }
  const of = ["--account", account];
  expect(await parsed("list", ...of)).toMatchObject([
    { id: "alr_1", subject: { name: "kiosks revision 2" }, acknowledged_by: null },
  ]);
  expect(await parsed("ack", "alr_1", "alr_none", ...of)).toEqual({ acknowledged: 1 });
  expect(await parsed("list", ...of)).toMatchObject([{ acknowledged_by: expect.stringMatching(/./) as string }]);
  expect(await parsed("list", "--resolved", ...of)).toEqual([]);
  expect(await parsed("deliveries", ...of)).toEqual([]);
  const silence = ["silence", "--reason", "works", "--for-s", "600", "--condition", "disk_low", ...of];
  expect(await parsed(...silence)).toMatchObject({ silence_id: expect.stringMatching(/^sil_/) as string });
  const added = ["asset", "add", "--account", account, "--serial-number", "PUMP-1", "--data-dir", dataDir, "--json"];
  expect((await edgeControl(...added)).code).toBe(0);
  expect(await parsed("silence", "--reason", "works", "--asset", "PUMP-1", ...of)).toHaveProperty("silence_id");
  expect((await command("silence", "--reason", "x", "--asset", "nowhere", ...of)).stderr).toContain("no asset nowhere");
  {
    await using store = openStore(prepareDataDir(dataDir).database);
    const silences = await store.alertSettings.listSilences(account, Date.now());
    expect(new Set(silences.map(({ asset }) => asset?.name))).toEqual(new Set(["PUMP-1", undefined]));
  }
  expect((await command("silence", "--reason", "x", "--for-s", "1", ...of)).stderr).toContain(
    "--for-s must be from 60",
  );
  expect((await command("list", "--account", "acc_none")).code).toBe(1);
});
