import type { InterfaceReading } from "./readings.ts";

/** A network interface as `systeminformation` reports it. */
export interface InterfaceInfo {
  readonly iface: string;
  readonly ip4: string;
  readonly ip6: string;
  readonly operstate: string;
  readonly type: string;
  readonly internal: boolean;
  readonly virtual: boolean;
}

export interface CounterInfo {
  readonly iface: string;
  readonly rx_bytes: number;
  readonly tx_bytes: number;
}

// The loopback, and interfaces of single containers.
const IGNORED = /^(?:lo$|veth)/;
const CELLULAR = /^(?:wwan|wwp|ppp|rmnet|cdc-wdm|qmimux)/;
const WIFI = /^(?:wlan|wlp|wlx|wifi)/;
const ETHERNET = /^(?:eth|en[opsx]|end\d|lan\d)/;

/** Returns the readings of the relevant interfaces, with their counters. */
export function toInterfaceReadings(
  interfaces: readonly InterfaceInfo[],
  counters: readonly CounterInfo[],
): InterfaceReading[] {
  return interfaces
    .filter(({ iface }) => iface !== "" && !IGNORED.test(iface))
    .slice(0, 64)
    .map((info) => {
      const counted = counters.find(({ iface }) => iface === info.iface);
      return {
        name: info.iface.slice(0, 64),
        kind: kindOf(info),
        is_up: isUp(info),
        addresses: [info.ip4, info.ip6].filter((address) => typeof address === "string" && address !== ""),
        received_bytes: byteCount(counted?.rx_bytes),
        sent_bytes: byteCount(counted?.tx_bytes),
      };
    });
}

/** Modems on point-to-point links and tunnels report no state; they are up when they have an address. */
function isUp({ operstate, ip4, ip6 }: InterfaceInfo): boolean {
  return operstate === "up" || (operstate === "unknown" && (ip4 !== "" || ip6 !== ""));
}

function kindOf({ iface, type, virtual }: InterfaceInfo): InterfaceReading["kind"] {
  if (CELLULAR.test(iface)) return "cellular";
  if (WIFI.test(iface) || type === "wireless") return "wifi";
  return ETHERNET.test(iface) && !virtual ? "ethernet" : "other";
}

function byteCount(value: number | undefined): number | null {
  return value !== undefined && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
