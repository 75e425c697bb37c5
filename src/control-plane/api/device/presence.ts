import { z } from "zod";
import { unixSeconds } from "../../../protocol/values/scalars.ts";
import { unixNow } from "../../../lib/clock.ts";
import type { StoredSession } from "../../store/sessions.ts";
import type { ApiBase } from "../context.ts";

/** Connection of the device and age of the data, in every response about a device. */
export const presenceFields = {
  reachable: z.boolean().meta({ description: "Whether the device is connected now." }),
  last_seen: unixSeconds("When the device was last connected; null if it never was.").nullable(),
  reported_at: unixSeconds("When the device sent this; null if it never did.").nullable(),
  age_s: z
    .int()
    .min(0)
    .nullable()
    .meta({
      description:
        "Maximum age of the data in seconds, also while the device is connected and holds back changes of it; null if " +
        "the device never sent it.",
    }),
};

const presenceSchema = z.object(presenceFields);
type Presence = z.output<typeof presenceSchema>;

/** When a device sent the data, and whether it pushes changes of it. Times are Unix seconds. */
export interface ReportFreshness {
  /** `undefined` if never. */
  readonly at: number | undefined;
  /** Pushed data is up to date while the device is connected, whatever its age, except since `heldSince`. */
  readonly isPushed: boolean;
  /** Since when the device holds back changes. */
  readonly heldSince?: number | undefined;
}

/** Returns whether the device is connected and how old its data is. @param session of the device, as stored */
export function presenceOf(
  { clock }: Pick<ApiBase, "clock">,
  session: StoredSession | undefined,
  { at, isPushed, heldSince = Infinity }: ReportFreshness,
): Presence {
  const now = unixNow(clock);
  const isReachable = session?.instanceId !== undefined;
  const seenAt = isReachable ? now : session?.lastSeenAt;
  const currentAt = at !== undefined && isPushed ? Math.max(at, Math.min(seenAt ?? 0, heldSince)) : at;
  return {
    reachable: isReachable,
    last_seen: seenAt ?? null,
    reported_at: at ?? null,
    age_s: currentAt === undefined ? null : Math.max(0, now - currentAt),
  };
}
