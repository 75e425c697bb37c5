/*
 * Two devices with one token, as from one disk image, replace each other's sessions. A boot of a machine has an id that never
 * returns once the machine has booted again: a boot that returns after another one was seen is that of another machine.
 */

/** A boot of a machine, as the service has seen it. */
export interface Boot {
  readonly id: string;
  /** Address from which it connected; empty if it is not known. */
  readonly address: string;
  /** When it connected first as far as this is on record, in Unix seconds. */
  readonly since: number;
}

/** The boots of an asset's device: at most three. */
export interface DeviceBoots {
  /** Of the device that is connected, or was last. */
  readonly current: Boot;
  /** The one before; it returns only if it is another device's. */
  readonly earlier?: Boot;
  readonly clone?: CloneFacts;
}

/** What is known of another device with the same token. */
export interface CloneFacts {
  /** Of the device that came later. It is kept away while the other one is connected. */
  readonly contender: Boot;
  /** When both were seen first and last, in Unix seconds. */
  readonly seenAt: number;
  readonly lastAt: number;
  /** How often the contender was refused in a row. */
  readonly refusals: number;
}

/** What becomes of a connection. */
export interface BootDecision {
  /** What to store; absent: nothing has changed. */
  readonly next?: DeviceBoots;
  /** Seconds after which the device may try again; absent: it is admitted. */
  readonly retryAfterS?: number;
}

const MIN_RETRY_S = 60;
const MAX_RETRY_S = 3600;
/** A clone that was not seen for so long is gone. */
const CALM_S = 24 * 3600;

/**
 * Decides on a connection. A device that has booted, or changed its network, is admitted at once: its boot is new, or the
 * current one. Of two devices with one token the one stays that was connected before the other came.
 *
 * @param isConnected whether a device of the asset is connected
 */
export function decideOnBoot(known: DeviceBoots | undefined, boot: Boot, isConnected: boolean): BootDecision {
  if (!known) return { next: { current: boot } };
  const now = boot.since;
  const clone = known.clone && now - known.clone.lastAt < CALM_S ? known.clone : undefined;
  if (boot.id === known.current.id) {
    const isMoved = clone !== undefined && boot.address !== known.current.address;
    if (clone === known.clone && !isMoved) return {};
    const { since } = known.current;
    return { next: toBoots({ ...boot, since }, known.earlier, clone) };
  }
  if (clone && boot.id === clone.contender.id) {
    // A device that does not wait costs no write.
    if (isConnected && now - clone.lastAt < MIN_RETRY_S && clone.refusals > 0) return { retryAfterS: MIN_RETRY_S };
    if (!isConnected)
      return { next: toBoots(boot, known.earlier, { ...clone, contender: known.current, lastAt: now }) };
    const seen = {
      ...clone,
      contender: { ...boot, since: clone.contender.since },
      lastAt: now,
      refusals: clone.refusals + 1,
    };
    return {
      next: toBoots(known.current, known.earlier, seen),
      retryAfterS: Math.min(MAX_RETRY_S, MIN_RETRY_S * 2 ** Math.min(clone.refusals, 10)),
    };
  }
  if (boot.id === known.earlier?.id) {
    // It was in service before the current one came.
    const contender = known.current;
    const facts = { contender, seenAt: clone?.seenAt ?? now, lastAt: now, refusals: 0 };
    return { next: toBoots({ ...boot, since: known.earlier.since }, undefined, facts) };
  }
  return { next: toBoots(boot, known.current, clone) };
}

function toBoots(current: Boot, earlier: Boot | undefined, clone: CloneFacts | undefined): DeviceBoots {
  return { current, ...(earlier && { earlier }), ...(clone && { clone }) };
}
