import type Docker from "dockerode";
import type { ContainerChange, EngineInfo } from "../engine.ts";
import { getStream } from "./get.ts";
import { readJsonLines } from "./json-lines.ts";

// Events of a container's life, without those of programs run in it: health checks run all the time.
const ACTIONS = [
  "create",
  "start",
  "restart",
  "die",
  "stop",
  "oom",
  "pause",
  "unpause",
  "destroy",
  "rename",
  "health_status",
];

/** Podman's own names of events, which it uses in some versions. */
const PODMAN_ACTIONS: Readonly<Record<string, string>> = { died: "die", remove: "destroy", init: "start" };

/** Opens the engine's event stream of containers with the label. */
export function openEvents(
  docker: Docker,
  { kind, label }: { readonly kind: EngineInfo["kind"]; readonly label: string },
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  // Docker filters events by name. Podman does not, since its names differ.
  const filters = { type: ["container"], label: [label], ...(kind === "docker" && { event: ACTIONS }) };
  return getStream(docker, "/events", { filters: JSON.stringify(filters) }, signal);
}

/** Yields the container changes in an event stream. */
export async function* containerChanges(stream: AsyncIterable<Uint8Array>): AsyncGenerator<ContainerChange> {
  for await (const message of readJsonLines(stream as AsyncIterable<Buffer>)) {
    const action = actionOf(message);
    if (!ACTIONS.includes(action)) continue;
    const { ID: id = "", Attributes: attributes } = (message["Actor"] ?? {}) as Actor;
    if (id !== "") yield { id, labels: attributes ?? {} };
  }
}

interface Actor {
  readonly ID?: string;
  readonly Attributes?: Readonly<Record<string, string>> | null;
}

/** Returns the name of an event without a suffix, as in `health_status: healthy`. */
export function actionOf(message: Readonly<Record<string, unknown>>): string {
  const { Action: action, status } = message;
  const text = typeof action === "string" && action !== "" ? action : typeof status === "string" ? status : "";
  const [name = ""] = text.split(":");
  return PODMAN_ACTIONS[name] ?? name;
}
