import { hasFloatingTag, parseImageReference } from "../../protocol/apps/image-reference.ts";
import type { Value } from "../documents/value.ts";
import type { Converter, ServiceDraft } from "./service.ts";

/**
 * Splits a command as a POSIX shell does, without expanding anything: at white space, with quotes and backslashes.
 * Returns `undefined` if a quote is not closed, or a backslash ends the text.
 */
function splitWords(text: string): string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  let rest = text;
  while (rest !== "") {
    const [part = "", space, single, double, escaped, plain] = PART.exec(rest) ?? [];
    if (part === "") return undefined;
    rest = rest.slice(part.length);
    if (space !== undefined) {
      if (word !== undefined) words.push(word);
      word = undefined;
    } else {
      word = (word ?? "") + (single ?? unescapeQuoted(double) ?? escaped ?? plain ?? "");
    }
  }
  if (word !== undefined) words.push(word);
  return words;
}

const PART = /^(?:(\s+)|'([^']*)'|"((?:\\[\s\S]|[^"\\])*)"|\\([\s\S])|([^\s'"\\]+))/;

function unescapeQuoted(text: string | undefined): string | undefined {
  return text?.replaceAll(/\\([$`"\\\n])/g, (_, character: string) => (character === "\n" ? "" : character));
}

/** Copies a text. */
export function text(field: string): Converter {
  return (value, service) => service.set(field, value.text(), value.place);
}

export function boolean(field: string): Converter {
  return (value, service) => service.set(field, value.boolean(), value.place);
}

/** Converts with a reader of one value. */
export function read(field: string, reader: (value: Value) => unknown): Converter {
  return (value, service) => service.set(field, reader(value), value.place);
}

/** A list of texts, or one text. */
export function texts(field: string): Converter {
  return (value, service) => {
    for (const item of value.isList ? value.items() : [value]) service.append(field, item.text(), item.place);
  };
}

/** A list of `KEY=VALUE`, or a map, to a map of texts. */
export function textMap(field: string, separators = /=/): Converter {
  return (value, service) => {
    const entries = pairsOf(value, separators).map(({ key, text: entry }) => [key, entry] as const);
    if (entries.length > 0) service.set(field, Object.fromEntries(entries), value.place);
  };
}

interface Pair {
  readonly key: string;
  readonly text: string;
  readonly value: Value;
}

function pairsOf(value: Value, separators: RegExp): Pair[] {
  if (!value.isList) {
    return [...value.fields()].flatMap(([key, item]) => {
      if (item.isList) return item.items().map((each) => ({ key, text: each.text() ?? "", value: each }));
      return [{ key, text: item.isNull ? "" : (item.text() ?? ""), value: item }];
    });
  }
  return value.items().map((item) => {
    const entry = item.text() ?? "";
    const at = entry.search(separators);
    return { key: at === -1 ? entry : entry.slice(0, at), text: at === -1 ? "" : entry.slice(at + 1), value: item };
  });
}

/** The image's own command or entrypoint stays where nothing is given. */
export function command(field: string): Converter {
  return (value, service) => {
    if (value.isNull) return;
    const words = value.isList ? value.items().map((item) => item.text() ?? "") : splitCommand(value);
    if (words?.length === 0) {
      value.refuse("cannot be empty: there is no way to take the image's own away.", "Give a program.");
    } else service.set(field, words, value.place);
  };
}

function splitCommand(value: Value): string[] | undefined {
  const line = value.text();
  if (line === undefined) return undefined;
  return splitWords(line) ?? value.refuse("has a quote without the one at its end.");
}

/** The container has the service's name, as its app; by the other one it is found on its networks. */
export const convertContainerName: Converter = (value, service, file) => {
  const name = value.text();
  if (name === undefined) return;
  const first = file.containers.get(name);
  // Engines refuse the second container of a name.
  if (first !== undefined && first !== service.name) {
    value.refuse(`is also that of the service ${first}.`, "Give each service one of its own, or none.");
  } else file.names.add(service.name, name, value.place);
};

export const convertRestart: Converter = (value, service) => {
  const policy = value.text();
  if (policy === undefined) return;
  // `no` without quotes was a boolean in YAML 1.1.
  if (policy === "false") service.set("restart_policy", "no", value.place);
  else if (/^on-failure:\d+$/.test(policy)) setOnFailure(policy.slice("on-failure:".length), value, service);
  else if (["no", "always", "on-failure", "unless-stopped"].includes(policy)) {
    service.set("restart_policy", policy, value.place);
  } else value.refuse("must be no, always, on-failure or unless-stopped.");
};

/** As with the engine, 0 is no limit. */
export function setOnFailure(most: string, value: Value, service: ServiceDraft): void {
  service.set("restart_policy", "on-failure", value.place);
  if (Number(most) > 0) service.set("max_restarts", Number(most), value.place);
}

/** Compose's default is `no`, which an app's is not. Returns whether it applies. */
export function finishRestart(service: ServiceDraft): boolean {
  if (service.has("restart_policy") || service.value.fields().has("restart")) return false;
  service.set("restart_policy", "no", service.value.place);
  return true;
}

/** Compose pulls what is missing. A new app of `latest` would ask the registry first. */
export function finishPull(service: ServiceDraft): void {
  const image = service.fields["image"];
  const reference = typeof image === "string" ? parseImageReference(image) : undefined;
  if (reference && hasFloatingTag(reference) && !service.has("pull"))
    service.set("pull", "missing", service.value.place);
}

/** As long as no other image can come in the place of the one that is meant. */
const PULL_ADVICE: Readonly<Record<string, string>> = {
  never: "Use missing, and name the image with its digest (NAME@sha256:…): no other one can come in its place.",
};

const PULL: Readonly<Record<string, string>> = { always: "always", missing: "missing", if_not_present: "missing" };

export const convertPullPolicy: Converter = (value, service) => {
  const policy = value.text();
  if (policy === undefined) return;
  if (policy === "build" && service.value.fields().has("build")) {
    service.set("pull", "always", value.place);
    value.note("builds nothing here: the registry is asked for what was pushed there last.");
  } else if (Object.hasOwn(PULL, policy)) service.set("pull", PULL[policy], value.place);
  else value.refuse(`${policy} is not supported.`, PULL_ADVICE[policy] ?? "Use missing or always.");
};

export const convertDevices: Converter = (value, service) => {
  for (const item of value.items()) {
    if (item.isMap) {
      const fields = item.fields();
      const [source, target, permissions] = ["source", "target", "permissions"].map((key) => fields.get(key)?.text());
      addDevice(item, service, source, target, permissions);
    } else addDevice(item, service, ...(item.text()?.split(":") ?? []));
  }
};

function addDevice(value: Value, service: ServiceDraft, ...parts: readonly (string | undefined)[]): void {
  const [local, target, permissions, ...rest] = parts;
  if (rest.length > 0 || local === undefined) {
    value.refuse("must be DEVICE, DEVICE:TARGET or DEVICE:TARGET:rwm.");
    return;
  }
  if (!local.startsWith("/")) {
    value.refuse(
      "must be a path from / on, such as /dev/ttyUSB0.",
      local.includes("=") ? "GPUs are asked for with `gpus`." : undefined,
    );
    return;
  }
  const entry = { local, ...(target !== undefined && { target }), ...(permissions !== undefined && { permissions }) };
  service.append("devices", entry, value.place);
}

/** `name:address` or `name=address`, with IPv6 addresses also in brackets. */
export const convertExtraHosts: Converter = (value, service) => {
  for (const { key, text: address, value: item } of pairsOf(value, /[:=]/)) {
    if (address === "") item.refuse("must be NAME:ADDRESS, such as plc.local:192.168.1.10.");
    else service.append("extra_hosts", { name: key, address: address.replace(/^\[(.*)\]$/, "$1") }, item.place);
  }
};
