import { parseAppSpec } from "../../protocol/app-spec.ts";
import { asideName, besideName } from "./container.ts";
import { type AppRecord, newApp } from "./deployment.ts";

/** A container that carries the agent's labels. */
export interface Foundling {
  readonly id: string;
  readonly name: string;
  readonly app: string;
  readonly deploymentId: string;
  /** Whether it was ever started. */
  readonly wasStarted: boolean;
}

/** What is to become of containers the store does not know. */
export interface Adoption {
  readonly adopted: readonly Foundling[];
  /** New versions of updates that had not proved themselves: their old versions are the apps. */
  readonly removed: readonly Foundling[];
}

/**
 * Finds out which of the agent's containers are apps. One that was never started belongs to a deployment that did not get that far, and
 * is left to the control plane, which has it undone. Where there are two of one app, an update was going on: as long as
 * the old version is there, the new one had not proved itself.
 */
export function chooseApps(found: readonly Foundling[]): Adoption {
  const removed = found.filter((container) =>
    found.some((other) => other !== container && other.app === container.app && isUpdate(container, other)),
  );
  const rest = found.filter((container) => !removed.includes(container));
  return { adopted: rest.filter(({ wasStarted }) => wasStarted), removed };
}

/** Whether `fresh` is the new version and `old` the old one of an update that is not over, by what they are called. */
function isUpdate(fresh: Foundling, old: Foundling): boolean {
  const isBeside = fresh.name === besideName(fresh.app) && old.name !== besideName(old.app);
  return isBeside || (old.name === asideName(old.app) && fresh.name !== asideName(fresh.app));
}

/** What a container was made from, and the labels it carries. */
export interface FoundApp {
  readonly app: string;
  readonly deploymentId: string;
  readonly containerId: string;
  /** Image of the version before, where this one came by an update. */
  readonly previousImageId: string | undefined;
  readonly image: string;
  readonly imageId: string;
  readonly environment: readonly string[];
  readonly ports: readonly {
    readonly hostPort: number;
    readonly targetPort: number;
    readonly protocol?: "tcp" | "udp";
  }[];
  readonly volumes: readonly { readonly local: string; readonly target: string; readonly readonly: boolean }[];
  readonly hostNetwork: boolean;
  readonly privileged: boolean;
  /** The label that carries what an engine does not give back as it was given. */
  readonly extras: string | undefined;
}

/** The record of an app whose record was lost, read off its container; `undefined` when that makes no valid app. */
export function adopt(found: FoundApp): AppRecord | undefined {
  const parsed = parseAppSpec({
    ...parseExtras(found.extras),
    name: found.app,
    image: found.image,
    host_network: found.hostNetwork,
    privileged: found.privileged,
    environments: found.environment.map(splitVariable),
    ports: found.ports.map(({ hostPort, targetPort, protocol }) => ({
      host_port: hostPort,
      target_port: targetPort,
      ...(protocol && { protocol }),
    })),
    volumes: found.volumes,
  });
  if (!parsed.ok) return undefined;
  // Whether it was stopped on purpose is lost with the store; an app that runs is what most are for.
  return { ...newApp(parsed.spec, found), previousImageId: found.previousImageId, isAdopted: true };
}

/** What is no JSON makes no valid app either: rather none than one without its limits. */
function parseExtras(label: string | undefined): object {
  if (label === undefined) return {};
  try {
    const value: unknown = JSON.parse(label);
    return typeof value === "object" && value !== null ? value : UNREADABLE;
  } catch {
    return UNREADABLE;
  }
}

/** No field of a specification. */
const UNREADABLE = { unreadable_extras: true };

function splitVariable(entry: string): { key: string; value: string } {
  const [key = "", ...rest] = entry.split("=");
  return { key, value: rest.join("=") };
}
