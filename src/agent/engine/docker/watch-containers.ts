import type Docker from "dockerode";
import type { ContainerChange, EngineInfo } from "../engine.ts";
import { getStream } from "./get.ts";
import { readJsonLines } from "./json-lines.ts";

// What engines say of a container's life, apart from the programs that are run in it: health checks run all the time.
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

/** In Podman's words: what it says to some versions of this question is what it says to itself. */
const PODMAN_ACTIONS: Readonly<Record<string, string>> = { died: "die", remove: "destroy", init: "start" };

/** Opens the engine's events of containers that carry the label. */
export function openEvents(
  docker: Docker,
  { kind, label }: { readonly kind: EngineInfo["kind"]; readonly label: string },
  signal: AbortSignal,
): Promise<AsyncIterable<Uint8Array>> {
  // Docker leaves out by itself what nobody wants. Podman knows the events under other names.
  const filters = { type: ["container"], label: [label], ...(kind === "docker" && { event: ACTIONS }) };
  return getStream(docker, "/events", { filters: JSON.stringify(filters) }, signal);
}

/** The changes in a stream of events, one at a time. */
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

/** `health_status: healthy` and the like without what comes behind the colon. */
function actionOf(message: Readonly<Record<string, unknown>>): string {
  const { Action: action, status } = message;
  const text = typeof action === "string" && action !== "" ? action : typeof status === "string" ? status : "";
  const [name = ""] = text.split(":");
  return PODMAN_ACTIONS[name] ?? name;
}
