import type { IncomingMessage } from "node:http";
import { type Clock, unixNow } from "../../../lib/clock.ts";
import type { Logger } from "../../../lib/logger.ts";
import { BOOT_ID_HEADER } from "../../../protocol/version.ts";
import { type Boot, decideOnBoot, type DeviceBoots } from "../../core/device-boots.ts";
import type { AssetStore, FoundDevice } from "../../store/assets.ts";
import type { SessionStore } from "../../store/sessions.ts";
import { clientAddress, type IsTrusted } from "../../config/trusted-proxies.ts";

const BOOT_ID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Attempts to store what another instance changes at the same time. */
const MAX_ATTEMPTS = 3;

export interface BootGateOptions {
  readonly store: {
    readonly assets: Pick<AssetStore, "findDevice" | "saveBoots">;
    readonly sessions: Pick<SessionStore, "find">;
  };
  readonly isTrustedProxy: IsTrusted;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Tells devices with one token apart by their boots, and keeps the later one away while the other is connected. */
export class BootGate {
  readonly #options: BootGateOptions;

  constructor(options: BootGateOptions) {
    this.#options = options;
  }

  /**
   * Admits a connection, or returns the seconds after which its device may try again. A device that does not say its boot is
   * admitted.
   *
   * @param tokenHash of the token it has used
   */
  async admit(device: FoundDevice, tokenHash: Uint8Array, request: IncomingMessage): Promise<number | undefined> {
    const boot = this.#bootOf(request);
    if (!boot) return undefined;
    const { store, logger } = this.#options;
    // The next token is that of another device, of which nothing is known.
    let known: DeviceBoots | undefined = device.isNextToken ? undefined : device.boots;
    const { uuid } = device.asset;
    for (let attempt = 1; ; attempt++) {
      const isContender = known?.clone?.contender.id === boot.id;
      const { next, retryAfterS } = decideOnBoot(known, boot, isContender && (await this.#isConnected(uuid)));
      const isStored = next === undefined || (await store.assets.saveBoots(uuid, known, next));
      if (isStored && next?.clone && !known?.clone) {
        const { current, clone } = next;
        const devices = [current, clone.contender].map(({ id, address }) => ({ boot_id: id, address }));
        logger.warn({ asset: uuid, devices }, "two devices have the token of one asset; see its attention");
      }
      if (isStored || attempt === MAX_ATTEMPTS) return retryAfterS;
      known = (await store.assets.findDevice(tokenHash))?.boots;
    }
  }

  async #isConnected(uuid: string): Promise<boolean> {
    return (await this.#options.store.sessions.find(uuid))?.instanceId !== undefined;
  }

  #bootOf(request: IncomingMessage): Boot | undefined {
    const { clock, isTrustedProxy } = this.#options;
    const id = request.headers[BOOT_ID_HEADER];
    if (typeof id !== "string" || !BOOT_ID.test(id)) return undefined;
    return { id: id.toLowerCase(), address: clientAddress(request, isTrustedProxy) ?? "", since: unixNow(clock) };
  }
}
