import { z } from "zod";
import { unixNow } from "../../../lib/clock.ts";
import { unixSeconds } from "../../../protocol/timestamp.ts";
import type { Asset } from "../../core/asset.ts";
import type { ApiContext } from "../context.ts";

/** How much what is shown of a device can be relied on. */
export const presenceFields = {
  reachable: z.boolean().meta({ description: "Whether the device is connected right now." }),
  last_seen: unixSeconds("When the device was last connected; null when it never was.").nullable(),
  reported_at: unixSeconds("When the device told this; null when it never did.").nullable(),
  age_s: z
    .int()
    .min(0)
    .nullable()
    .meta({ description: "For how many seconds it may have been out of date; null when the device never told." }),
};

const presenceSchema = z.object(presenceFields);
type Presence = z.output<typeof presenceSchema>;

/** When a device told something, and whether it tells of changes without being asked. */
export interface ReportFreshness {
  /** Unix seconds; `undefined` when it never did. */
  readonly at: number | undefined;
  /** What it tells of by itself is in force for as long as it is connected, however long ago that was. */
  readonly isPushed: boolean;
}

/** Whether the device is there, and how old what it told is. */
export async function presenceOf(
  { devices, lastSeen, clock }: Pick<ApiContext, "devices" | "lastSeen" | "clock">,
  asset: Asset,
  { at, isPushed }: ReportFreshness,
): Promise<Presence> {
  const now = unixNow(clock);
  const isReachable = devices.find(asset.uuid) !== undefined;
  const seenAt = isReachable ? now : await lastSeen.find(asset.uuid);
  const currentAt = at !== undefined && isPushed ? Math.max(at, seenAt ?? 0) : at;
  return {
    reachable: isReachable,
    last_seen: seenAt ?? null,
    reported_at: at ?? null,
    age_s: currentAt === undefined ? null : Math.max(0, now - currentAt),
  };
}
