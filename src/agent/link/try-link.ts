import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { UNCOUNTED } from "../ledger/ledger.ts";
import type { EventSource } from "../store/outbox.ts";
import { createConnect } from "./connect.ts";
import { FrameMeter } from "./frame-meter.ts";
import type { CommandHandler, LinkConfig, Welcome } from "./ports.ts";
import { runSession } from "./session.ts";

export interface TryOptions {
  readonly config: LinkConfig;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly agentVersion: string;
}

export type TryOutcome =
  | { readonly ok: true; readonly asset: Welcome["asset"] }
  | { readonly ok: false; readonly reason: string };

/**
 * Connects to the control plane once, as the daemon does, and disconnects after `welcome`. Commands received meanwhile are
 * not acknowledged, so the control plane sends them again. A daemon connected with the same token is disconnected by this
 * and reconnects.
 */
export async function tryLink(options: TryOptions, signal: AbortSignal): Promise<TryOutcome> {
  const { config, clock, logger, agentVersion } = options;
  const welcomed = new AbortController();
  let asset: Welcome["asset"] | undefined;
  const outcome = await runSession(
    {
      ...options,
      commands: NO_COMMANDS,
      events: NO_EVENTS,
      meter: new FrameMeter(clock, logger),
      connect: createConnect(config, agentVersion),
      traffic: UNCOUNTED,
      onWelcome: (welcome) => {
        asset = welcome.asset;
        // Not from within the session's own callback.
        queueMicrotask(() => welcomed.abort());
      },
    },
    AbortSignal.any([signal, welcomed.signal]),
  );
  return asset ? { ok: true, asset } : { ok: false, reason: outcome.reason };
}

const NO_COMMANDS: CommandHandler = {
  deploy() {
    throw new Error("this connection takes no commands");
  },
  change() {
    throw new Error("this connection takes no commands");
  },
  apply() {
    throw new Error("this connection takes no commands");
  },
  updateAgent() {
    throw new Error("this connection takes no commands");
  },
  cancel() {
    throw new Error("this connection takes no commands");
  },
  openDeployments: () => [],
};

const NO_EVENTS: EventSource = {
  pendingEvents: () => [],
  acknowledge: () => undefined,
  onEvents: () => ({ [Symbol.dispose]: () => undefined }),
};
