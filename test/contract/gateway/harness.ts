import type { DeviceGateway, StreamGateway } from "../../../src/control-plane/devices/gateway/device-gateway.ts";
import { LinkedGateway } from "../../../src/control-plane/devices/gateway/linked-gateway.ts";
import { LocalGateway } from "../../../src/control-plane/devices/gateway/local-gateway.ts";
import type { MessageLink } from "../../../src/control-plane/bus/message-link.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import type { Clock } from "../../../src/lib/clock.ts";
import type { RegistryAuth } from "../../../src/protocol/apps/deploy-request.ts";
import { FakeSession } from "../../support/gateway/fake-session.ts";
import { captureLog } from "../../support/link/log-capture.ts";
import { waitFor } from "../../support/wait-for.ts";

export const ASSET = "11111111-1111-4111-8111-111111111111";
export const DEPLOYMENT = "dep_1";
export const AUTH: RegistryAuth = { username: "u", password: "p" };

/** A gateway and a device that is reached through it. */
export interface GatewayRig extends AsyncDisposable {
  readonly gateway: DeviceGateway & StreamGateway;
  /** The device's session, wherever it is. */
  readonly session: FakeSession;
  /** The device disconnects. */
  disconnect(): void;
  /** Resolves when nothing is left of what was asked. */
  idle(): Promise<void>;
}

export interface GatewayHarness {
  readonly name: string;
  open(): Promise<GatewayRig>;
}

/** A device of this instance, or none. */
export function localGateway(session: () => FakeSession | undefined): LocalGateway {
  return new LocalGateway(
    (asset) => (asset === session()?.assetUuid ? session() : undefined),
    (deployment) => (deployment === DEPLOYMENT && session() ? AUTH : undefined),
  );
}

export interface TwoInstances extends GatewayRig {
  readonly gateway: LinkedGateway;
  readonly holder: LinkedGateway;
  /** What both have logged. */
  readonly lines: readonly Record<string, unknown>[];
}

/** Two instances: the first asks, the second has the device. */
export function twoInstances(
  [asking, holding]: readonly [MessageLink, MessageLink],
  owner: AsyncDisposableStack,
  clock: Clock = systemClock,
): TwoInstances {
  const session = new FakeSession(ASSET);
  const { logger, lines } = captureLog();
  let isConnected = true;
  const locate = async (asset: string): Promise<string | undefined> =>
    asset === ASSET && isConnected ? "holder" : undefined;
  const gateway = owner.use(
    new LinkedGateway({
      local: localGateway(() => undefined),
      link: asking,
      instanceId: "asker",
      clock,
      logger,
      locate,
    }),
  );
  const local = localGateway(() => (isConnected ? session : undefined));
  const holder = owner.use(new LinkedGateway({ local, link: holding, instanceId: "holder", clock, logger, locate }));
  return {
    gateway,
    holder,
    lines,
    session,
    disconnect: () => void (isConnected = false),
    idle: async () => {
      await waitFor("no channels", () => gateway.channels === 0 && holder.channels === 0);
    },
    [Symbol.asyncDispose]: () => owner.disposeAsync(),
  };
}
