import { type Clock, systemClock } from "../../../src/lib/clock.ts";
import type { KeepaliveInterval } from "../../../src/agent/link/keepalive-interval.ts";
import { type TrafficFollower, UNCOUNTED } from "../../../src/agent/ledger/ledger.ts";
import type { LinkConfig } from "../../../src/agent/link/ports.ts";
import type { DeviceReporting } from "../../../src/agent/link/ports.ts";
import { createUplink, type Uplink } from "../../../src/agent/link/uplink.ts";
import { CommandRecorder } from "./command-recorder.ts";
import { captureLog } from "./log-capture.ts";
import { MemoryOutbox } from "./memory-outbox.ts";

export const TOKEN = "ed_planted-device-token-0123456789abcdef";

/** A link that runs until disposed, with its device-side collaborators. */
export interface RunningUplink extends AsyncDisposable {
  readonly uplink: Uplink;
  readonly commands: CommandRecorder;
  readonly events: MemoryOutbox;
  readonly lines: Record<string, unknown>[];
  stop(): Promise<void>;
}

/** Runs a link, by default with short times. */
export function runUplink(
  config: Partial<LinkConfig> & Pick<LinkConfig, "url">,
  options: {
    readonly clock?: Clock;
    readonly traffic?: TrafficFollower;
    readonly reporting?: DeviceReporting;
    readonly keepaliveInterval?: KeepaliveInterval;
    /** A number in [0, 1), which decides how long the pauses are; by default random. */
    readonly random?: () => number;
    readonly prepare?: (parts: RunningUplink) => void;
  } = {},
): RunningUplink {
  const commands = new CommandRecorder();
  const events = new MemoryOutbox();
  const { logger, lines } = captureLog();
  const controller = new AbortController();
  const uplink = createUplink({
    config: {
      token: TOKEN,
      keepaliveMs: 600_000,
      pongTimeoutMs: 20_000,
      backoff: { baseMs: 10, maxMs: 50 },
      ...config,
    },
    commands,
    events,
    reporting: options.reporting,
    clock: options.clock ?? systemClock,
    logger,
    traffic: options.traffic ?? UNCOUNTED,
    ...(options.keepaliveInterval && { keepaliveInterval: options.keepaliveInterval }),
    ...(options.random && { random: options.random }),
    agentVersion: "1.2.3",
  });
  let ended: Promise<void> = Promise.resolve();
  const stop = (): Promise<void> => {
    controller.abort();
    return ended;
  };
  const parts: RunningUplink = { uplink, commands, events, lines, stop, [Symbol.asyncDispose]: stop };
  options.prepare?.(parts);
  ended = uplink.run(controller.signal);
  return parts;
}
