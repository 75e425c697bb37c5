import type { InterfaceReading } from "./readings.ts";

/** A network interface as the library tells of it. */
export interface FoundInterface {
  readonly iface: string;
  readonly ip4: string;
  readonly ip6: string;
  readonly operstate: string;
  readonly type: string;
  readonly internal: boolean;
  readonly virtual: boolean;
}

export interface FoundCounters {
  readonly iface: string;
  readonly rx_bytes: number;
  readonly tx_bytes: number;
}

// Of the loopback, and of single containers, nobody wants to know.
const LEFT_OUT = /^(?:lo$|veth)/;
const CELLULAR = /^(?:wwan|wwp|ppp|rmnet|cdc-wdm|qmimux)/;
const WIFI = /^(?:wlan|wlp|wlx|wifi)/;
const ETHERNET = /^(?:eth|en[opsx]|end\d|lan\d)/;

/** The interfaces worth telling of, with what was counted on each. */
export function toInterfaceReadings(
  found: readonly FoundInterface[],
  counters: readonly FoundCounters[],
): InterfaceReading[] {
  return found
    .filter(({ iface }) => iface !== "" && !LEFT_OUT.test(iface))
    .slice(0, 64)
    .map((one) => {
      const counted = counters.find(({ iface }) => iface === one.iface);
      return {
        name: one.iface.slice(0, 64),
        kind: kindOf(one),
        is_up: isUp(one),
        addresses: [one.ip4, one.ip6].filter((address) => typeof address === "string" && address !== ""),
        received_bytes: byteCount(counted?.rx_bytes),
        sent_bytes: byteCount(counted?.tx_bytes),
      };
    });
}

/** Modems over point-to-point links and tunnels have no state to tell; with an address they serve. */
function isUp({ operstate, ip4, ip6 }: FoundInterface): boolean {
  return operstate === "up" || (operstate === "unknown" && (ip4 !== "" || ip6 !== ""));
}

function kindOf({ iface, type, virtual }: FoundInterface): InterfaceReading["kind"] {
  if (CELLULAR.test(iface)) return "cellular";
  if (WIFI.test(iface) || type === "wireless") return "wifi";
  return ETHERNET.test(iface) && !virtual ? "ethernet" : "other";
}

function byteCount(value: number | undefined): number | null {
  return value !== undefined && Number.isSafeInteger(value) && value >= 0 ? value : null;
}
