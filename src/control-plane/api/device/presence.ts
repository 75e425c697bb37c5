import { z } from "zod";
import { unixSeconds } from "../../../protocol/timestamp.ts";
import type { Asset } from "../../core/asset.ts";
import type { ApiContext } from "../context.ts";

const age = z.int().min(0).nullable();

/** How much what is shown of a device can be relied on. */
export const presenceFields = {
  reachable: z.boolean().meta({ description: "Whether the device is connected right now." }),
  last_seen_at: unixSeconds("When the device was last connected; null when it never was.").nullable(),
  reported_at: unixSeconds("When the device last told of a change; null when it never did.").nullable(),
  age_s: age.meta({
    description:
      "Seconds since this was certain: 0 while the device is connected, since it tells of changes at once; null when it never reported.",
  }),
};

export const presenceSchema = z.object(presenceFields);
export type Presence = z.output<typeof presenceSchema>;

/**
 * Whether the device is there, and how old what it told is.
 *
 * @param reportedAt Unix seconds; `undefined` when it never reported
 */
export async function presenceOf(
  { devices, lastSeen, clock }: Pick<ApiContext, "devices" | "lastSeen" | "clock">,
  asset: Asset,
  reportedAt: number | undefined,
): Promise<Presence> {
  const now = Math.floor(clock.now() / 1000);
  const isReachable = devices.find(asset.uuid) !== undefined;
  const seenAt = isReachable ? now : await lastSeen.find(asset.uuid);
  const certainAt = reportedAt === undefined ? undefined : Math.max(reportedAt, seenAt ?? 0);
  return {
    reachable: isReachable,
    last_seen_at: seenAt ?? null,
    reported_at: reportedAt ?? null,
    age_s: certainAt === undefined ? null : Math.max(0, now - certainAt),
  };
}
