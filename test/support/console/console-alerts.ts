import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { BrowserContext } from "playwright-core";
import { startReceiver } from "../alerts/receiver.ts";
import { FakeDevice } from "../fake-device.ts";
import { tempDir } from "../temp-dir.ts";
import { ADMIN, type ConsoleRig, type OpenedTab, startConsole } from "./opened-console.ts";

/** The console of a service that sends its alerts to a receiver on loopback, with a page on which the first admin is signed in. */
export interface ConsoleAlerts extends AsyncDisposable {
  readonly rig: ConsoleRig;
  readonly tab: OpenedTab;
  readonly receiver: Awaited<ReturnType<typeof startReceiver>>;
  /** Performs a request with a session, the first admin's unless given, and returns the body of the response. */
  readonly send: (
    method: string,
    path: string,
    data?: unknown,
    context?: BrowserContext,
  ) => Promise<Record<string, unknown>>;
  /** Registers an asset and connects its device. */
  readonly connect: (name: string) => Promise<{ readonly uuid: string; readonly device: FakeDevice }>;
  /** A page on which a person with the role is signed in, by an invitation. */
  readonly openAs: (role: string) => Promise<OpenedTab>;
}

export async function startConsoleAlerts(): Promise<ConsoleAlerts> {
  await using owned = new AsyncDisposableStack();
  const receiver = owned.use(await startReceiver());
  const rig = owned.use(await startConsole());
  const directory = owned.use(await tempDir());
  // The links of messages have the address of the service, which has a free port since its first start.
  const config = join(directory.path, "config.json");
  const allowed = { alert_channels: { allow_private: [receiver.host] } };
  await writeFile(config, JSON.stringify({ public_url: rig.control.url, ...allowed }), { mode: 0o600 });
  rig.control.useFlags("--config", config);
  await rig.control.stop();
  await rig.control.start();
  const tab = owned.use(await rig.openSignedIn());
  const send: ConsoleAlerts["send"] = async (method, path, data, context = tab.context) => {
    const headers = { origin: rig.control.url };
    const body = data !== undefined && { data };
    const response = await context.request.fetch(rig.control.url + path, { method, headers, ...body });
    const text = await response.text();
    if (!response.ok()) throw new Error(`${method} ${path}: ${response.status()} ${text}`);
    return (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
  };
  const kept = owned.move();
  return {
    rig,
    tab,
    receiver,
    send,
    connect: async (name) => {
      const { account } = (await send("GET", "/v1/session")) as { account: { id: string } };
      const options = ["--account", account.id, "--name", name, "--serial-number", name.replaceAll(" ", "-")];
      const { uuid = "", device_token: token = "" } = await rig.control.administer("asset", "add", ...options);
      return { uuid, device: await FakeDevice.connect(`${rig.control.url.replace("http", "ws")}/v1/agent`, token) };
    },
    openAs: async (role) => {
      const { invitation } = (await send("POST", "/v1/users", { email: `${role}@example.com`, role })) as {
        invitation: { link: string };
      };
      const code = new URLSearchParams(new URL(invitation.link).hash.split("?")[1]).get("code");
      const opened = await rig.open();
      const accepted = { code, name: role, password: ADMIN.password };
      await send("POST", "/v1/invitations", accepted, opened.context);
      return opened;
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
