import { writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { expect, test } from "vitest";
import { groupAlert, openAlert } from "../../support/alerts/open-alert.ts";
import { Receivers } from "../../support/alerts/receivers.ts";
import { startControlPlane } from "../../support/control-plane.ts";
import { blocksOf, documented, fill } from "../../support/documentation.ts";
import { edgectlUser } from "../../support/edgectl/process.ts";

const SECRET = "T0/a-path-that-nobody-sees";

async function rig() {
  await using owner = new AsyncDisposableStack();
  const server = createServer((request, response) => {
    request.resume().on("end", () => response.writeHead(request.url === "/refuses" ? 403 : 200).end("heard"));
  });
  await new Promise<void>((resolve) => {
    server.listen(0, "127.0.0.1", resolve);
  });
  owner.defer(() => {
    server.closeAllConnections();
    server.close();
  });
  const config = { alert_channels: { allow_private: ["127.0.0.1"] } };
  const control = owner.use(await startControlPlane({ config }));
  const user = owner.use(await edgectlUser());
  const account = await control.account();
  const env = { EDGECTL_URL: control.url, EDGECTL_API_KEY: account.apiKey };
  const receiver = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const owned = owner.move();
  const run = (args: readonly string[], input?: string) =>
    user.run(["alerts", ...args], { env, ...(input !== undefined && { input }) });
  return { control, account, receiver, run, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

test("alerts are listed, acknowledged one by one or as a group, and silenced until that is ended", async () => {
  await using r = await rig();
  const name = "GW-1\u001B[2J";
  // Of conditions and subjects that the service does not judge away meanwhile.
  const subject = { kind: "asset", id: "gone-1", name } as const;
  const keep = { subject, sinceMs: Date.now(), firedAtMs: Date.now() };
  const disk = await openAlert(r.control, r.account, { ...keep, condition: "disk_low", severity: "warning" });
  const { stdout } = await r.run(["list", "--condition", "disk_low"]);
  expect(stdout).toMatch(/^ID +SEVERITY +CONDITION +OF +SINCE +OVER +ACKNOWLEDGED\n/);
  expect(stdout).toContain(disk);
  expect(stdout).not.toContain("\u001B");
  expect((await r.run(["ack", disk])).stdout).toMatch(new RegExp(`^${disk} is acknowledged by .+\\.\n$`));
  const { stdout: listed } = await r.run(["list", "--severity", "warning", "--json"]);
  expect(JSON.parse(listed)).toMatchObject({ alerts: [{ id: disk, acknowledged_by: expect.any(String) as string }] });
  const other = { ...keep, subject: { ...subject, id: "gone-2" }, condition: "app_missing" } as const;
  const group = await groupAlert(r.control, r.account, await openAlert(r.control, r.account, other));
  expect((await r.run(["ack", group])).stdout).toBe(`${group}: 1 acknowledged.\n`);
  const missing = await r.run(["ack", "alr_none"]);
  expect([missing.code, missing.stderr]).toEqual([4, expect.stringContaining("edgectl alerts list")]);
  expect((await r.run(["list", "--resolved"])).stdout).toBe("No alerts.\n");

  const silence = ["silence", "--reason", "Works", "--for", "4h", "--condition", "disk_low", "--condition", "drifted"];
  const { stdout: made } = await r.run([...silence, "--json"]);
  const { id, conditions } = JSON.parse(made) as { id: string; conditions: string[] };
  expect(conditions).toEqual(["disk_low", "drifted"]);
  expect((await r.run(["silences"])).stdout).toMatch(new RegExp(`\n${id} .*disk_low, drifted .*Works\n$`));
  expect((await r.run(["end-silence", id])).stdout).toBe(`${id} has ended.\n`);
  expect((await r.run(["silences"])).stdout).toBe("No silences.\n");
  const { asset } = await r.control.asset(r.account, { name: "Pump house" });
  const { name: pump, serialNumber: serial } = asset;
  expect((await r.run(["silence", "--reason", "Pump", "--for", "1h", "--asset", serial])).code).toBe(0);
  expect((await r.run(["silences", "--asset", serial])).stdout).toMatch(new RegExp(`\\n.* ${pump} +all .*Pump\\n$`));
  expect((await r.run(["silence", "--reason", "x", "--for", "1h", "--asset", serial, "--selector", "*"])).code).toBe(2);
  expect((await r.run(["silence", "--reason", "x", "--for", "1h", "--asset", "nowhere"])).code).toBe(4);
  expect((await r.run(["silence", "--reason", "x", "--for", "1s"])).code).toBe(2);
  expect((await r.run(["silence", "--reason", "x", "--for", "1h", "--condition", "none"])).code).toBe(2);
});

test("settings are set from a file, printed without secrets, changed and set again; channels are tested", async () => {
  await using r = await rig();
  const settings = {
    routes: { all: { channels: ["hook"] } },
    channels: {
      hook: { kind: "webhook", url: `${r.receiver}/${SECRET}` },
      chat: { kind: "slack", url: `${r.receiver}/refuses` },
    },
  };
  const set = (content: unknown) => r.run(["settings", "set", "-f", "-"], JSON.stringify(content));
  const first = await set(settings);
  expect(first.stdout).toMatch(/^0 rules, 1 routes and 2 channels are set\.\nSecret of hook: whsec_\S+\n$/);
  expect(first.stderr).toContain("not shown again");
  expect((await r.run(["routes"])).stdout).toMatch(/^ROUTE .*CHANNELS *\nall +all +all +\* +- +- +- +hook *\n$/);
  const { stdout } = await r.run(["settings", "get"]);
  expect(stdout).not.toContain(SECRET);
  expect(await set(JSON.parse(stdout))).toMatchObject({ stdout: "0 rules, 1 routes and 2 channels are set.\n" });
  // Another admin has changed them since they were read: nothing is changed, unless the file says whatever they are.
  const { etag, ...rest } = JSON.parse(stdout) as { etag: string; channels: Record<string, unknown> };
  const { chat: _chat, ...others } = rest.channels;
  expect(await set({ etag, ...rest, channels: others })).toMatchObject({ code: 0 });
  const late = await set({ etag, ...rest });
  expect([late.code, late.stdout]).toEqual([1, ""]);
  expect(late.stderr).toContain("Another person or program has changed the settings since: nothing was changed.");
  expect(late.stderr).toContain("edgectl alerts settings get");
  expect(JSON.parse((await r.run(["settings", "get"])).stdout)).toHaveProperty("channels", others);
  expect((await set({ ...rest, etag: 7 })).code).toBe(2);
  expect(await set({ ...rest, channels: settings.channels })).toMatchObject({ code: 0 });
  const bad = await r.run(["settings", "set", "-f", "-"], `{"channels": ${SECRET}`);
  expect([bad.code, bad.stderr]).toEqual([2, expect.stringContaining("Standard input is not JSON.")]);
  expect(bad.stderr).not.toContain(SECRET);

  expect(await r.run(["test", "hook"])).toMatchObject({ code: 0, stdout: "Delivered: 200 heard\n" });
  expect(await r.run(["test", "chat"])).toMatchObject({ code: 1, stdout: "Not delivered: 403 heard\n" });
  expect((await r.run(["test", "nowhere"])).code).toBe(4);
  expect((await r.run(["deliveries", "--channel", "hook"])).stdout).toBe("Nothing was sent.\n");
});

test("the steps of docs/alerts.md bring a mail, by its configuration, its settings and its commands", async () => {
  await using owner = new AsyncDisposableStack();
  const receivers = owner.use(await Receivers.start(() => Date.now()));
  const [config = "", settings = ""] = blocksOf("docs/alerts.md").flatMap(({ heading, language, text }) =>
    heading === "Setting it up" && language === "json" ? [text] : [],
  );
  const { mail } = JSON.parse(config) as { mail: { from: string } };
  // The mail server of the test is on loopback, without TLS, and lets everybody in.
  const own = { host: "127.0.0.1", port: receivers.mailPort, tls: "none" as const, from: mail.from };
  const control = owner.use(await startControlPlane({ config: { mail: own } }));
  const user = owner.use(await edgectlUser());
  const { apiKey } = await control.account();
  const file = join(user.configDirectory, "alerts.json");
  await writeFile(file, settings, { mode: 0o600 });
  const commands = fill(documented("docs/alerts.md", "Setting it up"), { "alerts.json": file });
  const outputs = [];
  for (const command of commands.split("\n")) {
    const env = { EDGECTL_URL: control.url, EDGECTL_API_KEY: apiKey };
    outputs.push(await user.run(command.split(" ").slice(1), { env }));
  }
  expect(outputs).toMatchObject([
    { code: 0, stdout: "0 rules, 1 routes and 1 channels are set.\n" },
    { code: 0, stdout: expect.stringMatching(/^Delivered: 250 /) as string },
  ]);
  expect(receivers.receipts).toHaveLength(1);
  expect(receivers.problems).toEqual([]);
});
