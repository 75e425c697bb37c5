import type { AppSpec } from "../../../protocol/apps/app-spec.ts";
import type { EventContent } from "../../../protocol/deployments/deployment-event.ts";
import { HOST_GATEWAY } from "../../../protocol/apps/container-names.ts";
import { runningEvent } from "./step-events.ts";

/** What the differences of an engine depend on. */
export interface EngineTraits {
  readonly kind: "docker" | "podman";
  readonly isRootless: boolean;
  readonly limits: { readonly memory: boolean; readonly cpu: boolean };
}

/** Something that an app may notice on one engine and not on another one. docs/engines.md has all of them. */
export interface EngineDifference {
  /** Its name in docs/engines.md. */
  readonly id: string;
  /** One sentence. */
  readonly text: string;
  /** Whether an app is told of it when it is deployed. Absent: only the doctor and the documentation say it. */
  readonly concerns?: (spec: AppSpec) => boolean;
}

const DIFFERENCES: readonly (EngineDifference & { readonly applies: (engine: EngineTraits) => boolean })[] = [
  {
    id: "published-ipv6",
    text: "Published ports are reached over IPv4 only, not over IPv6.",
    applies: ({ kind, isRootless }) => kind === "podman" && !isRootless,
    concerns: ({ ports, host_network }) => ports.length > 0 && !host_network,
  },
  {
    id: "host-gateway",
    text: "`host-gateway` is not the device: an app on a network of its own does not reach the device's ports by it.",
    applies: ({ isRootless }) => isRootless,
    concerns: ({ extra_hosts = [] }) => extra_hosts.some(({ address }) => address === HOST_GATEWAY),
  },
  {
    id: "cap-add",
    text: "`cap_add` also holds for users other than root.",
    applies: ({ kind }) => kind === "podman",
    concerns: ({ cap_add = [] }) => cap_add.length > 0,
  },
  {
    id: "read-only",
    text: "`read_only` adds writable `/tmp`, `/run` and `/var/tmp`.",
    applies: ({ kind }) => kind === "podman",
    concerns: ({ read_only }) => read_only === true,
  },
  {
    id: "limits",
    text: "Limits of memory or processor have no effect, as the engine's user may not set them.",
    // A deployment with a limit says so on every engine.
    applies: ({ isRootless, limits }) => isRootless && !(limits.memory && limits.cpu),
  },
  {
    id: "forward",
    text: "`edgectl forward` reaches published ports only.",
    applies: ({ isRootless }) => isRootless,
  },
  {
    id: "ping",
    text: "Users other than root cannot send pings.",
    applies: ({ kind, isRootless }) => kind === "podman" && isRootless,
  },
  {
    id: "hosts-file",
    text: "`/etc/hosts` of an app has the names in the device's own too.",
    applies: ({ kind }) => kind === "podman",
  },
];

/** Returns in what an engine differs from Docker that runs as root. */
export function engineDifferences(engine: EngineTraits): readonly EngineDifference[] {
  return DIFFERENCES.filter(({ applies }) => applies(engine));
}

/** Returns the events that tell of the differences that an app meets. */
export function differenceNotes(engine: EngineTraits, spec: AppSpec): EventContent[] {
  const met = engineDifferences(engine).filter(({ concerns }) => concerns?.(spec) === true);
  const name = `${engine.isRootless ? "a rootless " : ""}${engine.kind === "podman" ? "Podman" : "Docker"}`;
  return met.map(({ text }) => runningEvent("checking", `With ${name}: ${text}`));
}

/** Oldest supported versions. */
const MIN_VERSIONS = { docker: "20.10", podman: "4.3" } as const;

/** Returns what is wrong with an engine of this version, and what to do; `undefined` if it is supported. */
export function oldEngine(
  kind: keyof typeof MIN_VERSIONS,
  version: string,
): { readonly text: string; readonly next: string } | undefined {
  const oldest = MIN_VERSIONS[kind];
  if (!isOlder(version, oldest)) return undefined;
  return {
    text: `The container engine, ${kind} ${version}, is older than ${oldest}, the oldest that the agent works with.`,
    next: `Update it to ${kind} ${oldest} or newer`,
  };
}

function isOlder(version: string, oldest: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map((part) => Number.parseInt(part, 10));
  const [oldMajor = 0, oldMinor = 0] = oldest.split(".").map(Number);
  return major < oldMajor || (major === oldMajor && minor < oldMinor);
}
