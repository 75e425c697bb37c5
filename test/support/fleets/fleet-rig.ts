import { type ApiClient, apiClient } from "../api-client.ts";
import { type ControlPlane, type ControlPlaneOptions, startControlPlane, type TestAccount } from "../control-plane.ts";
import { waitFor } from "../wait-for.ts";
import { SimulatedDevice } from "./simulated-device.ts";

/** A device with its asset. */
export interface RigDevice {
  readonly uuid: string;
  readonly device: SimulatedDevice;
}

/** A control plane with an account and devices that are tagged `role=kiosk`. */
export interface FleetRig extends AsyncDisposable {
  readonly control: ControlPlane;
  readonly account: TestAccount;
  readonly api: ApiClient;
  readonly devices: readonly RigDevice[];
  addDevice(tags?: Readonly<Record<string, string>>): Promise<RigDevice>;
  /** Creates a fleet over `role=kiosk` with the app `web`. */
  fleet(name: string, strategy?: object, fields?: object): Promise<void>;
  /** Makes a revision of which `web` has this image, and returns its number. */
  revision(fleet: string, version: string, fields?: object): Promise<number>;
  /** Starts a rollout and returns its id. */
  rollOut(fleet: string, body?: object): Promise<string>;
  rollout(fleet: string, id: string): Promise<Record<string, unknown>>;
  /** Resolves when the rollout is in one of these states. */
  reach(fleet: string, id: string, ...states: readonly string[]): Promise<Record<string, unknown>>;
  targets(fleet: string, id: string): Promise<readonly Readonly<Record<string, unknown>>[]>;
}

/** An image by digest, which differs from those of other versions. */
export function imageOf(version: string): string {
  return `registry.example.com/web@sha256:${Buffer.from(version).toString("hex").padEnd(64, "0").slice(0, 64)}`;
}

export async function startFleetRig(count: number, options: ControlPlaneOptions = {}): Promise<FleetRig> {
  const control = await startControlPlane(options);
  const rig = await addFleetRig(control, count);
  return {
    ...rig,
    async [Symbol.asyncDispose]() {
      await rig[Symbol.asyncDispose]();
      await control[Symbol.asyncDispose]();
    },
  };
}

/** The same with an account of its own in a control plane that others use too. */
export async function addFleetRig(control: ControlPlane, count: number): Promise<FleetRig> {
  const account = await control.account();
  const api = apiClient(control, account);
  const devices: RigDevice[] = [];
  const send = async (method: "GET" | "POST" | "PUT", path: string, body?: unknown) => {
    const response = await fetch(control.url + path, {
      method,
      headers: { "X-API-Key": account.apiKey, ...(body !== undefined && { "Content-Type": "application/json" }) },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const parsed = (await response.json()) as Record<string, unknown>;
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${JSON.stringify(parsed)}`);
    return parsed;
  };
  const rig: FleetRig = {
    control,
    account,
    api,
    devices,
    async addDevice(tags = { role: "kiosk" }) {
      const { uuid, deviceToken } = await control.asset(account);
      await send("PUT", `/v1/assets/${uuid}/tags`, tags);
      const device = new SimulatedDevice(control.agentUrl, deviceToken);
      await device.connect();
      const added = { uuid, device };
      devices.push(added);
      return added;
    },
    async fleet(name, strategy = {}, fields = {}) {
      const quick = { soak_s: 0, ...strategy };
      await send("POST", "/v1/fleets", { name, selector: "role=kiosk", apps: ["web"], strategy: quick, ...fields });
    },
    async revision(fleet, version, fields = {}) {
      const app = { name: "web", image: imageOf(version), ...fields };
      return Number((await send("POST", `/v1/fleets/${fleet}/revisions`, { apps: [{ app }] }))["number"]);
    },
    async rollOut(fleet, body = {}) {
      return String((await send("POST", `/v1/fleets/${fleet}/rollouts`, body))["id"]);
    },
    rollout: (fleet, id) => send("GET", `/v1/fleets/${fleet}/rollouts/${id}`),
    async reach(fleet, id, ...states) {
      let last: Record<string, unknown> = {};
      const look = async (): Promise<boolean> => {
        last = await rig.rollout(fleet, id);
        return states.includes(String(last["state"]));
      };
      await waitFor(`the rollout to be ${states.join(" or ")}`, look).catch(async (error: unknown) => {
        const targets = JSON.stringify(await rig.targets(fleet, id));
        throw new Error(`${String(error)}; rollout: ${JSON.stringify(last)}; targets: ${targets}`, { cause: error });
      });
      return last;
    },
    async targets(fleet, id) {
      return (await send("GET", `/v1/fleets/${fleet}/rollouts/${id}/targets`))["targets"] as Record<string, unknown>[];
    },
    async [Symbol.asyncDispose]() {
      for (const { device } of devices) await device[Symbol.asyncDispose]();
    },
  };
  for (let index = 0; index < count; index++) await rig.addDevice();
  return rig;
}
