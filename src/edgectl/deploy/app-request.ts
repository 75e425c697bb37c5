import type { AppSpec, PortMapping, Volume } from "../../protocol/app-spec.ts";
import { usageFailure } from "../failure.ts";
import type { EnvironmentEntry } from "./parse-env.ts";

/** What the command line says about an app. */
export interface AppFlags {
  readonly name?: string | undefined;
  readonly image?: string | undefined;
  readonly ports: readonly PortMapping[];
  readonly environments: readonly EnvironmentEntry[];
  readonly volumes: readonly Volume[];
  readonly hostNetwork?: boolean | undefined;
  readonly privileged?: boolean | undefined;
}

type AppRequest = Readonly<Record<string, unknown>>;

/**
 * Puts the file and the command line together. Single values on the command line win. An entry of a list replaces the
 * file's entry for the same thing - the variable of that name, the container port, the path in the container - or
 * comes in addition. Whether the outcome is a valid app is for the service to say, which may know more than this version.
 */
export function buildAppRequest(file: AppRequest | undefined, flags: AppFlags): AppRequest {
  const single: Partial<Record<keyof AppSpec, unknown>> = {
    ...(flags.name !== undefined && { name: flags.name }),
    ...(flags.image !== undefined && { image: flags.image }),
    ...(flags.hostNetwork !== undefined && { host_network: flags.hostNetwork }),
    ...(flags.privileged !== undefined && { privileged: flags.privileged }),
  };
  const request: Record<string, unknown> = { ...file, ...single };
  mergeList(request, "environments", flags.environments, "key");
  mergeList(request, "ports", flags.ports, "target_port");
  mergeList(request, "volumes", flags.volumes, "target");
  return request;
}

/** Reads the text of an app file. Errors: exit code 2 where it is not one JSON object; its content is not repeated. */
export function parseAppFile(text: string, fileName: string): AppRequest {
  let value: unknown;
  try {
    value = JSON.parse(text.replace(/^\uFEFF/, ""));
  } catch (error) {
    throw usageFailure(`${fileName} is not valid JSON${positionOf(error, text)}.`, HINT);
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw usageFailure(`${fileName} does not hold one JSON object.`, HINT);
  }
  return value as AppRequest;
}

const HINT = 'The file is the deploy request, such as {"name": "web", "image": "nginx:1.29"}.';

function mergeList<T extends object>(
  request: Record<string, unknown>,
  field: keyof AppSpec,
  entries: readonly T[],
  identity: keyof T,
): void {
  if (entries.length === 0) return;
  const existing = request[field] ?? [];
  // A file with something else in this place goes to the service as it is, to be refused there.
  if (!Array.isArray(existing)) return;
  const replaced = new Set(entries.map((entry) => entry[identity]));
  const kept = existing.filter((entry: Partial<T> | null) => !replaced.has(entry?.[identity] as T[keyof T]));
  request[field] = [...kept, ...entries];
}

// The engine's message quotes the text, which may hold secrets; only the position is taken from it.
function positionOf(error: unknown, text: string): string {
  const position = /at position (\d+)/.exec((error as Error).message)?.[1];
  if (position === undefined) return "";
  return ` (line ${text.slice(0, Number(position)).split("\n").length})`;
}
