import { type AppForm, EMPTY_APP, EXTERNAL_PREFIX, FORM_FIELDS } from "./deploy-form.ts";

const BYTES_PER_MB = 1_000_000;
/** What the service shows in place of a value. */
const MASKED_VALUE = "***";

interface Port {
  readonly host_port: number;
  readonly target_port: number;
  readonly protocol?: "tcp" | "udp";
}
interface Variable {
  readonly key: string;
  readonly value?: string;
  readonly secret?: boolean;
}
interface Volume {
  readonly local?: string;
  readonly name?: string;
  readonly external?: string;
  readonly target: string;
  readonly readonly?: boolean;
}

/**
 * Fills the form with the specification of an installed app. Fields that the form does not have are in `others`. Values of
 * declared secrets are never shown: they stay as they are on the device unless another one is typed.
 */
export function toForm(spec: Readonly<Record<string, unknown>>): AppForm {
  let id = 1;
  const text = (name: string): string => (typeof spec[name] === "string" ? spec[name] : "");
  const list = (name: string): readonly unknown[] => (Array.isArray(spec[name]) ? spec[name] : []);
  const memory = spec["memory_limit"];
  const cpus = spec["cpu_limit"];
  const others = Object.entries(spec).filter(([name]) => !FORM_FIELDS.has(name));
  return {
    ...EMPTY_APP,
    name: text("name"),
    image: text("image"),
    ports: (list("ports") as readonly Port[]).map((port) => {
      const { host_port: host, target_port: target, protocol = "tcp", ...kept } = port;
      return { id: id++, host: String(host), target: String(target), protocol, kept };
    }),
    variables: (list("environments") as readonly Variable[]).map(({ key, value = "", secret = false }) => {
      return { id: id++, key, value: value === MASKED_VALUE ? "" : value, isSecret: secret, isKept: true };
    }),
    volumes: (list("volumes") as readonly Volume[]).map((volume) => {
      const { local, name, external, target, readonly = false, ...kept } = volume;
      const source = external === undefined ? (local ?? name ?? "") : `${EXTERNAL_PREFIX}${external}`;
      return { id: id++, source, target, isReadonly: readonly, kept };
    }),
    command: (list("command") as readonly string[]).join("\n"),
    memoryMb: typeof memory === "number" ? String(memory / BYTES_PER_MB) : "",
    cpus: typeof cpus === "number" ? String(cpus) : "",
    restartPolicy: text("restart_policy"),
    hostNetwork: spec["host_network"] === true,
    privileged: spec["privileged"] === true,
    others: others.length > 0 ? JSON.stringify(Object.fromEntries(others), null, 2) : "",
  };
}
