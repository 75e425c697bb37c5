import type { IncomingMessage } from "node:http";
import type { Clock } from "../../../lib/clock.ts";
import { KeyedRateLimiters } from "../../../lib/keyed-rate-limiters.ts";
import { type AccessWatcher, deviceSubject } from "../../accounts/access-watcher.ts";
import { auditEntry } from "../../accounts/audit-entry.ts";
import type { Asset } from "../../core/asset.ts";
import { sourceOf } from "../../core/people/source.ts";
import type { Observer } from "../../metrics/observer.ts";
import { hashSecret } from "../../accounts/secrets.ts";
import type { Store } from "../../store/store.ts";
import { clientAddress, type IsTrusted } from "../../config/trusted-proxies.ts";
import type { AdmissionRefusal, AdmittedDevice, DeviceGate, DeviceRate } from "../device-gate.ts";

/** Limits of the connections that one device opens: burst, and rate per second. Above them it waits, then it is refused. */
export const MAX_BURST_CONNECTIONS = 30;
export const MAX_CONNECTIONS_PER_SECOND = 2;
/** The same of the connections from one address whose token is not valid. */
export const MAX_BURST_INVALID_TOKENS = 60;
export const MAX_INVALID_TOKENS_PER_SECOND = 10;
const MAX_WAIT_MS = 2_000;

const BEARER = /^Bearer (ed_[A-Za-z0-9_-]{1,100})$/i;

export interface DeviceAdmissionOptions {
  readonly store: Pick<Store, "assets">;
  readonly access: AccessWatcher;
  readonly isTrustedProxy: IsTrusted;
  readonly clock: Clock;
  readonly observer?: Observer | undefined;
}

const CONNECTIONS: DeviceRate = {
  burst: MAX_BURST_CONNECTIONS,
  perSecond: MAX_CONNECTIONS_PER_SECOND,
  bound: "connections_per_device",
};

/** Decides by its token, and by how often it comes, whether a device may connect. */
export class DeviceAdmission implements DeviceGate {
  readonly #options: DeviceAdmissionOptions;
  readonly #rate: DeviceRate;
  readonly #byToken: KeyedRateLimiters;
  readonly #invalidByAddress: KeyedRateLimiters;

  /** @param rate default: that of connections */
  constructor(options: DeviceAdmissionOptions, rate: DeviceRate = CONNECTIONS) {
    this.#options = options;
    this.#rate = rate;
    const { clock } = options;
    this.#byToken = new KeyedRateLimiters(clock, rate.burst, rate.perSecond);
    this.#invalidByAddress = new KeyedRateLimiters(clock, MAX_BURST_INVALID_TOKENS, MAX_INVALID_TOKENS_PER_SECOND);
  }

  async admit(request: IncomingMessage): Promise<AdmittedDevice | AdmissionRefusal> {
    const { store, access, observer } = this.#options;
    const token = BEARER.exec(request.headers.authorization ?? "")?.[1];
    const tokenHash = token && hashSecret(token);
    // Before it is looked up, so that this is limited, too, and a token that was revoked meanwhile is refused.
    const text = tokenHash && Buffer.from(tokenHash).toString("latin1");
    if (text && !(await this.#byToken.enter(text, MAX_WAIT_MS))) {
      observer?.bounded(this.#rate.bound);
      return { refusal: { code: "TooManyRequests", message: "The device connects too often." } };
    }
    const device = tokenHash && (await store.assets.findDevice(tokenHash));
    if (!device) return this.#refuse(request);
    const { asset, isNextToken } = device;
    // Sessions that use the replaced token are disconnected.
    if (isNextToken && (await this.#replaceToken(asset, tokenHash, request.socket.remoteAddress))) {
      await access.recheck(deviceSubject(asset.uuid));
    }
    return { device, tokenHash };
  }

  async #refuse(request: IncomingMessage): Promise<AdmissionRefusal> {
    const { observer, isTrustedProxy } = this.#options;
    observer?.deviceRefused();
    const source = sourceOf(clientAddress(request, isTrustedProxy) ?? "");
    if (await this.#invalidByAddress.enter(source, MAX_WAIT_MS)) {
      return { refusal: { code: "Unauthorized", message: "The device token is missing, wrong or revoked." } };
    }
    observer?.bounded("refused_per_address");
    return { refusal: { code: "TooManyRequests", message: "Too many connections without a valid token." } };
  }

  /** The device takes the place of the one in service. */
  #replaceToken(asset: Asset, hash: Uint8Array, source: string | undefined): Promise<boolean> {
    const { store, clock } = this.#options;
    const { uuid, accountId, serialNumber } = asset;
    const origin = { accountId, actor: { kind: "device", id: uuid, name: serialNumber }, source } as const;
    const audit = auditEntry(origin, clock, { action: "device.replaced", assetUuid: uuid });
    return store.assets.replaceDeviceToken(uuid, hash, clock.now(), audit);
  }
}
