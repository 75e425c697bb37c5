import type Docker from "dockerode";
import type { Clock } from "../../../lib/clock.ts";
import type { EngineInfo, PullProgress } from "../engine.ts";
import { EngineError } from "../engine-error.ts";
import type { RegistryAuth } from "../../registry/registry.ts";
import { loginSecrets } from "../../../lib/registry/login.ts";
import { settleOrAbort } from "./call.ts";
import type { ConnectEngine } from "./connection.ts";
import { localReference, pullTarget } from "./engine-reference.ts";
import { readJsonLines } from "./json-lines.ts";
import { PullProgressSum } from "./pull-progress.ts";
import { toPullError } from "./to-engine-error.ts";
import { parseImageReference } from "../../../protocol/apps/image-reference.ts";

interface PullRequest {
  readonly reference: string;
  readonly onProgress: (progress: PullProgress) => void;
  /** Time without a message after which the pull has failed. There is no other timeout, so that slow links work. */
  readonly stallMs: number;
  /** Whether the engine has a reason to be silent. */
  readonly mayBeSilent: () => boolean;
  /** The API to pull through. */
  readonly kind: EngineInfo["kind"];
  readonly auth: RegistryAuth | undefined;
}

/** Pulls an image. The caller must check that it is on the machine afterwards. */
export async function pull(
  connect: ConnectEngine,
  clock: Clock,
  options: PullRequest,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  using watchdog = stallWatchdog(clock, options, signal);
  try {
    await settleOrAbort(followPull(connect, options, watchdog), watchdog.signal);
  } catch (error) {
    signal.throwIfAborted();
    // After an abort the client reports a broken connection instead.
    throw toPullError(
      watchdog.signal.aborted ? watchdog.signal.reason : error,
      options.reference,
      loginSecrets(options.auth),
    );
  }
}

async function followPull(connect: ConnectEngine, options: PullRequest, watchdog: Watchdog): Promise<void> {
  const stream = await open(connect(), options, watchdog.signal);
  const sum = new PullProgressSum();
  let finished = false;
  for await (const message of readJsonLines(stream as AsyncIterable<Buffer>)) {
    watchdog.signal.throwIfAborted();
    watchdog.feed();
    throwIfError(message, options);
    finished = isFinal(message);
    if (sum.add(message)) options.onProgress(sum.progress);
  }
  if (!finished) throw new EngineError("registry_unreachable", "the pull ended before it was complete");
}

async function open(docker: Docker, { kind, reference, auth }: PullRequest, abortSignal: AbortSignal) {
  if (kind === "podman") return await podmanPull(docker, localReference(reference), abortSignal);
  const options = { ...pullTarget(reference), abortSignal };
  const authconfig = authConfig(auth, reference);
  return await (authconfig ? docker.createImage(authconfig, options) : docker.createImage(options));
}

function throwIfError(message: Readonly<Record<string, unknown>>, { reference, auth }: PullRequest): void {
  const detail = message["errorDetail"];
  const text =
    (typeof detail === "object" && detail !== null && "message" in detail && detail.message) || message["error"];
  if (typeof text === "string" && text !== "") throw toPullError(new Error(text), reference, loginSecrets(auth));
}

/** Docker's last message is `Status: ...`; Podman's names the image as complete, or contains its id. */
function isFinal({ status, id, images }: Readonly<Record<string, unknown>>): boolean {
  if (Array.isArray(images) && typeof id === "string") return true;
  return typeof status === "string" && /^Status: |^(?:Download|Pull) complete$/.test(status);
}

interface Watchdog extends Disposable {
  readonly signal: AbortSignal;
  feed(): void;
}

function stallWatchdog(
  clock: Clock,
  { stallMs: ms, mayBeSilent }: Pick<PullRequest, "stallMs" | "mayBeSilent">,
  parent: AbortSignal,
): Watchdog {
  const controller = new AbortController();
  const onAbort = (): void => controller.abort(parent.reason);
  const start = (): Disposable =>
    clock.timer(ms, () => {
      if (mayBeSilent()) timer = start();
      else controller.abort(new EngineError("registry_unreachable", `the pull made no progress for ${ms} ms`));
    });
  parent.addEventListener("abort", onAbort, { once: true });
  let timer = start();
  return {
    signal: controller.signal,
    feed() {
      timer[Symbol.dispose]();
      timer = start();
    },
    [Symbol.dispose]() {
      timer[Symbol.dispose]();
      parent.removeEventListener("abort", onAbort);
    },
  };
}

/** Engines use this address for credentials of Docker Hub. */
const DOCKER_HUB_SERVER = "https://index.docker.io/v1/";

/** Returns the content of the header `X-Registry-Auth`. */
function authConfig(auth: RegistryAuth | undefined, reference: string): Record<string, string> | undefined {
  const registry = parseImageReference(reference)?.registry ?? "";
  const serveraddress = registry === "docker.io" ? DOCKER_HUB_SERVER : registry;
  switch (auth?.kind) {
    case undefined:
      return undefined;
    case "basic":
      return { username: auth.username, password: auth.password, serveraddress };
    case "token":
      return { registrytoken: auth.token, serveraddress };
    case "identity":
      return { username: auth.username, identitytoken: auth.identityToken, serveraddress };
  }
}

/**
 * Pulls through Podman's own API, which supports registries without TLS; the Docker-compatible one does not. Its
 * messages are `{"stream"}` with text for people, `{"error"}`, and finally `{"id"}`.
 */
function podmanPull(docker: Docker, reference: string, abortSignal: AbortSignal): Promise<AsyncIterable<Buffer>> {
  return new Promise((resolve, reject) => {
    const options = {
      path: "/v4.0.0/libpod/images/pull?",
      method: "POST",
      options: { reference, tlsVerify: false },
      isStream: true,
      abortSignal,
      statusCodes: { 200: true, 400: "bad parameter", 500: "server error" },
    };
    docker.modem.dial(options, (error: Error | null, response: unknown) => {
      if (error) reject(error);
      else resolve(response as AsyncIterable<Buffer>);
    });
  });
}
