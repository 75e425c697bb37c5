import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { promisify } from "node:util";
import { type Clock, unixNow } from "../../lib/clock.ts";
import {
  ENROLMENT_CODE_ALPHABET,
  ENROLMENT_CODE_LENGTH,
  type Enrolment,
  parseEnrolmentCode,
} from "../../protocol/assets/enrolment.ts";
import { EdgeError } from "../../protocol/errors/errors.ts";
import { auditEntry, type AuditOrigin } from "../accounts/audit-entry.ts";
import type { RefusalLog } from "../accounts/refusal-log.ts";
import type { Asset } from "../core/asset.ts";
import { requireUsable } from "../core/enrolment.ts";
import { createSecret, hashSecret } from "../accounts/secrets.ts";
import type { AuditEntry } from "../store/audit.ts";
import type { Store } from "../store/store.ts";

const CODE_HASH_BYTES = 32;
/** 4 MB and about 10 ms. A code is short, so a fast hash from a stolen database could be brute-forced. */
const SCRYPT_COST = { N: 4096, r: 8, p: 1 };
const SALT = "edge-control enrolment code";

interface Services {
  readonly store: Pick<Store, "assets" | "enrolments">;
  readonly clock: Clock;
}

export interface IssuedCode {
  /** The plain code; only its hash is stored. */
  readonly code: string;
  /** Unix seconds. */
  readonly expiresAt: number;
}

/** For how long a code is valid, and whether the device that uses it may take the place of one in service. */
export interface CodeTerms {
  /** Seconds. */
  readonly validS: number;
  readonly mayReplace: boolean;
}

/** Creates a code that enrols a device as this asset. */
export async function issueCode(
  { store, clock }: Services,
  assetUuid: string,
  { validS, mayReplace }: CodeTerms,
  origin?: AuditOrigin,
): Promise<IssuedCode> {
  const code = createCode();
  const createdAt = unixNow(clock);
  const expiresAt = createdAt + validS;
  const details = { expires_at: expiresAt, may_replace: mayReplace };
  const entry = origin && auditEntry(origin, clock, { action: "enrolment_code.created", assetUuid, details });
  const stored = { assetUuid, createdAt, expiresAt, usedAt: undefined, mayReplace };
  await store.enrolments.issueCode(stored, await hashCode(code), entry);
  return { code, expiresAt };
}

/**
 * Exchanges a code for a new device token. The old token becomes void when the device first connects with the new one. For
 * a while the same device may use the code again, so a lost response or a power cut does not lock it out. Errors:
 * `EnrolmentCodeUnknown`, `EnrolmentCodeExpired`, `EnrolmentCodeUsed`, and `DeviceInService` for a code that may not replace the
 * device.
 */
export async function redeemCode(
  { store, clock, refusals }: Services & { readonly refusals: RefusalLog },
  typed: string,
  nonce: string,
  source: string | undefined,
): Promise<Enrolment> {
  const code = parseEnrolmentCode(typed);
  if (code === undefined) throw new EdgeError("EnrolmentCodeUnknown");
  const hash = await hashCode(code);
  const nonceHash = hashSecret(nonce);
  const now = unixNow(clock);
  const found = await store.enrolments.findCode(hash);
  const isReal = found !== undefined && timingSafeEqual(found.hash, hash);
  const isSameDevice = found?.nonceHash !== undefined && timingSafeEqual(found.nonceHash, nonceHash);
  const known = isReal ? found.code : undefined;
  const asset = known && (await store.assets.findAssetByUuid(known.assetUuid));
  if (!asset) throw new EdgeError("EnrolmentCodeUnknown");
  const entry = (outcome?: string): AuditEntry => {
    const { uuid, accountId, serialNumber } = asset;
    const actor = { kind: "device", id: uuid, name: serialNumber } as const;
    const facts = { action: "device.enrolled", assetUuid: uuid, ...(outcome !== undefined && { outcome }) } as const;
    return auditEntry({ accountId, actor, source }, clock, facts);
  };
  try {
    requireUsable(known, isSameDevice, now);
    const token = createSecret("ed_");
    const use = { hash, nonceHash, at: now, tokenHash: hashSecret(token), audit: entry() };
    const result = await store.enrolments.useCode(use);
    if (result === "used_before") throw new EdgeError("EnrolmentCodeUsed");
    if (result === "in_service") throw new EdgeError("DeviceInService");
    return { device_token: token, asset: toEnrolmentAsset(asset) };
  } catch (error) {
    if (error instanceof EdgeError) await refusals.record(entry(error.code));
    throw error;
  }
}

function toEnrolmentAsset({ uuid, serialNumber, name }: Asset): Enrolment["asset"] {
  return { uuid, serial_number: serialNumber, name };
}

function createCode(): string {
  // 32 characters: five bits of each byte, so the distribution is uniform.
  return [...randomBytes(ENROLMENT_CODE_LENGTH)]
    .map((byte) => ENROLMENT_CODE_ALPHABET[byte % ENROLMENT_CODE_ALPHABET.length])
    .join("");
}

async function hashCode(code: string): Promise<Uint8Array> {
  const hash = await (promisify(scrypt) as (...args: unknown[]) => Promise<Buffer>)(
    code,
    SALT,
    CODE_HASH_BYTES,
    SCRYPT_COST,
  );
  return hash;
}
