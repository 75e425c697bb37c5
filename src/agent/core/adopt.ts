import { parseAppSpec } from "../../protocol/app-spec.ts";
import type { AppRecord } from "./deployment.ts";

/** What a container was made from, and the labels it carries. */
export interface FoundApp {
  readonly app: string;
  readonly deploymentId: string;
  readonly containerId: string;
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
  const { deploymentId, imageId, containerId } = found;
  return { name: found.app, deploymentId, spec: parsed.spec, imageId, containerId };
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
