import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Config } from "../config/load.ts";
import type { AppRecord } from "../core/deployment/record.ts";
import { Throttle } from "../download/throttle.ts";
import type { Engine } from "../engine/engine.ts";
import { LazyStreamServer } from "../streams/stream-server.ts";

export interface RemoteAccessOptions {
  readonly config: Pick<Config, "policy" | "remote_access">;
  readonly engine: Engine;
  readonly socketPath: () => string;
  readonly store: { apps(): readonly AppRecord[] };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly traffic: (direction: "sent" | "received", bytes: number, app: string) => void;
}

/** Composes the streams to apps. Their code is loaded with the first stream. */
export function createRemoteAccess(options: RemoteAccessOptions): LazyStreamServer {
  const { config, socketPath, clock } = options;
  const { idle_s: idleS, max_streams: maxStreams, max_bytes_per_s: bytesPerSecond } = config.remote_access;
  const throttle = new Throttle(clock, () => bytesPerSecond);
  return new LazyStreamServer(config.policy.remote_access, async (connection, allowed) => {
    const [{ DeviceStreams }, { createContainerAccess }] = await Promise.all([
      import("../streams/device-streams.ts"),
      import("../engine/docker/container-access.ts"),
    ]);
    return new DeviceStreams(connection, {
      ...options,
      access: createContainerAccess({ socketPath, clock }),
      limits: { idleMs: idleS * 1000, maxStreams },
      allowed,
      pauseAfter: (bytes) => throttle.take(bytes),
    });
  });
}
