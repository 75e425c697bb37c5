import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Config } from "../config/load.ts";
import { Throttle } from "../download/throttle.ts";
import type { Engine } from "../engine/engine.ts";
import type { NotifyingStore } from "../store/notifying-store.ts";
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

/** Composes the streams to apps. Their code is loaded with the first stream. */
export function createRemoteAccess(options: RemoteAccessOptions): LazyStreamServer {
  const { config, socketPath, clock } = options;
  const { idle_s: idleS, max_streams: maxStreams, max_bytes_per_s: bytesPerSecond } = config.remote_access;
  const throttle = new Throttle(clock, () => bytesPerSecond);
  let mustYield: (() => boolean) | undefined;
  return new LazyStreamServer(config.policy.remote_access, async (connection, allowed) => {
    const [{ DeviceStreams }, { createContainerAccess }] = await Promise.all([
      import("../streams/device-streams.ts"),
      import("../engine/docker/container-access.ts"),
    ]);
    mustYield ??= watchDeployments(options);
    return new DeviceStreams(connection, {
      ...options,
      access: createContainerAccess({ socketPath, clock }),
      limits: { idleMs: idleS * 1000, maxStreams },
      allowed,
      mustYield,
      pauseAfter: (bytes) => throttle.take(bytes),
    });
  });
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
