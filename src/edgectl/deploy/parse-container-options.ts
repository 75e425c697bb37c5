import { InvalidArgumentError } from "commander";
import { canonicalCapability } from "../../protocol/capabilities.ts";
import type { ContainerOptions } from "../../protocol/container-options.ts";
import { parseSize } from "./parse-options.ts";

export type TmpfsMount = NonNullable<ContainerOptions["tmpfs"]>[number];
export type ExtraHost = NonNullable<ContainerOptions["extra_hosts"]>[number];
/** The service checks the name. */
export type Ulimit = Omit<NonNullable<ContainerOptions["ulimits"]>[number], "name"> & { readonly name: string };
export type KeyValue = readonly [key: string, value: string];

/** Returns the name of a capability as it is stored; `CAP_NET_ADMIN` becomes `NET_ADMIN`. The service checks it. */
export function parseCapability(text: string): string {
  return canonicalCapability(text);
}

/** Parses `PATH[:size=SIZE][,mode=MODE][,exec]`, such as `/run:size=64MiB,mode=0755`. */
export function parseTmpfs(text: string): TmpfsMount {
  const [, target = "", list = ""] = /^(\/[^:]*)(?::(.+))?$/.exec(text) ?? [];
  const words = list === "" ? [] : list.split(",");
  const options = words.filter((word) => word !== "exec").map((option): string[] => option.split("="));
  const isKnown = options.every(([name = "", value]) => ["size", "mode"].includes(name) && value !== undefined);
  if (target === "" || !isKnown) {
    throw new InvalidArgumentError("Write PATH or PATH:size=64MiB,mode=0755 with an absolute path.");
  }
  const { size, mode } = Object.fromEntries(options) as { readonly size?: string; readonly mode?: string };
  return {
    target,
    ...(size !== undefined && { size_bytes: parseSize(size) }),
    ...(mode !== undefined && { mode }),
    ...(words.includes("exec") && { exec: true }),
  };
}

/** Parses `NAME=SOFT[:HARD]`, such as `nofile=1024:65536`; -1 and `unlimited` mean no limit. */
export function parseUlimit(text: string): Ulimit {
  const [, name = "", soft = "", hard] =
    /^([a-z]+)=(-1|unlimited|\d{1,15})(?::(-1|unlimited|\d{1,15}))?$/.exec(text) ?? [];
  if (name === "") throw new InvalidArgumentError("Write NAME=SOFT or NAME=SOFT:HARD, such as nofile=1024:65536.");
  return { name, soft: toLimit(soft), ...(hard !== undefined && { hard: toLimit(hard) }) };
}

function toLimit(text: string): number {
  return text === "unlimited" ? -1 : Number(text);
}

/** Parses `KEY=VALUE`. The value may be empty and contain `=`. */
export function parseKeyValue(text: string): KeyValue {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError("Write KEY=VALUE.");
  return [text.slice(0, at), text.slice(at + 1)];
}

/** Parses `NAME:ADDRESS`, such as `plc.local:192.168.1.10`; the address may be IPv6, or `host-gateway`. */
export function parseExtraHost(text: string): ExtraHost {
  const [, name = "", address = ""] = /^([^:=]+)[:=](.+)$/.exec(text) ?? [];
  if (name === "") throw new InvalidArgumentError("Write NAME:ADDRESS, such as plc.local:192.168.1.10.");
  return { name, address: address.replace(/^\[(.*)\]$/, "$1") };
}

/** Parses `all`, or the indexes or UUIDs of GPUs with commas between them. */
export function parseGpus(text: string): NonNullable<ContainerOptions["gpus"]> {
  return text === "all" ? text : { ids: text.split(",") };
}
