import type { Socket } from "node:net";
import type { Clock } from "../../lib/clock.ts";
import { VERSION } from "../../lib/version.ts";
import type { TrafficPurpose } from "../../protocol/link/data-usage.ts";
import type { Config } from "../config/load.ts";
import type { EngineInfo } from "../engine/engine.ts";
import type { TrafficFollower } from "../ledger/ledger.ts";
import { createRegistryClient } from "../registry/oci-client.ts";
import type { RegistryClient } from "../registry/registry.ts";
import { createTrustSource } from "../registry/trust.ts";
import { unencryptedService } from "./agent-updates.ts";

interface Options {
  readonly config: Config;
  readonly clock: Clock;
  readonly engineInfo: (signal: AbortSignal) => Promise<Pick<EngineInfo, "insecureRegistries">>;
  /** Counts the bytes of their connections. */
  readonly traffic: TrafficFollower;
}

export interface RegistryClients {
  /** For images. */
  readonly registry: RegistryClient;
  /** For releases of the agent: with connections of its own, which are counted for another purpose. */
  readonly releaseRegistry: RegistryClient;
}

/** Creates the clients of registries. They trust the same. */
export function createRegistryClients({ config, clock, engineInfo, traffic }: Options): RegistryClients {
  const trust = createTrustSource({
    extraCa: config.extraCa,
    registries: [...unencryptedService(config), ...config.registries],
    engineInsecure: async (signal) => (await engineInfo(signal)).insecureRegistries,
  });
  const common = { clock, userAgent: `edge-agent/${VERSION}`, trust };
  return {
    registry: createRegistryClient({ ...common, onConnection: countConnections(traffic, "pulls") }),
    releaseRegistry: createRegistryClient({ ...common, onConnection: countConnections(traffic, "agent") }),
  };
}

/** Returns what has each connection counted until its end. */
export function countConnections(traffic: TrafficFollower, purpose: TrafficPurpose): (tcp: Socket) => void {
  return (tcp) => {
    const counted = traffic.follow(() => ({ sent: tcp.bytesWritten, received: tcp.bytesRead, messages: 0 }), purpose);
    tcp.once("close", () => counted[Symbol.dispose]());
  };
}
