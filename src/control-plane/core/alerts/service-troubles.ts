/** A disk with less free than this share, or with less than this, fills up before a person has looked. */
const MIN_FREE_SHARE = 0.1;
const MIN_FREE_BYTES = 512 * 1024 * 1024;
/** With this much free a disk is not low, however large it is. */
const ENOUGH_BYTES = 20 * 1024 * 1024 * 1024;

/** How long before its end a certificate is told of. */
const CERTIFICATE_NOTICE_MS = 14 * 86_400_000;

export interface DiskSpace {
  readonly freeBytes: number;
  readonly totalBytes: number;
}

export function isDiskLow({ freeBytes, totalBytes }: DiskSpace): boolean {
  return freeBytes < MIN_FREE_BYTES || (freeBytes < totalBytes * MIN_FREE_SHARE && freeBytes < ENOUGH_BYTES);
}

/** @param endsAtMs when the certificate is no longer valid, in Unix milliseconds */
export function isCertificateExpiring(endsAtMs: number, nowMs: number): boolean {
  return endsAtMs - nowMs < CERTIFICATE_NOTICE_MS;
}
