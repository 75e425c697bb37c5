import type { Device, DeviceFacts, DeviceState } from "../../../protocol/api-types.ts";
import { formatBytes } from "../../parts/format-bytes.ts";

/** What has to be right before an installer may leave. */
export const CHECK_IDS = ["link", "clock", "disk", "engine", "network"] as const;
export type CheckId = (typeof CHECK_IDS)[number];

/** `waiting`: the device has not said it yet. `unknown`: it cannot say it. */
export type CheckState = "waiting" | "good" | "bad" | "unknown";

export interface Check {
  readonly id: CheckId;
  readonly title: string;
  readonly state: CheckState;
  readonly text: string;
  /** What to do where it is not right. */
  readonly next?: string;
}

export interface CheckInput {
  /** The latest answer on the device; `undefined` while there is none. */
  readonly device: Device | undefined;
  /** Why the device did not answer although it is connected. */
  readonly failure?: string | undefined;
}

/** Certificates and the times of events are wrong beyond this. */
const MAX_CLOCK_ERROR_S = 30;
const MIN_FREE_BYTES = 1_000_000_000;
const MIN_FREE_SHARE = 0.1;
const WAITING_TEXT = "Waits for the device.";

const TITLES: Readonly<Record<CheckId, string>> = {
  link: "Linked to the service",
  clock: "Clock",
  disk: "Disk",
  engine: "Container engine",
  network: "Network and signal",
};

/** The list in its order. Only what the device has said itself, in this connection, turns green. */
export function checkList({ device, failure }: CheckInput): readonly Check[] {
  return CHECK_IDS.map((id) => Object.assign({ id, title: TITLES[id] }, check(id, device, failure)));
}

/** Whether everything that can be known is right. */
export function isDone(checks: readonly Check[]): boolean {
  return checks.every(({ state }) => state === "good" || state === "unknown") && checks[0]?.state === "good";
}

type Finding = Pick<Check, "state" | "text" | "next">;

function check(id: CheckId, device: Device | undefined, failure: string | undefined): Finding {
  if (id === "link") return checkLink(device);
  if (device?.reachable !== true) return { state: "waiting", text: WAITING_TEXT };
  // Old facts say nothing about now.
  const state = device.live ? device.device : null;
  if (!isState(state)) {
    if (failure === undefined) return { state: "waiting", text: WAITING_TEXT };
    return { state: "waiting", text: `The device has not answered: ${failure}` };
  }
  if (id === "clock") return checkClock(state.clock, device.reported_at);
  if (id === "disk") return checkDisk(state.disk_free_bytes, state.disk_total_bytes);
  return id === "engine" ? checkEngine(state.engine) : checkNetwork(state.interfaces);
}

function isState(device: DeviceState | DeviceFacts | null): device is DeviceState {
  return device !== null && "interfaces" in device;
}

function checkLink(device: Device | undefined): Finding {
  if (device?.reachable === true) return { state: "good", text: "The device is connected." };
  if (device && device.last_seen !== null) {
    return {
      state: "bad",
      text: "The device was connected and is not now.",
      next: "Check power, antenna and SIM. This page goes on by itself when it returns.",
    };
  }
  return { state: "waiting", text: "Waits until the command has been typed on the device." };
}

function checkClock(clock: number | null | undefined, answeredAt: number | null): Finding {
  if (clock === undefined || clock === null || answeredAt === null)
    return { state: "unknown", text: "The agent on the device is too old to say it." };
  const error = clock - answeredAt;
  if (Math.abs(error) <= MAX_CLOCK_ERROR_S) return { state: "good", text: "Right, compared with the service." };
  return {
    state: "bad",
    text: `${Math.abs(error)} s ${error < 0 ? "behind" : "ahead"}.`,
    next: "Set the time on the device and turn on its synchronization: timedatectl set-ntp true",
  };
}

function checkDisk(free: number | null, total: number | null): Finding {
  if (free === null) return { state: "unknown", text: "The device cannot say how much is free." };
  const of = total === null ? "" : ` of ${formatBytes(total)}`;
  const text = `${formatBytes(free)}${of} free.`;
  const needed = Math.min(MIN_FREE_BYTES, total === null ? MIN_FREE_BYTES : total * MIN_FREE_SHARE);
  if (free >= needed) return { state: "good", text };
  return { state: "bad", text, next: "Remove what is not needed from the device; apps need space for their images." };
}

function checkEngine(engine: { readonly kind: string; readonly version: string } | null): Finding {
  if (engine) return { state: "good", text: `${engine.kind} ${engine.version} answers.` };
  return {
    state: "bad",
    text: "The container engine does not answer.",
    next: "Start it on the device: systemctl start docker",
  };
}

interface Interface {
  readonly name: string;
  readonly kind: string;
  readonly is_up: boolean;
  readonly addresses: readonly string[];
}

function checkNetwork(interfaces: readonly Interface[]): Finding {
  const modems = interfaces.filter(({ kind }) => kind === "cellular");
  const up = interfaces.filter(({ is_up: isUp, addresses }) => isUp && addresses.length > 0);
  const cellular = up.filter(({ kind }) => kind === "cellular");
  const names = (list: readonly Interface[]) => list.map(({ name }) => name).join(", ");
  if (cellular.length > 0) return { state: "good", text: `The modem ${names(cellular)} has an address.` };
  if (modems.length > 0) {
    return {
      state: "bad",
      text: `The modem ${names(modems)} has no address: the device uses ${names(up) || "no other network"}.`,
      next: "Check SIM, antenna, APN and PIN: mmcli -m any shows state and signal.",
    };
  }
  // The others are those of containers and tunnels.
  const own = up.filter(({ kind }) => kind !== "other");
  if (up.length > 0) return { state: "good", text: `No modem; linked over ${names(own.length > 0 ? own : up)}.` };
  return { state: "unknown", text: "The device lists no network." };
}
