import type { OpenedTab, ConsoleRig } from "./opened-console.ts";
import { imageOf } from "../fleets/fleet-rig.ts";
import { type ReceivedApply, SimulatedDevice } from "../fleets/simulated-device.ts";

/** Simulated devices of the account that the console's first admin has set up. */
export interface ConsoleFleet extends AsyncDisposable {
  readonly devices: readonly SimulatedDevice[];
  /** Makes a revision of the fleet, of which the app `web` has this image. */
  revision(version: string, comment: string): Promise<void>;
  /** Performs a request with the session of the tab, and returns the body of the response. */
  send(method: string, path: string, data?: unknown): Promise<Record<string, unknown>>;
}

/** Makes devices with the tag `role=kiosk`, and the fleet `kiosks` over them. */
export async function startConsoleFleet(
  { control }: ConsoleRig,
  { context }: OpenedTab,
  count: number,
  strategy: object,
): Promise<ConsoleFleet> {
  const send = async (method: string, path: string, data?: unknown): Promise<Record<string, unknown>> => {
    const headers = { origin: control.url };
    const response = await context.request.fetch(control.url + path, {
      method,
      headers,
      ...(data !== undefined && { data }),
    });
    const text = await response.text();
    if (!response.ok()) throw new Error(`${method} ${path}: ${response.status()} ${text}`);
    return (text === "" ? {} : JSON.parse(text)) as Record<string, unknown>;
  };
  await using owned = new AsyncDisposableStack();
  const { account } = (await send("GET", "/v1/session")) as { account: { id: string } };
  const devices: SimulatedDevice[] = [];
  for (let index = 1; index <= count; index++) {
    const { uuid, deviceToken } = await control.addAsset(account.id, `kiosk-${index}`);
    await send("PUT", `/v1/assets/${uuid}/tags`, { role: "kiosk" });
    const device = owned.use(new SimulatedDevice(`${control.url.replace("http", "ws")}/v1/agent`, deviceToken));
    await device.connect();
    devices.push(device);
  }
  await send("POST", "/v1/fleets", { name: "kiosks", selector: "role=kiosk", apps: ["web"], strategy });
  const kept = owned.move();
  return {
    devices,
    send,
    async revision(version, comment) {
      const app = { name: "web", image: imageOf(version) };
      await send("POST", "/v1/fleets/kiosks/revisions", { apps: [{ app }], comment });
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

/** Whether a request brings this version. */
export function isVersion({ images }: ReceivedApply, version: string): boolean {
  return images.includes(imageOf(version));
}
