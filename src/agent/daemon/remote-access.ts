import { once } from "node:events";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Config } from "../config/load.ts";
import { Throttle } from "../download/throttle.ts";
import type { Engine } from "../engine/engine.ts";
import type { NotifyingStore } from "../store/notifying-store.ts";
import type { RemoteAccess } from "../core/policy/remote-access.ts";
import type { StreamConnection } from "../link/ports.ts";
import type { DeviceStreams } from "../streams/device-streams.ts";
import { Endings } from "../streams/app-stream.ts";
import { LazyStreamServer } from "../streams/stream-server.ts";

/**
 * A deployment counts as under way for this long after it was last written, such as for its progress: it may also wait for
 * hours, as for the next day's data budget.
 */
const UNDER_WAY_MS = 30_000;

export interface RemoteAccessOptions {
  readonly config: Pick<Config, "policy" | "remote_access">;
  readonly engine: Engine;
  readonly socketPath: () => string;
  readonly store: Pick<NotifyingStore, "apps" | "deployments" | "onChange">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly traffic: (direction: "sent" | "received", bytes: number, app: string) => void;
}

/** How long the agent waits for commands to be killed when it stops, in milliseconds: less than systemd does. */
const STOP_TIMEOUT_MS = 12_000;

/** The streams to apps. Disposing waits until the commands of closed streams are killed. */
export interface RemoteAccessServer extends AsyncDisposable {
  readonly streams: LazyStreamServer;
}

/** Composes the streams to apps. Their code is loaded with the first stream. */
export function createRemoteAccess(options: RemoteAccessOptions): RemoteAccessServer {
  const { config, socketPath, clock, logger, traffic } = options;
  const endings = new Endings();
  const { idle_s: idleS, max_streams: maxStreams, max_bytes_per_s: bytesPerSecond } = config.remote_access;
  const throttle = new Throttle(clock, () => bytesPerSecond);
  let mustYield: (() => boolean) | undefined;
  const load = async (connection: StreamConnection, allowed: () => RemoteAccess): Promise<DeviceStreams> => {
    const [{ DeviceStreams }, { createContainerAccess }] = await Promise.all([
      import("../streams/device-streams.ts"),
      import("../engine/docker/container-access.ts"),
    ]);
    mustYield ??= watchDeployments(options);
    return new DeviceStreams(connection, {
      ...options,
      access: createContainerAccess({ socketPath, clock }),
      limits: { idleMs: idleS * 1000, maxStreams, allowed },
      endings,
      link: { traffic, mustYield, pauseAfter: (bytes) => throttle.take(bytes) },
    });
  };
  const onLoadError = (error: unknown): void => {
    const hint = "systemctl restart edge-agent; the apps keep running meanwhile";
    logger.error({ err: error, hint }, "remote access: the code of streams cannot be loaded; streams are refused");
  };
  return {
    streams: new LazyStreamServer(config.policy.remote_access, load, onLoadError),
    async [Symbol.asyncDispose]() {
      // The session's end has just closed its streams, which takes a turn to arrive.
      await new Promise((resolve) => setImmediate(resolve));
      if (endings.size === 0) return;
      logger.info({ commands: endings.size }, "remote access: waiting for commands to be killed");
      const limit = new AbortController();
      using _limit = clock.timer(STOP_TIMEOUT_MS, () => limit.abort());
      await Promise.race([endings.done(), once(limit.signal, "abort")]);
    },
  };
}

/** Returns whether a deployment is under way. Cheap, since it is asked for each message. */
function watchDeployments({ store, clock }: Pick<RemoteAccessOptions, "store" | "clock">): () => boolean {
  let changedAt = clock.monotonic();
  let hasDeployments: boolean | undefined;
  store.onChange(() => {
    changedAt = clock.monotonic();
    hasDeployments = undefined;
  });
  return () => {
    hasDeployments ??= store.deployments().length > 0;
    return hasDeployments && clock.monotonic() - changedAt < UNDER_WAY_MS;
  };
}
