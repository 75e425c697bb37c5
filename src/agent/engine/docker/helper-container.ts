import { randomUUID } from "node:crypto";
import type Docker from "dockerode";
import type { MountSettings } from "dockerode";
import { type Clock, deadline } from "../../../lib/clock.ts";
import { helperLabels, helperName } from "../../core/app/helper.ts";
import type { EngineInfo } from "../engine.ts";
import type { ImagePathsRequest } from "../image-path.ts";
import { localReference } from "./engine-reference.ts";
import { findLocalName } from "./images.ts";
import { requireFields } from "./shape.ts";
import { removeUntilGone } from "./stop-and-remove.ts";

/** The engine a helper is created in. */
export interface HelperEngine {
  readonly docker: Docker;
  readonly kind: EngineInfo["kind"];
  readonly clock: Clock;
}

export interface HelperOptions extends Pick<ImagePathsRequest, "image" | "labels"> {
  /** Directories of the device it mounts. Error `mount_missing` if one does not exist. */
  readonly mounts?: readonly HelperMount[];
  /** Volumes it mounts. With Docker only. */
  readonly volumes?: readonly { readonly name: string; readonly target: string }[];
}

interface HelperMount {
  readonly source: string;
  readonly target: string;
}

/** Should a person start a helper, it ends at once. */
const COMMAND = "/edge-agent-helper-is-never-started";
/** Within this time a helper is to be removed, in milliseconds. */
export const REMOVE_MS = 30_000;

/** A container that never runs, until disposed. */
export interface Helper extends AsyncDisposable {
  readonly id: string;
}

/** Creates a container that never runs. */
export async function openHelper(
  { docker, kind, clock }: HelperEngine,
  options: HelperOptions,
  abortSignal: AbortSignal,
): Promise<Helper> {
  const image = localReference(await findLocalName(docker, options.image, abortSignal));
  const create = kind === "podman" ? createInPodman : createInDocker;
  const id = await create(docker, { ...options, image, name: helperName(randomUUID()) }, abortSignal);
  const remove = async (): Promise<void> => {
    using limit = deadline(clock, REMOVE_MS);
    await removeUntilGone(docker.getContainer(id), clock, limit.signal);
  };
  return { id, [Symbol.asyncDispose]: remove };
}

/** Creates a container that never runs, calls `use` with its id, and removes it, also after an abort. */
export async function withHelper<T>(
  engine: HelperEngine,
  options: HelperOptions,
  abortSignal: AbortSignal,
  use: (id: string) => Promise<T>,
): Promise<T> {
  await using helper = await openHelper(engine, options, abortSignal);
  return await use(helper.id);
}

interface CreateOptions extends HelperOptions {
  readonly name: string;
}

/**
 * The propagation is left to Docker, which takes no private one of what contains its own data, such as /var/lib. The library's
 * type asks for it.
 */
const WITHOUT_SUBMOUNTS = { NonRecursive: true } as object as NonNullable<MountSettings["BindOptions"]>;

async function createInDocker(
  docker: Docker,
  { name, image, labels, mounts = [], volumes = [] }: CreateOptions,
  abortSignal: AbortSignal,
): Promise<string> {
  const container = await docker.createContainer({
    name,
    Image: image,
    Labels: helperLabels(labels),
    Entrypoint: [COMMAND],
    User: "0",
    HostConfig: {
      NetworkMode: "none",
      Mounts: [
        ...mounts.map(({ source, target }) => ({
          Type: "bind" as const,
          Source: source,
          Target: target,
          ReadOnly: false,
          BindOptions: WITHOUT_SUBMOUNTS,
        })),
        ...volumes.map((volume) => ({
          Type: "volume" as const,
          Source: volume.name,
          Target: volume.target,
          ReadOnly: false,
        })),
      ],
    },
    abortSignal,
  });
  return requireFields(container, { id: "" }).id;
}

/**
 * Uses Podman's own interface: its Docker-compatible one makes missing mount sources, and puts anonymous volumes over
 * the image's directories.
 */
async function createInPodman(
  docker: Docker,
  { name, image, labels, mounts = [] }: CreateOptions,
  abortSignal: AbortSignal,
): Promise<string> {
  const body = {
    name,
    image,
    labels: helperLabels(labels),
    entrypoint: [COMMAND],
    // Owners in its archives are those of this user.
    user: "0",
    image_volume_mode: "ignore",
    netns: { nsmode: "none" },
    mounts: mounts.map(({ source, target }) => {
      return { type: "bind", source, destination: target, options: ["bind", "rprivate"] };
    }),
  };
  const path = "/v4.0.0/libpod/containers/create";
  return requireFields(await postJson<{ Id: string }>(docker, path, body, abortSignal), { Id: "" }).Id;
}

/** POST of a JSON body, for calls that the client library does not have. */
function postJson<T>(docker: Docker, path: string, body: object, abortSignal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const statusCodes = { 200: true, 201: true, 404: "not found", 500: "server error" };
    const options = { path, method: "POST", options: { _query: {}, _body: body }, abortSignal, statusCodes };
    docker.modem.dial(options, (error: Error | null, response: unknown) => {
      if (error) reject(error);
      else resolve(response as T);
    });
  });
}
