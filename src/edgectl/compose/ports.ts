import { isIP } from "node:net";
import { MAX_HOST_PORT, MIN_HOST_PORT } from "../../protocol/limits.ts";
import type { Value } from "../documents/value.ts";
import type { WrittenPort } from "../group/written-group.ts";
import { refuseUnknown } from "./unknown.ts";
import type { Converter } from "./service.ts";

const MAX_PORT = 65_535;
const DEVICE_PORTS = MAX_HOST_PORT - MIN_HOST_PORT + 1;
const ALL_ADDRESSES = new Set(["0.0.0.0", "[::]", "::", "*", ""]);
const FORMAT = "must be HOST:TARGET, such as 30080:80, or 30080:80/udp.";

/** `IP:`, `HOST[-HOST]:`, `TARGET[-TARGET]` and `/protocol`. */
const SHORT = /^(?:(?:(\[[0-9a-fA-F:]*\]|[^:/\s]*):)?(\d*(?:-\d+)?):)?(\d+(?:-\d+)?)(?:\/(\w+))?$/;

export const convertPorts: Converter = (value, service) => {
  for (const item of value.items()) {
    const ports = item.isMap ? longPort(item) : shortPort(item);
    if (service.ports.length + ports.length > DEVICE_PORTS) {
      value.refuse(`are more than ${DEVICE_PORTS}, which is all that a device has.`);
      return;
    }
    service.ports.push(...ports);
  }
};

function shortPort(value: Value): WrittenPort[] {
  const text = value.text();
  if (text === undefined) return [];
  const [, address = "", host = "", target = "", protocol = "tcp"] = SHORT.exec(text.trim()) ?? [];
  if (target === "") return value.refuse(FORMAT) ?? [];
  return expand(value, { address, host, target, protocol });
}

const LONG_KEYS = ["target", "published", "protocol", "host_ip", "mode", "name", "app_protocol"];

function longPort(value: Value): WrittenPort[] {
  const fields = value.fields();
  refuseUnknown(fields, LONG_KEYS);
  for (const key of ["mode", "name", "app_protocol"]) fields.get(key)?.note("has no effect here.");
  const target = fields.get("target")?.text();
  if (target === undefined) return value.refuse("needs `target`.") ?? [];
  const host = fields.get("published")?.text() ?? "";
  if (!/^\d+$/.test(target) || !/^(?:\d+(?:-\d+)?)?$/.test(host)) return value.refuse(FORMAT) ?? [];
  const [address, protocol] = [fields.get("host_ip")?.text() ?? "", fields.get("protocol")?.text() ?? "tcp"];
  return expand(value, { address, host, target, protocol });
}

interface PortText {
  readonly address: string;
  readonly host: string;
  readonly target: string;
  readonly protocol: string;
}

function expand(value: Value, { address, host, target, protocol }: PortText): WrittenPort[] {
  const hostAddress = ALL_ADDRESSES.has(address) ? undefined : address.replace(/^\[(.*)\]$/, "$1");
  if (hostAddress !== undefined && isIP(hostAddress) === 0) {
    return value.refuse(`has ${address} for an address, which must be one of IP, such as 127.0.0.1.`) ?? [];
  }
  if (protocol !== "tcp" && protocol !== "udp") return value.refuse("must be tcp or udp.") ?? [];
  const targets = rangeOf(target);
  const hosts = host === "" ? undefined : rangeOf(host);
  if (!targets || (host !== "" && !hosts)) return value.refuse(`must have ports from 1 to ${MAX_PORT}.`) ?? [];
  if (hosts && hosts.length !== targets.length) {
    return value.refuse(`has ${hosts.length} host ports for ${targets.length} ports of the app; give as many.`) ?? [];
  }
  return targets.map((targetPort, index) => ({
    hostPort: hosts?.[index],
    targetPort,
    protocol,
    hostAddress,
    path: value.path,
    place: value.place,
  }));
}

/** The ports of `80` or `80-90`; `undefined` if they are none. */
function rangeOf(text: string): number[] | undefined {
  const [from = Number.NaN, to = from] = text.split("-").map(Number);
  if (!(from >= 1 && from <= to && to <= MAX_PORT)) return undefined;
  return Array.from({ length: to - from + 1 }, (_, index) => from + index);
}
